"""The frames of a call: when each is due, how large it is, and what its viewer saw of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from minitopo_dc.errors import InputError

MIN_BYTES = 24
"""Of a frame: as many as the head needs that tells its number, its size and its time."""
MAX_BYTES = 10_000_000
FREEZE_FACTOR, FREEZE_S = 3.0, 0.150
"""Of WebRTC's statistics: a gap of at least max(3 x mean, mean + 150 ms) is a freeze."""
FREEZE_FRAMES = 30
"""The mean is of the gaps between so many frames."""


class FramesError(InputError):
    """Error: a file of frame sizes is wrong; the message names the line and what is allowed."""


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


def read_frames(text: str, count: int, interval_ns: int) -> Frames:
    """Return the frames of a file: a line each with its bytes, and `key` behind key frames.

    Lines that begin with # do not count. A file with fewer frames begins again.

    Raises:
        FramesError: a line is wrong, or there is none.
    """
    lines = [
        _line(number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise FramesError("no frame in it; allowed: a line each with its bytes")
    taken = [lines[number % len(lines)] for number in range(count)]
    sizes, keys = zip(*taken, strict=True)
    return Frames(interval_ns, sizes, keys)


def _line(number: int, line: str) -> tuple[int, bool]:
    words = line.split()
    is_number = words[0].isascii() and words[0].isdigit() and len(words[0]) < 10
    if not is_number or words[1:] not in ([], ["key"]):
        raise FramesError(f"line {number}: {line!r:.60}; allowed: BYTES or BYTES key")
    if not MIN_BYTES <= int(words[0]) <= MAX_BYTES:
        raise FramesError(f"line {number}: {words[0]} bytes; allowed: {MIN_BYTES} to {MAX_BYTES:,}")
    return int(words[0]), len(words) == 2


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
