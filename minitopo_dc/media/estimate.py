"""A player's estimates of its network: averages over past downloads that forget.

Two exponentially weighted averages, a fast one and a slow one, of which the more careful counts:
as in the reference player dash.js and in "From Theory to Practice: Improving Bitrate Adaptation in
the DASH Reference Player" (Spiteri, Sitaraman, Sparacio, MMSys 2018).
"""

from __future__ import annotations

HALF_LIVES_S = (3.0, 8.0)
"""Of what was once measured, in seconds of downloading; dash.js's, for video on demand."""


class _Average:
    """An average whose samples lose half their weight when `half_life` more weight has come."""

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._sum = 0.0
        self._rest = 1.0
        """The weight of what was there before the first sample, which is nothing."""

    def add(self, value: float, weight: float) -> None:
        """Count a sample with its weight."""
        kept = 0.5 ** (weight / self._half_life)
        self._sum = kept * self._sum + (1 - kept) * value
        self._rest *= kept

    @property
    def value(self) -> float:
        """Return the average without the bias of its beginning; there must be a sample."""
        return self._sum / (1 - self._rest)


class Estimate:
    """Estimates of throughput and latency from the downloads until now."""

    def __init__(self, segment_s: float) -> None:
        self._throughput = [_Average(half_life) for half_life in HALF_LIVES_S]
        self._latency = [_Average(half_life / segment_s) for half_life in HALF_LIVES_S]
        self.is_known = False

    def add(self, kbit: float, transfer_s: float, latency_s: float) -> None:
        """Count a download of `kbit`: its time from the first byte on, and the time before (s)."""
        for average in self._throughput:
            average.add(kbit / transfer_s, transfer_s)
        for average in self._latency:
            average.add(latency_s, 1)
        self.is_known = True

    @property
    def throughput_kbps(self) -> float:
        """Return the least of the averages (kbit/s); there must be a download."""
        return min(average.value for average in self._throughput)

    @property
    def latency_s(self) -> float:
        """Return the greatest of the averages (s); there must be a download."""
        return max(average.value for average in self._latency)
