"""Defaults of legs and transfers that more than one place has: each stands here, with its source.

What Mininet's topologies leave out is filled in from here too, in the element that they start.
"""

from __future__ import annotations

from typing import Final

CONGESTION_CONTROL: Final = "cubic"
"""The usual systems' own (RFC 9438, section 1), which all transports have. The papers on Dual
Connectivity have NewReno, which their campaigns name."""
RECEIVE_BUFFER_BYTES: Final = 33_554_432
"""Of a UDP socket of QUIC: the papers' 'QUIC buffer modified' (thesis, table 4.4). TCP's buffer
grows by itself, so that a small one of QUIC's would be what a comparison measures."""
DELAY_MS: Final = 10.0
"""One way: the papers' default point has a round trip of 20 ms (thesis, tables 4.3 and 4.4)."""
JITTER_MS: Final = 1.0
"""Standard deviation (thesis, table 4.3)."""
QUEUE_PACKETS: Final = 100
"""Of either direction: the papers' downlink (thesis, table 4.3). Their uplink has 10,000 (listing
4.1), which their campaigns name: the acknowledgements of a download fill neither."""
UPLINK_MBPS: Final = 20.0
"""The papers' uplink (thesis, table 4.3)."""
