"""Measures of a run by the names that campaigns have for them (docs/data-model.md).

Some of them are the criteria by which two ways are set against each other: those of each workload,
the main one first. A criterion counts as a score, of which more is better. Where ratios count it is
the logarithm, so that means of scores are geometric ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from minitopo_dc.errors import InputError, did_you_mean
from minitopo_dc.files import once_a_version
from minitopo_dc.numbers import short, significant
from minitopo_dc.registry import enter
from minitopo_dc.results.files import naming
from minitopo_dc.results.measures import account, delays, recovery, utilisation
from minitopo_dc.results.run_result import NUMBERS
from minitopo_dc.results.tables.runs import is_better_low, main_measure, name_and_unit

Read = Callable[[Path], Mapping[str, float]]
"""A function that reads measures of a run from its directory."""
Row = Mapping[Any, Any]
"""A run's row in a table, with its `directory`."""
THROUGHPUT = "throughput_mbps"
"""The throughput of a download, from its first byte on: the handshake's time does not count."""
UTILISATION = re.compile("utilisation_leg_([0-9]{1,3})")
ROW_SETTINGS = ("seed", "size_bytes")
"""Numbers of a run's row that were asked for, not measured."""
_ADDED: dict[str, Read] = {}
"""What scripts and plugins have added, by the names of the measures."""


FROM_FILES: dict[str, Callable[[Path], float]] = {
    "reordering_wait_ms": account.reordering_wait_ms,
    "given_up": account.given_up,
    "answer_worst_ms": delays.answer_worst_ms,
    "answer_p95_ms": delays.answer_p95_ms,
    "recovery_s": recovery.worst_recovery_s,
    "leg_bytes_per_byte": utilisation.leg_bytes_per_byte,
    "lost_percent": lambda run: 100 * account.packet_account(run).lost_share,
    "handovers_per_minute": recovery.handovers_per_minute,
    "handover_recovery_s": recovery.handover_recovery_s,
    **{name: partial(delays.smoothed_rtt_ms, name=name) for name in delays.RTT_MEASURES},
    **{name: partial(delays.part_delay_ms, name=name) for name in delays.PART_MEASURES},
}
"""Measures of a run's directory by their names."""
PLAIN = (
    *(*NUMBERS, THROUGHPUT, "jain_index", *FROM_FILES),
    *("wall_s", "started_s", "first_byte_s", "client_cpu_s", "server_cpu_s"),
)
"""Names of measures; the last ones are in most runs' `details`."""


def is_known(name: str) -> bool:
    """Return whether a name is a measure's, whatever the transport and the workload.

    Any other name may still be that of a number that a transport or a program reports (`details`).
    """
    plain = name in PLAIN or name in ROW_SETTINGS or name in _ADDED
    return plain or UTILISATION.fullmatch(name) is not None


def run_measures(*names: str) -> Callable[[Read], Read]:
    """Register a function as measures of runs, for `with_measures`; it is a decorator.

    >>> @dc.run_measures("first_byte_ms")
    ... def first_byte(run: Path) -> dict[str, float]:
    ...     return {"first_byte_ms": 1000 * dc.results.RunResult.load(run).measures["first_byte_s"]}

    Args:
        names: the measures that the function returns of the directory of a run that is ok.

    Raises:
        ValueError: a name is taken, unless by the same function.
    """

    def register(read: Read) -> Read:
        for name in names:
            if name not in _ADDED and is_known(name):
                raise ValueError(f"there is a measure {name!r} already")
            enter("measure", _ADDED, name, read)
        return read

    return register


@once_a_version(4096, "result.json")  # a run may be repeated in its place
def _added(run: Path, read: Read) -> Mapping[str, float]:
    """Return the measures of a run, each of which is asked for by itself."""
    return read(run)


def measure(row: Row, name: str) -> float:
    """Return a run's measure, from its row, else from its files; NaN when it has no such measure.

    Raises:
        ResultError: it should be in a file that is missing or broken.
    """
    run = Path(row.get("directory", "a run"))
    with naming(run):
        if name in _ADDED:
            return _added(run, _ADDED[name]).get(name, math.nan)
        if name in FROM_FILES:
            return FROM_FILES[name](run)
        if match := UTILISATION.fullmatch(name):
            return utilisation.leg_utilisation(run, int(match[1]))
        if name != THROUGHPUT:
            return _float(row.get(name))
        seconds = _float(row.get("completion_s")) - _float(row.get("first_byte_s"))
        return _float(row.get("size_bytes")) * 8 / seconds / 1e6 if seconds else math.nan


def with_measures(runs: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return a campaign's table with more measures, read from the files of its runs.

    >>> runs = dc.results.with_measures(dc.load("results/mine"), "reordering_wait_ms")

    Args:
        runs: of `Campaign.run` or `load`.
        names: the measures (docs/data-model.md); a run that is not ok, or has none, gets NaN.

    Raises:
        InputError: there is no such measure.
        ResultError: it should be in a file of a run that is missing or broken.
    """
    for name in names:
        if not is_known(name):
            known = (*PLAIN, *_ADDED)
            hint = did_you_mean(name, known)
            raise InputError(f"no measure {name}; {hint}{hint and '; '}known: {', '.join(known)}")
    root = Path(runs.attrs.get("directory", ""))
    rows = [
        {**row, "directory": root / row["run"]} if row["status"] == "ok" else None
        for row in runs.to_dict("records")
    ]
    columns = {
        name: [math.nan if row is None else measure(row, name) for row in rows] for name in names
    }
    return runs.assign(**columns)


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)


@dataclass(frozen=True)
class Criterion:
    """A measure of a run that is judged."""

    measure: str
    words: str
    unit: str
    is_ratio: bool = True
    """Whether ratios count, not differences."""
    sign: Literal[1, -1] = 1
    """1, or -1 where less of the measure is better."""
    better: Literal["faster", "higher", "lower"] = "faster"
    """What the better one is, of a ratio."""
    margin: float = 0.0
    """Up to which two ways tie: of a ratio the part by which it may differ from 1; else in `unit`,
    of a video's bitrates a part of what it is judged by (docs/advise.md)."""

    @property
    def limit(self) -> float:
        """Return the difference of scores up to which there is a tie."""
        return math.log1p(self.margin) if self.is_ratio else self.margin

    @property
    def margin_shown(self) -> str:
        """Return the margin with its unit."""
        return f"{self.in_unit(self.limit):g} {self.difference_unit}"

    def number(self, row: Mapping[Any, Any]) -> float:
        """Return the measure of a run in `unit`; NaN where it failed or has none.

        Args:
            row: of a table of runs, with the run's `directory` if it is to be read from files.

        Raises:
            ResultError: a file of the run is missing or broken.
        """
        if row["status"] != "ok":
            return math.nan
        number = measure(row, self.measure)
        return number * 100 if self.unit == "%" else number

    def score(self, number: float) -> float:
        """Return the score of a measure; NaN where it cannot count."""
        if not math.isfinite(number) or (self.is_ratio and number <= 0):
            return math.nan
        return self.sign * (math.log(number) if self.is_ratio else number)

    def scored(self, runs: pd.DataFrame) -> pd.DataFrame:
        """Return a table of runs with their `number` and their `score`; errors are of `number`."""
        numbers = [self.number(row) for row in runs.to_dict("records")]
        return runs.assign(number=numbers, score=[self.score(number) for number in numbers])

    def value(self, score: float) -> float:
        """Return the measure that has a score."""
        return math.exp(self.sign * score) if self.is_ratio else self.sign * score

    @property
    def difference_unit(self) -> str:
        """Return the unit of a difference."""
        return "%" if self.is_ratio else self.unit.replace("%", "percentage points")

    def in_unit(self, difference: float) -> float:
        """Return a difference of scores in `difference_unit`."""
        return 100 * math.expm1(difference) if self.is_ratio else difference

    def shown(self, *differences: float) -> str:
        """Return differences of scores, as the ends of an interval: `4.1 to 7.6 %`, `0.7 times`.

        Of what is lower they are parts of the higher one.
        """
        if not self.is_ratio:
            unit, texts = self.difference_unit, [significant(end, 2) for end in differences]
        elif self.better == "lower":
            unit, texts = "%", [short(-100 * math.expm1(-end)) for end in differences]
        elif max(map(abs, differences)) >= TWICE:
            unit, texts = "times", [short(math.exp(end)) for end in differences]
        else:
            unit, texts = "%", [short(self.in_unit(end)) for end in differences]
        return f"{' to '.join(texts)} {unit}".rstrip()

    def by(self, difference: float) -> str:
        """Return by how much the better one is better: `12 % faster`, `11 times as fast`.

        Args:
            difference: of the scores, not below 0.
        """
        far = self.shown(difference)
        if far.endswith("times"):
            return f"{far} as {self.better.removesuffix('er')}"
        return f"{far} {self.better if self.is_ratio else 'better'}"


TWICE = math.log(1.995)
"""The difference of logarithms from which on a ratio is told as a factor: 2 in two digits."""
MARGINS = {"download": 0.05, "request-response": 0.10, "video": 0.05, "realtime": 0.01}
"""The differences up to which there is a tie. Goodput: means on both clocks differ by up to 3.0 %
in most rows (docs/advise.md has where not), a ratio of two by the square root of 2 times that,
rounded up. Answers: up to a tenth, as real processes take time (docs/measurements/policies.md).
Video (part of its highest bitrate) and calls (part of all frames): this project's choice of what
matters."""
GOODPUT = Criterion("goodput_mbps", "goodput", "Mbit/s", margin=MARGINS["download"])
ANSWERS = Criterion(
    "answer_p95_ms", "95th percentile of delays", "ms", sign=-1, margin=MARGINS["request-response"]
)
_PARTS = {"p50": "median", "p95": "95th percentile", "p99": "99th percentile"}
CRITERIA = {
    "download": (GOODPUT,),
    "request-response": (ANSWERS,),
    "video": (
        Criterion("linear_qoe_mbps", "quality of experience", "Mbit/s", False, margin=0.25),
        Criterion("stalls", "stalls", "", False, sign=-1, margin=0.5),
        Criterion("stall_s", "time stalled", "s", False, sign=-1, margin=0.5),
        Criterion("bitrate_mbps", "bitrate", "Mbit/s", False, margin=0.25),
    ),
    "realtime": (
        Criterion(
            "late_share", "late or lost frames", "%", False, -1, margin=100 * MARGINS["realtime"]
        ),
        *(
            Criterion(
                f"frame_delay_{part}_ms", f"{words} of frame delay", "ms", False, -1, margin=10
            )
            for part, words in _PARTS.items()
        ),
        Criterion("freezes", "freezes", "", False, sign=-1, margin=0.5),
    ),
}
"""By workload."""


def criteria_of(results: pd.DataFrame) -> tuple[Criterion, ...]:
    """Return what is judged of a comparison's runs (`results_table`).

    It is the goodput where there is one, as of a user's own download, and else what the workload
    has; of any other workload, or of several, the main measure of the runs.
    """
    if results["goodput_mbps"].notna().any():
        return CRITERIA["download"]
    kinds = set(results[results["status"] == "ok"]["workload"])
    if len(kinds) == 1 and (known := CRITERIA.get(kinds.pop())):
        return known
    name = main_measure(results, results.attrs.get("labels", ()))
    words, unit = name_and_unit(name)
    if is_better_low(name):
        return (Criterion(name, words, unit, sign=-1, better="lower"),)
    return (Criterion(name, words, unit, better="higher"),)
