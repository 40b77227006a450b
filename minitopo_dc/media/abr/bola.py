"""BOLA: Lyapunov optimisation of utility and smoothness by the buffer level.

K. Spiteri, R. Urgaonkar, R. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos"
(INFOCOM 2016). With v the utility ln(bitrate / least bitrate), S the size, Q the buffer level and
the parameters V and gamma p, the quality is that with the greatest (V (v + gamma p) - Q) / S.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from minitopo_dc.media.abr.algorithm import (
    AbrAlgorithm,
    AbrChoice,
    AbrView,
    Progress,
    abr_algorithm,
)
from minitopo_dc.media.video import Video

GAMMA_P = 5.0
"""The weight of playing without a stall beside the utility; the paper's."""
MIN_SEGMENTS = 3
"""That the buffer of BOLA-FINITE holds, however short the video is."""


class Objective:
    """BOLA's decision for a buffer level; levels and V are in s, as a segment's duration is."""

    def __init__(self, bitrates: Sequence[float], v_s: float, gamma_p: float) -> None:
        self._bitrates = bitrates
        utilities = [math.log(bitrate / bitrates[0]) for bitrate in bitrates]
        self._zeros = [v_s * (utility + gamma_p) for utility in utilities]
        """The level at which each quality's value is 0: from there on it is better to wait."""

    def value(self, quality: int, level_s: float, size: float) -> float:
        """Return the value of a download of `size` at a buffer level (s)."""
        return (self._zeros[quality] - level_s) / size

    def best(self, level_s: float) -> int:
        """Return the quality with the greatest value at a buffer level (s)."""
        return max(
            range(len(self._bitrates)),
            key=lambda quality: self.value(quality, level_s, self._bitrates[quality]),
        )

    def highest_level(self, quality: int) -> float:
        """Return the level (s) up to which a quality is worth more than to wait."""
        return self._zeros[quality]

    def lowest_level(self, quality: int) -> float:
        """Return the level (s) from which on a quality is preferred to all lower ones.

        For the lowest quality it is 0.
        """
        bitrate, zero = self._bitrates[quality], self._zeros[quality]
        crossings = (
            (bitrate * self._zeros[lower] - self._bitrates[lower] * zero)
            / (bitrate - self._bitrates[lower])
            for lower in range(quality)
        )
        return max(crossings, default=0.0)

    def better_lower(
        self, progress: Progress, left: float, level_s: float, scaled: Callable[[int], float]
    ) -> int | None:
        """Return a lower quality that is worth more than the rest of a download, or None.

        The INFOCOM 2016 paper, section VI: the download that goes on is one of the remaining size.
        """
        best, found = self.value(progress.quality, level_s, left), None
        for quality in range(progress.quality):
            size = scaled(quality)
            value = self.value(quality, level_s, size)
            if size < left and value > best:
                best, found = value, quality
        return found


@abr_algorithm("bola")
class Bola(AbrAlgorithm):
    """BOLA-BASIC as BOLA-U: a quality is raised to at most one above what the throughput carries.

    So it oscillates less (section VI). Like Sabre's, it gives no download up.
    """

    def __init__(self, video: Video, buffer_s: float, *, finite: bool = False) -> None:
        """Take the video, the buffer (s), and whether V is smaller near the video's ends.

        This is BOLA-FINITE (section V): it is made for half of the segments before or behind.
        """
        super().__init__(video, buffer_s)
        self._objective = self._made_for(buffer_s)
        self._finite = finite
        self._last = 0

    def choose(self, view: AbrView) -> AbrChoice:
        """Return the best quality for the buffer level; a full buffer makes the player wait."""
        if self._finite:
            segments = max(min(view.segment, view.left) / 2, MIN_SEGMENTS)
            self._objective = self._made_for(min(self.buffer_s, segments * self.video.segment_s))
        quality = self._objective.best(view.buffer_s)
        if quality > self._last:
            affordable = self.affordable(view.throughput_kbps, view.latency_s)
            quality = min(quality, max(self._last, affordable + 1))
        self._last = quality
        return AbrChoice(quality)

    def _made_for(self, buffer_s: float) -> Objective:
        """Return the objective whose V lets the highest quality fill a buffer (s)."""
        bitrates = self.video.bitrates_kbps
        highest = math.log(bitrates[-1] / bitrates[0])
        return Objective(bitrates, (buffer_s - self.video.segment_s) / (highest + GAMMA_P), GAMMA_P)
