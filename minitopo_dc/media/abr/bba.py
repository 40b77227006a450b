"""ABR by the buffer alone: BBA-0.

Algorithm 1 of Huang et al., "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014).
"""

from __future__ import annotations

from minitopo_dc.media.abr.algorithm import AbrAlgorithm, AbrChoice, AbrView, abr_algorithm
from minitopo_dc.media.video import Video

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
        wanted = self._line_kbps(view.buffer_s)
        higher, lower = bitrates[min(last + 1, len(bitrates) - 1)], bitrates[max(last - 1, 0)]
        if view.buffer_s <= self._reservoir_s:
            self._last = 0
        elif view.buffer_s >= self._upper_s:
            self._last = len(bitrates) - 1
        elif wanted >= higher:
            self._last = max(q for q, bitrate in enumerate(bitrates) if bitrate <= wanted)
        elif wanted <= lower:
            self._last = min(q for q, bitrate in enumerate(bitrates) if bitrate >= wanted)
        return AbrChoice(self._last)

    def _line_kbps(self, buffer_s: float) -> float:
        low, high = self.video.bitrates_kbps[0], self.video.bitrates_kbps[-1]
        share = (buffer_s - self._reservoir_s) / (self._upper_s - self._reservoir_s)
        return low + min(max(share, 0.0), 1.0) * (high - low)
