"""A video as a player knows it: qualities, their bitrates, and the size of every segment.

The quality of a session for its viewer is bitrate, changes, stalls, and two scores of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minitopo_dc.errors import InputError
from minitopo_dc.units import NS_PER_S

GAMMA_P = 5.0
"""The weight of playing without a stall beside the utility; the paper on BOLA (INFOCOM 2016)."""


class VideoError(InputError):
    """Error: a file of segment sizes is missing or wrong; the message names file and place."""


@dataclass(frozen=True)
class SegmentedVideo:
    """A video that can be asked for in segments.

    Attributes:
        name: for messages.
        segment_ns: how long each segment plays.
        bitrates_kbps: of the qualities 0, 1, ...; ascending.
        sizes_bytes: of each segment in each quality.
    """

    name: str
    segment_ns: int
    bitrates_kbps: tuple[float, ...]
    sizes_bytes: tuple[tuple[int, ...], ...]

    @property
    def segment_s(self) -> float:
        """Return how long each segment plays, in s."""
        return self.segment_ns / NS_PER_S

    @property
    def qualities(self) -> int:
        """Return the number of qualities."""
        return len(self.bitrates_kbps)

    def kbit(self, segment: int, quality: int) -> float:
        """Return the size of a segment in kbit."""
        return self.sizes_bytes[segment][quality] * 8 / 1000


STALL_WEIGHT_KBPS = 3000.0
"""What 1 s of stall or of startup costs, per s: "balanced" of Yin et al. (mu and mu_s)."""


@dataclass(frozen=True, slots=True)
class VideoSession:
    """A session as its viewer saw it.

    Attributes:
        segment_s: how long each segment plays.
        bitrates_kbps: of the segments, as they were played.
        least_kbps: the bitrate of the lowest quality.
        startup_s: until the first picture.
        stall_s: how long the picture stood still after it.
    """

    segment_s: float
    bitrates_kbps: Sequence[float]
    least_kbps: float
    startup_s: float
    stall_s: float

    @property
    def mean_kbps(self) -> float:
        """Return the mean bitrate of the segments in kbit/s."""
        return sum(self.bitrates_kbps) / len(self.bitrates_kbps)

    @property
    def changes_kbps(self) -> list[float]:
        """Return by how much the bitrate changed (kbit/s), up or down, for each change."""
        steps = (abs(after - before) for before, after in pairwise(self.bitrates_kbps))
        return [step for step in steps if step]

    @property
    def content_s(self) -> float:
        """Return for how many s all segments play."""
        return len(self.bitrates_kbps) * self.segment_s

    @property
    def stall_ratio(self) -> float:
        """Return the share of time after the first picture in which it stood still."""
        return self.stall_s / (self.content_s + self.stall_s)

    @property
    def linear_qoe_kbps(self) -> float:
        """Return the linear QoE, "balanced", as the mean over segments in kbit/s.

        Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP"
        (SIGCOMM 2015), equation 5.
        """
        lost = STALL_WEIGHT_KBPS * (self.stall_s + self.startup_s)
        total = sum(self.bitrates_kbps) - sum(self.changes_kbps) - lost
        return total / len(self.bitrates_kbps)

    @property
    def score(self) -> float:
        """Return Sabre's score: utility over time, less 5 times the share of time in stalls.

        Time counts from the first request on; a segment's utility is BOLA's.
        """
        seconds = self.startup_s + self.content_s + self.stall_s
        utility = sum(math.log(bitrate / self.least_kbps) for bitrate in self.bitrates_kbps)
        return utility * self.segment_s / seconds - GAMMA_P * self.stall_s / seconds
