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
    """The window fell, as packets were declared lost."""

    time_s: float
    cwnd_bytes: int
    """Before."""
    lost: tuple[int, ...]
    """The numbers of the packets that it fell for."""


@dataclass(frozen=True)
class ConnectionLog:
    """What two ends recorded of a download; times in s since the first thing that the server saw.

    Packets are QUIC packets or TCP segments. What is sent again is another packet.
    """

    packets: pd.DataFrame
    """Those with content, as sent: `number`, `sent_s`, `received_s` (NaN: never), `bytes` of the
    QUIC packet or of the segment's data."""
    acknowledgements: int
    """Packets of the client's that are nothing but an acknowledgement."""
    windows: pd.DataFrame
    """`time_s`, `cwnd_bytes`, `in_flight_bytes`, `ssthresh_bytes` (NaN: none yet); a row for each
    change, of TCP for each sample."""
    lost: tuple[int, ...]
    """Numbers of all that were declared lost, by a timeout too; of TCP, that were sent again."""
    cuts: tuple[Cut, ...]
    least_rtt_s: float
    """NaN: no sample."""

    @property
    def begin_s(self) -> float:
        """When the first packet with content was sent."""
        return float(self.packets["sent_s"].iloc[0])

    @property
    def end_s(self) -> float:
        """When the last one arrived."""
        return float(self.packets["received_s"].max())

    def during(self) -> tuple[pd.DataFrame, Numbers]:
        """The windows of the transfer, and how long each lasted (s)."""
        windows = self.windows[self.windows["time_s"] < self.end_s]
        times = windows["time_s"].to_numpy(dtype=float).clip(self.begin_s)
        return windows, np.diff(times, append=self.end_s)

    def were_received(self, numbers: Sequence[int]) -> list[bool]:
        """Which of some packets arrived, late or not."""
        arrived = set(self.packets["number"][self.packets["received_s"].notna()])
        return [number in arrived for number in numbers]
