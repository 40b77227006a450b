"""BOLA-E: BOLA with a virtual part of the buffer, so that it is quick with little in it.

"From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player" (Spiteri,
Sitaraman, Sparacio, MMSys 2018), section 4, and what dash.js made of it: virtual seconds (the
placeholder) count with the buffer; they begin as many as the throughput asks for, shrink when a
quality would be left waiting, and grow while the buffer is full.
"""

from __future__ import annotations

import math

from minitopo_dc.media.abr.algorithm import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    Download,
    Progress,
    abr_algorithm,
)
from minitopo_dc.media.abr.bola import Objective
from minitopo_dc.media.abr.throughput import InsufficientBuffer
from minitopo_dc.media.video import Video

MIN_BUFFER_S = 10.0
"""At whose level the lowest quality is left; dash.js's MINIMUM_BUFFER_S."""
MIN_BUFFER_PER_QUALITY_S = 2.0
"""More that BOLA is made for, for each quality; dash.js's MINIMUM_BUFFER_PER_BITRATE_LEVEL_S."""


@abr_algorithm("bola-e")
class BolaE(AbrAlgorithm):
    """BOLA-E with the insufficient-buffer rule, in the form that may switch up by one more."""

    def __init__(self, video: Video, buffer_s: float) -> None:
        super().__init__(video, buffer_s)
        bitrates = video.bitrates_kbps
        made_for_s = max(buffer_s, MIN_BUFFER_S + MIN_BUFFER_PER_QUALITY_S * len(bitrates))
        highest = math.log(bitrates[-1] / bitrates[0])
        # 1 where there is one quality only: any V will do.
        v_s = (made_for_s - MIN_BUFFER_S) / highest if highest else 1.0
        # The lowest quality's utility is 1 in dash.js, which is as good as 1 more of gamma p.
        self._objective = Objective(bitrates, v_s, 1 + MIN_BUFFER_S / v_s)
        self._rule = InsufficientBuffer(video)
        self._placeholder_s = 0.0
        self._last = 0
        self._begun = False

    def choose(self, view: AbrView) -> AbrChoice:
        """Return a quality by throughput at first, then by the level with the placeholder.

        It is at most one above the higher of the last quality and what the throughput carries.
        """
        affordable = self.affordable(view.throughput_kbps, view.latency_s)
        if not self._begun:
            self._begun = True
            missing_s = self._objective.lowest_level(affordable) - view.buffer_s
            self._placeholder_s = max(0.0, missing_s)
            return AbrChoice(affordable)
        quality = self._objective.best(view.buffer_s + self._placeholder_s)
        if quality > max(self._last, affordable):
            quality = max(self._last, affordable) + 1
        choice = self._limited(quality, self._excess(quality, view.buffer_s), view)
        self._last = choice.quality
        return choice

    def _excess(self, quality: int, buffer_s: float) -> float:
        """Take the level's excess for a quality from the placeholder; return the rest to wait."""
        excess_s = buffer_s + self._placeholder_s - self._objective.highest_level(quality)
        taken = min(max(0.0, excess_s), self._placeholder_s)
        self._placeholder_s -= taken
        is_highest = quality == self.video.qualities - 1
        return 0.0 if is_highest else max(0.0, excess_s - taken)

    def _limited(self, quality: int, wait_s: float, view: AbrView) -> AbrChoice:
        """Return a choice as limited by the insufficient-buffer rule."""
        allowed = self._rule.limit(quality, view)
        if allowed == quality:
            return AbrChoice(quality, wait_s)
        self._at_most(self._objective.lowest_level(allowed) - view.buffer_s)
        return AbrChoice(allowed)

    def _at_most(self, seconds: float) -> None:
        self._placeholder_s = min(self._placeholder_s, max(0.0, seconds))

    def downloaded(self, download: Download) -> None:
        """Keep the placeholder between what the quality asks for and what it allows."""
        self._last = download.quality
        objective, level_s = self._objective, download.buffer_s
        if download.abandoned_to is not None:
            wanted = objective.lowest_level(download.abandoned_to)
            self._at_most((wanted if download.abandoned_to else MIN_BUFFER_S) - level_s)
            return
        before_s = level_s + download.elapsed_s
        self._at_most(objective.highest_level(download.quality) - before_s)
        if level_s > 0:
            least = objective.lowest_level(download.quality) - before_s
            self._placeholder_s = max(self._placeholder_s, least)

    def waited(self, seconds: float) -> None:
        """Let the placeholder grow by the wait, as a full buffer is no reason for less quality."""
        self._placeholder_s += seconds

    def abandon(self, progress: Progress) -> int | None:
        """Return a lower quality as BOLA does, with the latency that another request would cost."""
        transfer_s = progress.elapsed_s - progress.latency_s
        if progress.received_kbit <= 0 or transfer_s <= 0:
            return None
        rate = progress.received_kbit / transfer_s
        left = progress.kbit - progress.received_kbit - progress.latency_s * rate
        if left <= 0:
            return None
        level_s = max(0.0, progress.buffer_s + self._placeholder_s - progress.latency_s)
        return self._objective.better_lower(
            progress, left, level_s, lambda quality: self.scaled_kbit(progress, quality)
        )
