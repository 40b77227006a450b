"""Adaptive bitrate (ABR) algorithms: they choose in which quality a player asks for a segment.

An algorithm is a class with one method, registered under the name that scenarios use::

    @abr_algorithm("lowest")
    class Lowest(AbrAlgorithm):
        def choose(self, view: AbrView) -> AbrChoice:
            return AbrChoice(0)

Sizes are in kbit, rates in kbit/s, times in s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, TypeVar

from minitopo_dc.media.video import SegmentedVideo
from minitopo_dc.registry import Registry


@dataclass(frozen=True, slots=True)
class AbrView:
    """What an algorithm may know when it chooses.

    Attributes:
        segment: the number of the one that is to be asked for, from 0.
        left: how many are to be asked for, with it.
        buffer_s: what there is to be played.
        throughput_kbps: the estimate of past downloads.
        latency_s: the same, from a request to its first byte.
    """

    segment: int
    left: int
    buffer_s: float
    throughput_kbps: float
    latency_s: float


@dataclass(frozen=True, slots=True)
class AbrChoice:
    """A quality, and how long to wait before it is asked for (s)."""

    quality: int
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """A download that goes on, or has just ended, complete or given up.

    Attributes:
        quality: what was asked for.
        kbit: the segment's size in it.
        received_kbit: of it so far.
        elapsed_s: since it was asked for.
        latency_s: of it, until the first byte.
        buffer_s: what there is to be played, without it.
        abandoned_to: a lower quality, for which it was given up; None: it was not.
    """

    quality: int
    kbit: float
    received_kbit: float
    elapsed_s: float
    latency_s: float
    buffer_s: float
    abandoned_to: int | None = None


class AbrAlgorithm(ABC):
    """Chooses the qualities of one session, whose first segment has quality 0."""

    name: ClassVar[str]
    """Set by the decorator `abr_algorithm`."""

    def __init__(self, video: SegmentedVideo, buffer_s: float) -> None:
        """Take the video to choose from, and how much is buffered at most (s)."""
        self.video = video
        self.buffer_s = buffer_s

    @abstractmethod
    def choose(self, view: AbrView) -> AbrChoice:
        """Return the quality of the next segment; it is asked for once for each segment."""

    def downloaded(self, download: DownloadProgress) -> None:  # noqa: B027 (a hook)
        """Take note of a download that has ended."""

    def waited(self, seconds: float) -> None:  # noqa: B027 (a hook)
        """Take note that nothing was asked for so long (s), as the buffer was full."""

    def abandon(self, progress: DownloadProgress) -> int | None:  # noqa: ARG002 (a hook)
        """Return a lower quality for which to give a download up, None to let it go on."""
        return None

    def affordable(self, throughput_kbps: float, latency_s: float) -> int:
        """Return the highest quality whose segments arrive as fast as they play, else 0."""
        duration, bitrates = self.video.segment_s, self.video.bitrates_kbps
        takes_s = (latency_s + duration * bitrate / throughput_kbps for bitrate in bitrates)
        return max(0, sum(1 for _ in takewhile(lambda time: time <= duration, takes_s)) - 1)

    def scaled_kbit(self, progress: DownloadProgress, quality: int) -> float:
        """Return the approximate size of a segment in another quality (kbit), by the bitrates."""
        bitrates = self.video.bitrates_kbps
        return progress.kbit * bitrates[quality] / bitrates[progress.quality]


AnyAlgorithm = TypeVar("AnyAlgorithm", bound=type[AbrAlgorithm])
_ALGORITHMS: Registry[type[AbrAlgorithm]] = Registry(
    "ABR algorithm",
    "minitopo_dc.abr_algorithms",
    ("minitopo_dc.media.abr.rules",),
    attribute="name",
)


def abr_algorithm(name: str) -> Callable[[AnyAlgorithm], AnyAlgorithm]:
    """Return a class decorator that registers an algorithm, also one of a user's.

    Raises:
        ValueError: there is another algorithm of this name.
    """
    return _ALGORITHMS.adding(name)


def abr_names() -> tuple[str, ...]:
    """Return the names of all ABR algorithms."""
    return _ALGORITHMS.names()


def make_abr(name: str, video: SegmentedVideo, buffer_s: float) -> AbrAlgorithm:
    """Return a new algorithm of this name for one session.

    Raises:
        UnknownNameError: there is none of this name.
    """
    return _ALGORITHMS.get(name)(video, buffer_s)
