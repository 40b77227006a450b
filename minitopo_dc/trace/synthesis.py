"""A synthetic LTE-like downlink, so that no download of traces is needed to begin.

For every step of time::

    rate = spectral efficiency(mean SINR + shadowing) x share of the cell

* shadowing: log-normal, i.e. Gaussian in dB, first-order Gauss-Markov with the correlation
  exp(-speed x time / correlation distance) of Gudmundson, "Correlation model for shadow fading in
  mobile radio systems", Electronics Letters 27(23), 1991;
* spectral efficiency: the attenuated and truncated Shannon bound of 3GPP TR 36.942 Annex A;
* share: 1 / (1 + n) with n other users that come and go (M/M/infinity: Poisson arrivals,
  exponential stays) and are scheduled as often as this one.

The whole is scaled to the mean that was asked for, which stands for the bandwidth. Small-scale
fading is not modelled: a step is long against its coherence time, and schedulers even it out.
`docs/traces.md` compares the statistics with measured LTE traces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from minitopo_dc.trace.model import LONGEST_S, MAX_BPS, RateTrace, in_range
from minitopo_dc.units import NS_PER_MS

_ROUND_BPS = 1_000
"""Whole kbit/s, as the measured sets have: no digit hangs on the maths library."""


_RANGES = {
    "sinr_mean_db": (-100, 100, "dB"),
    "shadowing_sd_db": (0, 50, "dB"),
    "correlation_m": (0.001, 1_000_000, "m"),
    "speed_kmh": (0, 100_000, "km/h"),
    "other_users": (0, 500, ""),
    "user_stay_s": (0.001, 1_000_000, "s"),
}
"""Wide enough for any cell; within them no exponential overflows."""


@dataclass(frozen=True, slots=True)
class CellParameters:
    """Parameters of the terminal and its cell.

    Raises:
        ValueError: a value is out of its range.
    """

    # Middle of the ten Raca files' own mean SNR, -1 to 16 dB (docs/traces.md).
    sinr_mean_db: float = 8.0
    # 3GPP TR 38.901 Table 7.4.1-1, urban macro cell without line of sight.
    shadowing_sd_db: float = 6.0
    # 3GPP TR 38.901 Table 7.5-6, the same case.
    correlation_m: float = 50.0
    # The speed for which TR 36.942 made its link curves.
    speed_kmh: float = 10.0
    # Chosen so that variation and autocorrelation lie amid the measured ones (docs/traces.md).
    other_users: float = 1.0
    user_stay_s: float = 30.0

    def __post_init__(self) -> None:
        """Refuse values outside their range with a ValueError."""
        for name, (least, most, unit) in _RANGES.items():
            in_range(name, getattr(self, name), least, most, unit)


def synthesise(
    seed: int,
    duration_s: float,
    mean_mbps: float,
    *,
    step_ms: int = 200,  # short against 1 s of the measured sets, long against a 1 ms subframe
    cell: CellParameters | None = None,
    name: str = "",
) -> RateTrace:
    """Make a trace; the same arguments give the same trace.

    Args:
        seed: of the random generator.
        duration_s: length; rounded to whole steps.
        mean_mbps: the trace's mean rate, kept to 0.5 kbit/s.
        step_ms: time between changes of the rate.
        cell: what the cell is like; None takes the defaults.
        name: of the trace; `synthetic-SEED` if empty.

    Raises:
        ValueError: less than one step, a mean that is not positive, or a trace that is zero
            throughout (the SINR never reaches -10 dB) and so cannot be scaled.
    """
    in_range("duration", duration_s, 0, LONGEST_S, "s")
    in_range("mean", mean_mbps, 0, MAX_BPS / 1e6, "Mbit/s")
    steps = round(duration_s * 1000 / step_ms) if step_ms > 0 else 0
    if steps < 1 or mean_mbps <= 0:
        raise ValueError(
            f"duration {duration_s} s, step {step_ms} ms, mean {mean_mbps} Mbit/s: needs at least "
            "one step and a mean above 0"
        )
    rng, cell = Random(seed), cell or CellParameters()
    shadowing = Shadowing(rng, cell.shadowing_sd_db)
    kept = math.exp(-cell.speed_kmh / 3.6 * (step_ms / 1000) / cell.correlation_m)
    fades = []
    for _ in range(steps):
        fades.append(shadowing.now_db)
        shadowing.move(kept)
    shares = _shares(rng, cell, steps, step_ms / 1000)
    shape = [
        spectral_efficiency(cell.sinr_mean_db + fade) * share
        for fade, share in zip(fades, shares, strict=True)
    ]
    total = math.fsum(shape)
    if total == 0:
        raise ValueError(f"seed {seed}: the SINR never reaches -10 dB, no rate to scale")
    scale = mean_mbps * 1e6 * steps / total / _ROUND_BPS
    return RateTrace(
        name=name or f"synthetic-{seed}",
        times_ns=tuple(step * step_ms * NS_PER_MS for step in range(steps)),
        rates_bps=tuple(round(value * scale) * _ROUND_BPS for value in shape),
        duration_ns=steps * step_ms * NS_PER_MS,
    )


def spectral_efficiency(sinr_db: float) -> float:
    """Return downlink throughput in bit/s per Hz at a SINR: 3GPP TR 36.942 Annex A.

    It is 0 below -10 dB, else 0.6 log2(1 + SINR), at most 4.4 (baseline E-UTRA downlink: 1 x 2
    antennas, typical urban, 10 km/h).
    """
    if sinr_db < -10.0:
        return 0.0
    return min(4.4, 0.6 * math.log2(1 + 10 ** (sinr_db / 10)))


class Shadowing:
    """A Gauss-Markov process in dB, stationary from its first value on."""

    __slots__ = ("_rng", "_sd_db", "now_db")

    def __init__(self, rng: Random, sd_db: float) -> None:
        self._rng = rng
        self._sd_db = sd_db
        self.now_db = rng.gauss(0.0, sd_db)

    def move(self, kept: float) -> None:
        """Go on to where the correlation with the last place is `kept`."""
        fresh = math.sqrt(1 - kept * kept)
        self.now_db = kept * self.now_db + fresh * self._rng.gauss(0.0, self._sd_db)


def _shares(rng: Random, cell: CellParameters, steps: int, step_s: float) -> Iterator[float]:
    """Yield 1 / (1 + number of other users) at each step, stationary from its first value on."""
    leaving = 1 - math.exp(-step_s / cell.user_stay_s)
    users = _poisson(rng, cell.other_users)
    for _ in range(steps):
        yield 1 / (1 + users)
        users -= sum(rng.random() < leaving for _ in range(users))
        users += _poisson(rng, cell.other_users * leaving)


def _poisson(rng: Random, mean: float) -> int:
    """Return a Poisson number: count factors until their product is below exp(-mean) (Knuth)."""
    bound = math.exp(-mean)
    product = rng.random()
    count = 0
    while product > bound:
        product *= rng.random()
        count += 1
    return count
