"""The sentences of a comparison: how much better one way is, how sure that is, and why.

`minitopo-dc compare` and `dc.compare` both say it by these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from minitopo_dc.numbers import significant


class Ratio(NamedTuple):
    """The ratio of a measure of two ways over pairs of runs, first to second."""

    mean: float
    low: float
    high: float
    """The ends of its 95 % interval; NaN of one pair."""
    pairs: int
    seeds: int
    """The number of seeds that were asked for: with more than `pairs`, runs are not ok."""

    @property
    def is_seen(self) -> bool:
        """Return whether it differs from 1 in three digits."""
        return f"{self.mean:.3g}" != "1"

    @property
    def is_clear(self) -> bool:
        """Return whether the two differ; one pair never tells."""
        return self.is_seen and (self.low > 1 or self.high < 1)

    def inverse(self) -> Ratio:
        """Return the ratio of the second to the first."""
        return self._replace(mean=1 / self.mean, low=1 / self.high, high=1 / self.low)


def difference_sentence(
    names: tuple[str, str],
    means: tuple[float, float],
    unit: str,
    ratio: Ratio,
    better: str = "faster",
    *,
    low_is_better: bool = False,
) -> str:
    """Return which of two ways is better, by how much, and how sure that is.

    Args:
        names: of the two ways.
        means: of each, in `unit`.
        unit: of the measure.
        ratio: first to second.
        better: what the better one is: `faster`, `lower`.
        low_is_better: whether the lower one is the better.
    """
    shown = ", ".join(
        f"{name} {significant(mean)}" for name, mean in zip(names, means, strict=True)
    )
    if (ratio.mean < 1) != low_is_better and not ratio.low <= 0:
        names, ratio = names[::-1], ratio.inverse()
    far = f"{names[0]} is {_short(abs(100 * (ratio.mean - 1)))} % {better}"
    seeds = seeds_text(ratio.pairs, ratio.seeds)
    if math.isnan(ratio.low):
        words = f"{far if ratio.is_seen else 'no difference'} ({seeds}, so no interval)"
    elif math.isclose(ratio.low, ratio.high, rel_tol=1e-9):
        words = f"{far if ratio.is_seen else 'no difference'} (the same with {seeds})"
    elif ratio.is_clear:
        words = f"{far} ({_range(ratio)} %, {seeds})"
    else:
        words = f"no clear difference ({_range(ratio)} %, {seeds})"
    return f"{f'{shown} {unit}'.rstrip()}: {words}."


def _range(ratio: Ratio) -> str:
    """Return the interval of a ratio as that of a difference in percent, without a common sign."""
    ends = [100 * (end - 1) for end in (ratio.low, ratio.high)]
    if ends[0] * ends[1] > 0:
        ends = sorted(map(abs, ends))
    return " to ".join(map(_short, ends))


def _short(number: float) -> str:
    """Return a number with two digits, or all before the point."""
    return f"{number:.0f}" if abs(number) >= 10 else f"{number:.2g}"


def seeds_text(pairs: int, seeds: int) -> str:
    """Return of how many of all seeds both rows have a run: `3 seeds`, `2 of 3 seeds`."""
    if pairs < seeds:
        return f"{pairs} of {seeds} seeds"
    return "1 seed" if pairs == 1 else f"{pairs} seeds"


class _Reason(NamedTuple):
    did: str
    """What the worse way did."""
    unit: str
    scale: float = 1


REASONS: Mapping[str, _Reason] = {
    "waiting": _Reason("let packets wait longer behind late or lost ones", " round trips"),
    "needless": _Reason("took late packets for lost ones", " times"),
    "lost": _Reason("lost more packets", " %", 100),
    "bytes_per_byte": _Reason("carried more bytes for the same file", " a byte"),
    "late": _Reason("began late on its second leg", " % of the time", 100),
    "idle": _Reason("left a leg without data for longer", " % of the time", 100),
    "uneven": _Reason("filled one leg while another had room", " %", 100),
}
"""What each number of `signs.Signs` says of the worse way, with its unit."""


def reason_sentence(worse: str, name: str, value: float, other: float) -> str:
    """Return why a way was worse.

    Args:
        worse: the name of that way.
        name: the number that tells it (`REASONS`).
        value: the number.
        other: that of the better way; NaN: it has none.
    """
    did, unit, scale = REASONS[name]
    shown = f"{_short(value * scale)}{unit}"
    if not math.isnan(other):
        shown += f" for {_short(other * scale)}{' %' if unit.startswith(' %') else ''}"
    return f"{worse} {did} ({shown})."
