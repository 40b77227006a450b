"""Defaults of legs and transfers that several modules use, each with its source.

An element that Mininet starts takes from here what its topology leaves out.
"""

from __future__ import annotations

from typing import Final

CONGESTION_CONTROL: Final = "cubic"
"""The default of usual systems (RFC 9438, section 1), which all transports have. The papers on Dual
Connectivity have NewReno, which their campaigns name."""
RECEIVE_BUFFER_BYTES: Final = 33_554_432
"""The receive buffer of a UDP socket of QUIC: the papers' 'QUIC buffer modified' (thesis, table
4.4). TCP's buffer grows by itself, so that a comparison would measure a small one of QUIC's."""
DELAY_MS: Final = 10.0
"""The one-way delay: the papers' default point has a round trip of 20 ms (thesis, tables 4.3 and
4.4)."""
JITTER_MS: Final = 1.0
"""The standard deviation of the delay (thesis, table 4.3)."""
QUEUE_PACKETS: Final = 100
"""The queue of either direction: the papers' downlink (thesis, table 4.3). Their uplink has 10,000
(listing 4.1), which their campaigns name: the acknowledgements of a download fill neither."""
UPLINK_MBPS: Final = 20.0
"""The uplink's capacity in the papers (thesis, table 4.3)."""
REPORT_MS: Final = 20.0
"""The interval of the receiver's reports where something needs them: one per round trip of the
papers' default point, as in the campaigns here. TS 38.425 leaves it to the node that polls."""
ECHO_MS: Final = 100.0
"""The interval of echoes where a steering mode needs them: this project's choice, as often as the
time series. TS 24.193 leaves it to UE and UPF."""
