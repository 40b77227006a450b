"""A video as a player knows it: qualities, their bitrates, and the size of every segment.

Files are JSON as Sabre's (K. Spiteri, R. Sitaraman, D. Sparacio, MMSys 2018): an object with
`segment_duration_ms`, `bitrates_kbps` (ascending) and `segment_sizes_bits`, a list per segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from minitopo_dc.errors import InputError
from minitopo_dc.units import NS_PER_MS, NS_PER_S

KEYS = ("segment_duration_ms", "bitrates_kbps", "segment_sizes_bits")


class VideoError(InputError):
    """Error: a file of segment sizes is missing or wrong; the message names file and place."""


@dataclass(frozen=True)
class Video:
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


def parse_video(name: str, values: Any) -> Video:
    """Return the video that a file's JSON describes.

    Raises:
        VideoError: something is missing, has a hole or makes no sense.
    """
    if not isinstance(values, dict) or sorted(values) != sorted(KEYS):
        raise VideoError(f"allowed: an object with {', '.join(KEYS)}")
    duration, bitrates, sizes = (values[key] for key in KEYS)
    if not _is_positive(duration):
        raise VideoError(f"segment_duration_ms is {duration!r:.40}; allowed: a number above 0")
    if not isinstance(bitrates, list) or not bitrates or not all(map(_is_positive, bitrates)):
        raise VideoError("bitrates_kbps: allowed is a list of numbers above 0")
    if any(low >= high for low, high in pairwise(bitrates)):
        raise VideoError("bitrates_kbps: allowed is a list that ascends, the least first")
    if not isinstance(sizes, list) or not sizes:
        raise VideoError("segment_sizes_bits: allowed is a list with a list for each segment")
    return Video(
        name=name,
        segment_ns=round(duration * NS_PER_MS),
        bitrates_kbps=tuple(bitrates),
        sizes_bytes=tuple(_row(n, row, len(bitrates)) for n, row in enumerate(sizes)),
    )


def _row(number: int, row: Any, qualities: int) -> tuple[int, ...]:
    """Return one segment's sizes in bytes; VideoError for a wrong row."""
    where = f"segment_sizes_bits[{number}]"
    if not isinstance(row, list) or len(row) != qualities:
        what = f"{len(row)} sizes" if isinstance(row, Sequence) else repr(row)[:40]
        raise VideoError(f"{where} has {what}; allowed: {qualities}, one for each bitrate")
    for quality, bits in enumerate(row):
        if not _is_positive(bits):
            raise VideoError(f"{where}[{quality}] is {bits!r:.40}; allowed: a number above 0")
    return tuple(max(1, round(bits / 8)) for bits in row)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12
