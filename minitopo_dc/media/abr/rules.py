"""ABR by one number: by the throughput that was measured, or by the buffer alone (BBA-0).

BBA-0 is algorithm 1 of Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014).
"""

from __future__ import annotations

from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, Progress, abr_algorithm
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

    def __init__(self, video: Video, buffer_s: float) -> None:
        super().__init__(video, buffer_s)
        most_s = buffer_s - video.segment_s
        self._reservoir_s, self._upper_s = RESERVOIR * most_s, UPPER * most_s
        self._last = 0

    def choose(self, view: AbrView) -> AbrChoice:
        """Leave the last quality when the line has reached the next higher or lower one."""
        bitrates, last = self.video.bitrates_kbps, self._last
        line = self._line_kbps(view.buffer_s)
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

    def _line_kbps(self, buffer_s: float) -> float:
        low, high = self.video.bitrates_kbps[0], self.video.bitrates_kbps[-1]
        share = (buffer_s - self._reservoir_s) / (self._upper_s - self._reservoir_s)
        return low + min(max(share, 0.0), 1.0) * (high - low)
