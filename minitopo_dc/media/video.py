"""What is sent of a video and of a call: sizes of segments in all qualities, and of frames.

The quality of a session for its viewer is bitrate, changes, stalls, and two scores of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minitopo_dc.units import NS_PER_S

GAMMA_P = 5.0
"""The weight of playing without a stall beside the utility; the paper on BOLA (INFOCOM 2016)."""


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


STALL_WEIGHT_KBPS = 3000.0
"""What 1 s of stall or of startup costs, per s: "balanced" of Yin et al. (mu and mu_s)."""


def session_measures(
    segment_s: float,
    bitrates_kbps: Sequence[float],
    least_kbps: float,
    *,
    startup_s: float,
    stall_s: float,
) -> dict[str, float]:
    """Return the measures of a session as its viewer saw it.

    The stalls' ratio is of the time after the first picture. The linear QoE, "balanced", is the
    mean over segments: Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video
    Streaming over HTTP" (SIGCOMM 2015), equation 5. Sabre's score is utility over time, less 5
    times the share of time in stalls; time counts from the first request on, and a segment's
    utility is BOLA's.

    Args:
        segment_s: how long each segment plays.
        bitrates_kbps: of the segments, as they were played.
        least_kbps: the bitrate of the lowest quality.
        startup_s: until the first picture.
        stall_s: how long the picture stood still after it.
    """
    steps = (abs(after - before) for before, after in pairwise(bitrates_kbps))
    changes = [step for step in steps if step]
    count, total, content_s = len(bitrates_kbps), sum(bitrates_kbps), len(bitrates_kbps) * segment_s
    qoe = (total - sum(changes) - STALL_WEIGHT_KBPS * (stall_s + startup_s)) / count
    seconds = startup_s + content_s + stall_s
    utility = sum(math.log(bitrate / least_kbps) for bitrate in bitrates_kbps)
    return {
        "startup_s": startup_s,
        "stall_s": stall_s,
        "stall_ratio": stall_s / (content_s + stall_s),
        "bitrate_mbps": total / count / 1000,
        "switches": len(changes),
        "change_mbps": sum(changes) / 1000,
        "linear_qoe_mbps": qoe / 1000,
        "sabre_score": utility * segment_s / seconds - GAMMA_P * stall_s / seconds,
    }


MIN_BYTES = 24
"""Of a frame: as many as the head needs that tells its number, its size and its time."""
FREEZE_FACTOR, FREEZE_S = 3.0, 0.150
"""Of WebRTC's statistics: a gap of at least max(3 x mean, mean + 150 ms) is a freeze."""
FREEZE_FRAMES = 30
"""The mean is of the gaps between so many frames."""


@dataclass(frozen=True)
class Frames:
    """The frames of one direction of a call.

    Attributes:
        interval_ns: from one frame to the next.
        sizes_bytes: of each frame.
        keys: whether it can be decoded by itself.
    """

    interval_ns: int
    sizes_bytes: tuple[int, ...]
    keys: tuple[bool, ...]

    def due_ns(self, number: int) -> int:
        """Return when a frame is due, in ns since the first one."""
        return number * self.interval_ns


def even_frames(
    count: int, interval_ns: int, *, bytes_per_s: float, gop: int, key_ratio: float
) -> Frames:
    """Return frames in groups that begin with a key frame, `key_ratio` times as large as others.

    A whole group has the mean rate.
    """
    group_bytes = bytes_per_s * gop * interval_ns / 1e9
    other = group_bytes / (gop - 1 + key_ratio)
    keys = tuple(number % gop == 0 for number in range(count))
    sizes = tuple(max(MIN_BYTES, round(other * (key_ratio if key else 1))) for key in keys)
    return Frames(interval_ns, sizes, keys)


def freezes_s(arrivals: Sequence[tuple[int, float]]) -> list[float]:
    """Return how long the picture froze each time, in s.

    By WebRTC (freezeCount of its statistics): the gap between two frames that are shown, of at
    least max(3 x mean, mean + 150 ms), with the mean of the last 30 gaps. A frame is shown when it
    is there, unless one behind it was already.

    Args:
        arrivals: number and time (s) of each frame that arrived.
    """
    shown: list[float] = []
    newest = -1
    for number, time in sorted(arrivals, key=lambda frame: (frame[1], frame[0])):
        if number > newest:
            newest = number
            shown.append(time)
    gaps = [after - before for before, after in pairwise(shown)]
    frozen = []
    for index, gap in enumerate(gaps[1:], start=1):
        last = gaps[max(0, index - FREEZE_FRAMES) : index]
        mean = math.fsum(last) / len(last)
        if gap >= max(FREEZE_FACTOR * mean, mean + FREEZE_S):
            frozen.append(gap)
    return frozen
