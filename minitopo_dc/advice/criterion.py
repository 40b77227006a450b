"""What is judged of a workload, and by how much two ways to use the legs must differ.

A difference within the margin is a tie. The margin is not smaller than what the virtual clock and
real packets differ by: who decides more finely decides on an artefact of the clock.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from minitopo_dc.analysis.measures.named import measure
from minitopo_dc.numbers import significant
from minitopo_dc.runs.results import RunResult
from minitopo_dc.settings import SettingsError
from minitopo_dc.statistics import Interval, Outcome, outcome
from minitopo_dc.workloads import Video, Workload

MARGINS = {"download": 0.05, "request-response": 0.10, "video": 0.05, "realtime": 0.01}
"""By workload. Goodput: means on both clocks differ by up to 3.0 % in most rows (docs/advise.md has
where not), a ratio of two by the square root of 2 times that, rounded up. Answers: up to a tenth,
as real processes take time (docs/measurements/policies.md). Video and calls: a twentieth of the
highest bitrate, and one frame of 100, are this project's choice of what matters."""
MIN_MARGIN, MAX_MARGIN = 0.001, 1.0
Kind = Literal["ratio", "difference"]


@dataclass(frozen=True)
class Criterion:
    """A number of a run, and when two of them are a tie."""

    name: str
    """Of the measure: a field of the result, or a measure of campaigns."""
    words: str
    unit: str
    """Of the number."""
    kind: Kind
    """Of a ratio the difference is the logarithm of one to the other."""
    lower_is_better: bool
    margin: float
    """Of a ratio the part by which it may differ from 1; of a difference in the number's unit."""

    def value(self, result: RunResult) -> float:
        """Return a run's number; NaN where it has none, as it failed or left a request unanswered.

        Raises:
            ResultError: a file of the run is missing or broken.
        """
        if result.status != "ok":
            return math.nan
        found = measure({**asdict(result), **result.details}, self.name)
        known = math.isfinite(found) and (self.kind == "difference" or found > 0)
        return found if known else math.nan

    def difference(self, first: float, second: float) -> float:
        """Return by how much the first is more than the second."""
        return math.log(first / second) if self.kind == "ratio" else first - second

    def mean(self, values: Sequence[float]) -> float:
        """Return the mean of runs: geometric for a ratio, so that it fits `difference`.

        It is NaN without runs, or where one has no number.
        """
        if not values or any(map(math.isnan, values)):
            return math.nan
        ratio = self.kind == "ratio"
        return statistics.geometric_mean(values) if ratio else statistics.fmean(values)

    def best(self, means: Mapping[str, float]) -> str | None:
        """Return the name of the best mean that is a number, of equal ones the first."""
        sign = -1 if self.lower_is_better else 1
        known = (name for name, mean in means.items() if not math.isnan(mean))
        return max(known, key=lambda name: sign * means[name], default=None)

    def outcome(self, interval: Interval) -> Outcome:
        """Say what the interval of a difference shows of the first."""
        if self.lower_is_better:
            interval = Interval(-interval.high, -interval.low, interval.method)
        return outcome(interval, self.limit)

    @property
    def limit(self) -> float:
        """Return the difference up to which there is a tie."""
        return math.log1p(self.margin) if self.kind == "ratio" else self.margin

    def outcome_of(self, difference: float) -> Outcome:
        """Say what a difference shows that is taken as it is."""
        return self.outcome(Interval(difference, difference, "none"))

    def shown(self, difference: float) -> str:
        """Return a difference as people read it, without its unit: `+0.5`."""
        value = self.in_unit(difference)
        return f"{'+' if value > 0 else ''}{_short(value)}"

    def in_unit(self, difference: float) -> float:
        """Return a difference in `difference_unit`."""
        if self.kind == "ratio":
            return 100 * math.expm1(difference)
        return difference * self.scale

    @property
    def difference_unit(self) -> str:
        """Return the unit of what `shown` returns."""
        if self.kind == "ratio":
            return "%"
        return "percentage points" if self.unit == "%" else self.unit

    @property
    def scale(self) -> float:
        """Return what a number is to be multiplied by for its unit."""
        return 100.0 if self.unit == "%" else 1.0

    @property
    def margin_shown(self) -> str:
        """Return the margin with its unit."""
        value = 100 * self.margin if self.kind == "ratio" else self.scale * self.margin
        return f"{value:g} {self.difference_unit}"


def criterion(workload: Workload, margin_percent: float | None = None) -> Criterion:
    """Return what is judged of a workload.

    Args:
        workload: a download, requests and answers, a video or a call.
        margin_percent: of goodput, of an answer's delay, of a video's highest bitrate, or of a
            call's frames; None: `MARGINS`.

    Raises:
        SettingsError: another workload, or a margin that makes no sense.
    """
    if workload.kind not in MARGINS:
        raise SettingsError(f"--workload: {workload.kind}; allowed: {', '.join(MARGINS)}")
    margin = MARGINS[workload.kind] if margin_percent is None else margin_percent / 100
    if not MIN_MARGIN <= margin <= MAX_MARGIN:
        allowed = f"{100 * MIN_MARGIN:g} to {100 * MAX_MARGIN:g} %"
        raise SettingsError(f"--margin: {margin_percent:g}; allowed: {allowed}")
    common: dict[str, Any] = {"margin": margin, "kind": "ratio", "lower_is_better": False}
    if isinstance(workload, Video):
        common |= {"kind": "difference", "margin": margin * _highest_mbps(workload)}
        return Criterion("linear_qoe_mbps", "quality of experience", "Mbit/s", **common)
    if workload.kind == "request-response":
        common |= {"lower_is_better": True}
        return Criterion("answer_p95_ms", "95th percentile of the answers' delays", "ms", **common)
    if workload.kind == "realtime":
        common |= {"kind": "difference", "lower_is_better": True}
        return Criterion("late_share", "late or lost frames", "%", **common)
    return Criterion("goodput_mbps", "goodput", "Mbit/s", **common)


def _highest_mbps(video: Video) -> float:
    return video.content.bitrates_kbps[-1] / 1000


def _short(value: float) -> str:
    """Return a difference with two digits, and no more than one behind the point from 1 on."""
    return f"{value:.1f}" if abs(value) >= 1 else significant(value, 1 if abs(value) < 0.1 else 2)
