"""ABR by throughput: the highest bitrate that fits into a safe part of what was measured."""

from __future__ import annotations

from minitopo_dc.media.abr.algorithm import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    Progress,
    abr_algorithm,
)
from minitopo_dc.media.video import Video

SAFETY = 0.9
"""Of the estimate is used: dash.js's bandwidth safety factor."""
GRACE_S = 0.5
"""A download is not given up before; dash.js's AbandonRequestsRule."""
OVERDUE = 1.8
"""Segment durations that a download may take; dash.js's AbandonRequestsRule."""


class InsufficientBuffer:
    """The insufficient-buffer rule of dash.js (and of the MMSys 2018 paper, section 5.2).

    A segment must arrive before the buffer is empty, at a part of the estimated throughput that is
    0.9 at first and shrinks to 0.5 with each choice.
    """

    FIRST, LEAST = 0.9, 0.5

    def __init__(self, video: Video) -> None:
        self._video = video
        self._safety = self.FIRST

    def limit(self, quality: int, view: AbrView) -> int:
        """Return the highest quality up to `quality` that the rule allows."""
        safe_kbit = self._safety * (view.buffer_s - view.latency_s) * view.throughput_kbps
        self._safety = max(self.LEAST, self._safety * self.FIRST)
        duration = self._video.segment_s
        higher = enumerate(self._video.bitrates_kbps[1 : quality + 1])
        too_large = (below for below, bitrate in higher if bitrate * duration > safe_kbit)
        return next(too_large, quality)


@abr_algorithm("throughput")
class Throughput(AbrAlgorithm):
    """Chooses by the throughput rule of dash.js."""

    def __init__(
        self, video: Video, buffer_s: float, *, insufficient_buffer_rule: bool = True
    ) -> None:
        super().__init__(video, buffer_s)
        self._rule = InsufficientBuffer(video) if insufficient_buffer_rule else None

    def choose(self, view: AbrView) -> AbrChoice:
        """Return the quality for 0.9 of the estimate, or less with little in the buffer."""
        quality = self.affordable(SAFETY * view.throughput_kbps, view.latency_s)
        return AbrChoice(quality if self._rule is None else self._rule.limit(quality, view))

    def abandon(self, progress: Progress) -> int | None:
        """Return the quality that the rate so far allows, if the download would take too long.

        It is None if the download is to go on, also where the lower quality has more bytes to come.
        """
        transfer_s = progress.elapsed_s - progress.latency_s
        if progress.elapsed_s < GRACE_S or transfer_s <= 0 or not progress.received_kbit:
            return None
        rate = progress.received_kbit / transfer_s
        left_kbit = progress.kbit - progress.received_kbit
        if progress.elapsed_s + left_kbit / rate <= OVERDUE * self.video.segment_s:
            return None
        lower = self.affordable(SAFETY * rate, progress.latency_s)
        if lower >= progress.quality or self.scaled_kbit(progress, lower) >= left_kbit:
            return None
        return lower
