"""ABR algorithms: by the measured throughput, by the buffer (BBA-0, BOLA), or by both.

BBA-0 is algorithm 1 of Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014).

BOLA is Lyapunov optimisation of utility and smoothness by the buffer level: K. Spiteri, R.
Urgaonkar, R. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos" (INFOCOM 2016).
With v the utility ln(bitrate / least bitrate), S the size, Q the buffer level and the parameters V
and gamma p, the quality is that with the greatest (V (v + gamma p) - Q) / S.

BOLA-E and DYNAMIC are of "From Theory to Practice: Improving Bitrate Adaptation in the DASH
Reference Player" (Spiteri, Sitaraman, Sparacio, MMSys 2018), sections 4 and 5, and of dash.js.
BOLA-E has virtual seconds (the placeholder) that count with the buffer, so that it is quick with
little in it; they begin as many as the throughput asks for, shrink when a quality would be left
waiting, and grow while the buffer is full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, DownloadProgress, abr_algorithm
from minitopo_dc.media.video import GAMMA_P, SegmentedVideo

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

    def __init__(self, video: SegmentedVideo) -> None:
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
        self, video: SegmentedVideo, buffer_s: float, *, insufficient_buffer_rule: bool = True
    ) -> None:
        super().__init__(video, buffer_s)
        self._rule = InsufficientBuffer(video) if insufficient_buffer_rule else None

    def choose(self, view: AbrView) -> AbrChoice:
        """Return the quality for 0.9 of the estimate, or less with little in the buffer."""
        quality = self.affordable(SAFETY * view.throughput_kbps, view.latency_s)
        return AbrChoice(quality if self._rule is None else self._rule.limit(quality, view))

    def abandon(self, progress: DownloadProgress) -> int | None:
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


RESERVOIR = 90 / 240
"""Of the buffer, below which the least bitrate is asked for: 90 s of 240 s in the paper."""
UPPER = 0.9
"""Of the buffer, from where on the greatest is (the paper's upper reservoir begins at 90 %)."""


@abr_algorithm("bba")
class Bba(AbrAlgorithm):
    """A line from the least bitrate at the reservoir to the greatest at the upper reservoir.

    The quality changes only when the line passes the next one. The paper's players have 240 s;
    here the shares are those of what a buffer can have when a segment is asked for.
    """

    def __init__(self, video: SegmentedVideo, buffer_s: float) -> None:
        super().__init__(video, buffer_s)
        most_s = buffer_s - video.segment_s
        self._reservoir_s, self._upper_s = RESERVOIR * most_s, UPPER * most_s
        self._last = 0

    def choose(self, view: AbrView) -> AbrChoice:
        """Leave the last quality when the line has reached the next higher or lower one."""
        bitrates, last = self.video.bitrates_kbps, self._last
        share = (view.buffer_s - self._reservoir_s) / (self._upper_s - self._reservoir_s)
        line = bitrates[0] + min(max(share, 0.0), 1.0) * (bitrates[-1] - bitrates[0])
        higher, lower = bitrates[min(last + 1, len(bitrates) - 1)], bitrates[max(last - 1, 0)]
        if view.buffer_s <= self._reservoir_s:
            self._last = 0
        elif view.buffer_s >= self._upper_s:
            self._last = len(bitrates) - 1
        elif line >= higher:
            self._last = max(q for q, bitrate in enumerate(bitrates) if bitrate <= line)
        elif line <= lower:
            self._last = min(q for q, bitrate in enumerate(bitrates) if bitrate >= line)
        return AbrChoice(self._last)


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
        self,
        progress: DownloadProgress,
        left: float,
        level_s: float,
        scaled: Callable[[int], float],
    ) -> int | None:
        """Return a lower quality that is worth more than the rest of a download, or None.

        The INFOCOM 2016 paper, section VI: the download that goes on is one of the remaining size.
        """
        most, best = self.value(progress.quality, level_s, left), None
        for quality in range(progress.quality):
            size = scaled(quality)
            value = self.value(quality, level_s, size)
            if size < left and value > most:
                most, best = value, quality
        return best


@abr_algorithm("bola")
class Bola(AbrAlgorithm):
    """BOLA-BASIC as BOLA-U: a quality is raised to at most one above what the throughput carries.

    So it oscillates less (section VI). Like Sabre's, it gives no download up.
    """

    def __init__(self, video: SegmentedVideo, buffer_s: float, *, finite: bool = False) -> None:
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


MIN_BUFFER_S = 10.0
"""At whose level the lowest quality is left; dash.js's MINIMUM_BUFFER_S."""
MIN_BUFFER_PER_QUALITY_S = 2.0
"""More that BOLA is made for, for each quality; dash.js's MINIMUM_BUFFER_PER_BITRATE_LEVEL_S."""


@abr_algorithm("bola-e")
class BolaE(AbrAlgorithm):
    """BOLA-E with the insufficient-buffer rule, in the form that may switch up by one more."""

    def __init__(self, video: SegmentedVideo, buffer_s: float) -> None:
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

    def downloaded(self, download: DownloadProgress) -> None:
        """Keep the placeholder between what the quality asks for and what it allows."""
        self._last = download.quality
        objective, level_s = self._objective, download.buffer_s
        if download.abandoned_to is not None:
            lowest = objective.lowest_level(download.abandoned_to)
            self._at_most((lowest if download.abandoned_to else MIN_BUFFER_S) - level_s)
            return
        before_s = level_s + download.elapsed_s
        self._at_most(objective.highest_level(download.quality) - before_s)
        if level_s > 0:
            least = objective.lowest_level(download.quality) - before_s
            self._placeholder_s = max(self._placeholder_s, least)

    def waited(self, seconds: float) -> None:
        """Let the placeholder grow by the wait, as a full buffer is no reason for less quality."""
        self._placeholder_s += seconds

    def abandon(self, progress: DownloadProgress) -> int | None:
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


THRESHOLD_S = 10.0
"""In the buffer; the paper's."""


@abr_algorithm("dynamic")
class Dynamic(AbrAlgorithm):
    """Changes to BOLA when the buffer passes the threshold and BOLA asks for no less."""

    def __init__(self, video: SegmentedVideo, buffer_s: float) -> None:
        super().__init__(video, buffer_s)
        self._bola = Bola(video, buffer_s, finite=True)
        self._throughput = Throughput(video, buffer_s)
        self._is_bola = False

    def choose(self, view: AbrView) -> AbrChoice:
        """Return BOLA's or the throughput rule's choice.

        It changes to BOLA where that asks for no less, and back where BOLA asks for less with
        little buffered.
        """
        bola, throughput = self._bola.choose(view), self._throughput.choose(view)
        if self._is_bola:
            low = view.buffer_s < THRESHOLD_S and bola.quality < throughput.quality
            self._is_bola = not low
        else:
            self._is_bola = view.buffer_s > THRESHOLD_S and bola.quality >= throughput.quality
        return bola if self._is_bola else throughput

    def abandon(self, progress: DownloadProgress) -> int | None:
        """Return the throughput rule's answer, as in dash.js whichever rule chooses."""
        return self._throughput.abandon(progress)
