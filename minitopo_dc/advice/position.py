"""Where a network lies among those of the study: numbers without a unit (docs/study.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from minitopo_dc.advice.factors import mean_mbps
from minitopo_dc.numbers import significant
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.settings import LegSettings
from minitopo_dc.workloads import Download

PACKET_BITS = 12_000
"""An IP packet of 1,500 bytes."""


@dataclass(frozen=True)
class Position:
    """The columns of the study's campaign that have no unit; those of several legs by their rates.

    Attributes:
        share: of leg 1 in the rate of all legs.
        delay_ratio: the longest round trip over the shortest one.
        windows: the download's size over rate times round trip; NaN of another workload.
        queueing: a full queue's time over the round trip; NaN where a queue has no limit in time.
        lost_per_window: packets lost at random in a round trip at the full rate.
    """

    share: float
    delay_ratio: float
    windows: float
    queueing: float
    lost_per_window: float

    @property
    def sentence(self) -> str:
        """Return the numbers that there are, in words."""
        told = (
            (self.share, "{} of the rate is leg 1's"),
            (self.delay_ratio, "the longest round trip is {} times the shortest"),
            (self.windows, "the size is {} times rate times round trip"),
            (self.queueing, "queues hold {} round trips"),
            (self.lost_per_window, "{} packets are lost per round trip at the full rate"),
        )
        known = [words.format(significant(value, 2)) for value, words in told
                 if math.isfinite(value)]  # fmt: skip
        return f"Position among the networks of docs/study.md: {'; '.join(known)}."


def position_of(base: Scenario) -> Position:
    """Return where a scenario's legs and workload lie, by its downlinks.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    rates = [mean_mbps(leg.downlink) for leg in base.legs]
    trips = [round_trip_ms(leg) for leg in base.legs]
    total = math.fsum(rates)
    shares = [rate / total for rate in rates]
    trip = _mean(shares, trips)
    packets = total * 1000 * trip / PACKET_BITS
    losses = [leg.downlink.mean_loss_percent() / 100 for leg in base.legs]
    queues = [_queue_ms(leg.downlink, rate) for leg, rate in zip(base.legs, rates, strict=True)]
    size_bits = 8 * base.workload.size_bytes if isinstance(base.workload, Download) else 0
    return Position(
        share=shares[0],
        delay_ratio=max(trips) / min(trips) if min(trips) else math.nan,
        windows=size_bits / (total * 1000 * trip) if trip and size_bits else math.nan,
        queueing=_mean(shares, queues) / trip if trip else math.nan,
        lost_per_window=packets * _mean(shares, losses),
    )


def round_trip_ms(leg: Leg) -> float:
    """Return what both directions of a leg take, in ms; NaN where it follows a capacity."""
    if leg.downlink.delay_curve is not None:
        return math.nan
    return leg.downlink.delay_ms + leg.uplink.delay_ms


def _mean(shares: list[float], values: list[float]) -> float:
    return math.fsum(share * value for share, value in zip(shares, values, strict=True))


def _queue_ms(radio: LegSettings, rate_mbps: float) -> float:
    """Return how long a full queue takes; NaN without a limit."""
    limit = radio.queue_limit_bytes()
    bits = 8 * limit if limit is not None else PACKET_BITS * (radio.queue_packets or math.nan)
    return bits / (rate_mbps * 1000)
