"""One connection as both ends recorded it: its packets, acknowledgements, windows and losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Numbers = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Cut:
    """A cut of the congestion window, as packets were declared lost."""

    time_s: float
    cwnd_bytes: int
    """The window before the cut."""
    lost: tuple[int, ...]
    """The numbers of the packets for whose loss it was cut."""


@dataclass(frozen=True)
class ConnectionLog:
    """A download as two ends recorded it; times in s since the server's first recorded event.

    Packets are QUIC packets or TCP segments. What is sent again is another packet.
    """

    packets: pd.DataFrame
    """Packets with content, as sent: `number`, `sent_s`, `received_s` (NaN: never), `bytes` of the
    QUIC packet or of the segment's data."""
    acknowledgements: int
    """The number of the client's packets that are nothing but an acknowledgement."""
    windows: pd.DataFrame
    """`time_s`, `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes` (NaN: none yet); a row for each
    change, of TCP for each sample."""
    lost: tuple[int, ...]
    """Numbers of all packets that were declared lost, by a timeout too; for TCP, of those sent
    again."""
    cuts: tuple[Cut, ...]
    least_rtt_s: float
    """The least round-trip time; NaN: no sample."""

    @property
    def begin_s(self) -> float:
        """Return when the first packet with content was sent (s)."""
        return float(self.packets["sent_s"].iloc[0])

    @property
    def end_s(self) -> float:
        """Return when the last packet with content arrived (s)."""
        return float(self.packets["received_s"].max())

    def during(self) -> tuple[pd.DataFrame, Numbers]:
        """Return the windows of the transfer, and how long each lasted (s)."""
        windows = self.windows[self.windows["time_s"] < self.end_s]
        times = windows["time_s"].to_numpy(dtype=float).clip(self.begin_s)
        return windows, np.diff(times, append=self.end_s)

    def were_received(self, numbers: Sequence[int]) -> list[bool]:
        """Return which of some packets arrived, late or not."""
        arrived = set(self.packets["number"][self.packets["received_s"].notna()])
        return [number in arrived for number in numbers]


@dataclass(frozen=True)
class LossRecovery:
    """The loss recovery of one connection, at the server.

    `drop_occasions` counts the decreases of the congestion window: packets that are lost together
    decrease it once (RFC 9002, section 7.3.2). `lost_packets` counts what was declared lost,
    whether it was or came late. `rtt_ms` is the mean of the samples of the round-trip time.
    """

    window: pd.DataFrame
    """`time_s` since the first event, `cwnd_bytes`; a row for each change, and the last one."""
    lost_packets: int
    drop_occasions: int
    rtt_ms: float | None
