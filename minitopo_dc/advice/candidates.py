"""Who is set against whom: of one stack the deployable Dual Connectivity and multipath.

One against one, both fixed before anything is run: the best of several is better than one by chance
alone. The papers' Dual Connectivity, the ideal one and each leg alone are beside them.

A difference within a workload's margin is a tie. The margin is not smaller than what the virtual
clock and real packets differ by: who decides more finely decides on an artefact of the clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from minitopo_dc.clocks import unavailable_reason
from minitopo_dc.comparison import scenario_of_row
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import significant
from minitopo_dc.results.measures.named import measure
from minitopo_dc.results.measures.row_pairs import TRANSPORTS
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import Runner, get_runner, runner_names
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import DualConnectivity, table_name
from minitopo_dc.workloads import Video, Workload

QUIC = ("quic-picoquic", "mpquic-picoquic")
"""Transports unless others are named: one stack, so that stacks are not what is compared."""
ALLOWED = (
    "allowed: two of a stack, one for dc and one for multipath: " + " ".join(QUIC) + "; tcp mptcp"
)


@dataclass(frozen=True, eq=False)
class Row:
    """One way to use the legs."""

    name: str
    """In sentences: `DC (ideal)`."""
    variant: str
    """In tables and names of directories: `ideal`."""
    scenario: Scenario


class Candidates(NamedTuple):
    """The rows of one stack."""

    name: str
    """Of the stack."""
    dual: Row
    multipath: Row
    """These two are judged."""
    others: tuple[Row, ...]
    """The papers' Dual Connectivity, and the ideal one."""
    alone: tuple[Row, ...]

    @property
    def rows(self) -> list[Row]:
        """Return the rows of the stack, as they are run."""
        return [self.dual, self.multipath, *self.others, *self.alone]


def candidates_of(base: Scenario, transports: Sequence[str], xn_ms: float) -> Candidates:
    """Return the candidates over the legs of a scenario, with these transports.

    Raises:
        SettingsError, TraceError: the transports are unknown, not two of a stack or cannot run
            here; there are no two legs; or a scenario of a row is wrong.
    """
    if len(base.legs) < 2:
        raise SettingsError(f"--legs: {len(base.legs)}; allowed: two or more")
    if unknown := [name for name in transports if name not in runner_names()]:
        raise SettingsError(f"--transports: {unknown[0]}; allowed: {', '.join(runner_names())}")
    runners = [get_runner(name) for name in transports]
    single, several = _with_mode("dc", runners), _with_mode("multipath", runners)
    if single.stack != several.stack:
        named = " ".join(transports)
        raise SettingsError(f"--transports: {named}: {single.stack}, {several.stack}; {ALLOWED}")
    candidates = _of_stack(base, single, several, xn_ms)
    for row in candidates.rows:
        check_scenario(row.scenario)
        if (reason := unavailable_reason(row.scenario)) is not None:
            name = row.scenario.transport
            raise SettingsError(f"--transports: {name} cannot run here: {reason}")
    return candidates


def _of_stack(base: Scenario, single: Runner, several: Runner, xn_ms: float) -> Candidates:
    def over(name: DualConnectivity) -> Row:
        fields, words = base.dc_fields(name, xn_ms), table_name(name, xn_ms)
        return _row(base, single, f"DC ({words})", words, mode="dc", **fields)

    alone = (
        _row(base, single, f"leg {leg} alone", f"leg {leg}", mode="sc", leg=leg)
        for leg in range(1, len(base.legs) + 1)
    )
    # A path that carries nothing fails no run: over very unequal legs a scheduler may do so.
    paths = {"each_carries": False}
    fields = {"mode": "multipath", "paths": paths if several.takes_paths else None}
    multipath = _row(base, several, TRANSPORTS.get(several.name, several.name), "", **fields)
    others = over("papers"), over("ideal")
    name = single.stack or single.name
    return Candidates(name, over("deployable"), multipath, others, tuple(alone))


def _with_mode(mode: str, runners: Sequence[Runner]) -> Runner:
    able = [runner for runner in runners if mode in runner.modes()]
    if len(able) != 1:
        named = " ".join(runner.name for runner in runners)
        raise SettingsError(f"--transports: {named}: {len(able)} can do mode {mode}; {ALLOWED}")
    return able[0]


def _row(base: Scenario, runner: Runner, name: str, variant: str, **fields: Any) -> Row:
    known = runner.options_type.model_fields
    options = {name: value for name, value in base.options.items() if name in known}
    fields = {"transport": runner.name, "options": options, **fields}
    return Row(name, variant, scenario_of_row(base, fields))


@dataclass(frozen=True)
class Criterion:
    """A measure of a run as a score, of which more is better, and when two scores are a tie.

    The score of a measure whose ratios count is its logarithm, so that means are geometric.
    """

    measure: str
    words: str
    """Behind the unit, where it is not the goodput."""
    unit: str
    is_ratio: bool
    sign: int
    """1, or -1 where less of the measure is better."""
    margin: float
    """Of a ratio the part by which it may differ from 1; of a difference in `unit`."""

    def score(self, result: RunResult) -> float:
        """Return a run's score; NaN where it failed or left a request unanswered.

        Raises:
            ResultError: a file of the run is missing or broken.
        """
        if result.status != "ok":
            return math.nan
        value = measure({**asdict(result), **result.details}, self.measure)
        if not math.isfinite(value) or (self.is_ratio and value <= 0):
            return math.nan
        value *= 100 if self.unit == "%" else 1
        return self.sign * (math.log(value) if self.is_ratio else value)

    def value(self, score: float) -> float:
        """Return the measure that has a score."""
        return math.exp(self.sign * score) if self.is_ratio else self.sign * score

    @property
    def limit(self) -> float:
        """Return the difference of scores up to which there is a tie."""
        return math.log1p(self.margin) if self.is_ratio else self.margin

    @property
    def difference_unit(self) -> str:
        """Return the unit of a difference."""
        return "%" if self.is_ratio else self.unit.replace("%", "percentage points")

    def in_unit(self, difference: float) -> float:
        """Return a difference of scores in `difference_unit`."""
        return 100 * math.expm1(difference) if self.is_ratio else difference

    def shown(self, *differences: float) -> str:
        """Return differences of scores as people read them: `4.1 to 7.6 %`."""
        values = (significant(self.in_unit(difference), 2) for difference in differences)
        return f"{' to '.join(values)} {self.difference_unit}"

    @property
    def margin_shown(self) -> str:
        """Return the margin with its unit."""
        return f"{self.in_unit(self.limit):g} {self.difference_unit}"


CRITERIA = {
    "download": Criterion("goodput_mbps", "", "Mbit/s", True, 1, 0.05),
    "request-response": Criterion("answer_p95_ms", " (95th percentile of delays)", "ms",
                                  True, -1, 0.10),
    "video": Criterion("linear_qoe_mbps", " (quality of experience)", "Mbit/s", False, 1, 0.05),
    "realtime": Criterion("late_share", " (late or lost frames)", "%", False, -1, 0.01),
}  # fmt: skip
"""By workload. Goodput: means on both clocks differ by up to 3.0 % in most rows (docs/advise.md has
where not), a ratio of two by the square root of 2 times that, rounded up. Answers: up to a tenth,
as real processes take time (docs/measurements/policies.md). Video (part of its highest bitrate) and
calls (part of all frames): this project's choice of what matters."""
MIN_MARGIN, MAX_MARGIN = 0.001, 1.0


def criterion(workload: Workload, margin_percent: float | None = None) -> Criterion:
    """Return what is judged of a workload; its margin is that of `CRITERIA` unless it is given.

    Raises:
        SettingsError: another workload, or a margin that makes no sense.
    """
    if workload.kind not in CRITERIA:
        raise SettingsError(f"--workload: {workload.kind}; allowed: {', '.join(CRITERIA)}")
    judged = CRITERIA[workload.kind]
    margin = judged.margin if margin_percent is None else margin_percent / 100
    if not MIN_MARGIN <= margin <= MAX_MARGIN:
        allowed = f"{100 * MIN_MARGIN:g} to {100 * MAX_MARGIN:g} %"
        raise SettingsError(f"--margin: {margin_percent:g}; allowed: {allowed}")
    highest_mbps = workload.content.bitrates_kbps[-1] / 1000 if isinstance(workload, Video) else 1
    return replace(judged, margin=margin * (100 if judged.unit == "%" else highest_mbps))
