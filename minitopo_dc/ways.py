"""One run, and several ways beside each other, as objects to look at and to go on with.

    one = dc.run(scenario)                        # one.goodput_mbps, one.legs, one.plot()
    dc.compare({"DC": scenario, "MP-QUIC": other}, seeds=5)

Both show themselves on a terminal and in a notebook: as numbers, as a sentence, as a picture. The
runs are kept in a directory of your own, or in one that is gone with the object. A comparison is a
campaign whose cases are ways.
"""

from __future__ import annotations

import base64
import html
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from minitopo_dc import statistics
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.executors import Workers
from minitopo_dc.campaign.store import FACTS, load
from minitopo_dc.clocks import build_missing, run_scenario
from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.numbers import significant, with_reach
from minitopo_dc.results import client_rate, leg_series, path_rates, pdcp_series
from minitopo_dc.results.files import read_numbers
from minitopo_dc.results.kept_scenario import load_as_run, load_recorded, run_id
from minitopo_dc.results.measures.account import few_losses
from minitopo_dc.results.measures.limiting_factors import unused_legs
from minitopo_dc.results.measures.named import MARGINS
from minitopo_dc.results.measures.row_pairs import KINDS, better_legs
from minitopo_dc.results.measures.verdict import (
    Finding,
    agreement,
    findings,
    of_roles,
    with_primary,
)
from minitopo_dc.results.run_result import NUMBERS, RunResult
from minitopo_dc.results.tables.runs import MODES, flat, label_of, main_measure, with_results
from minitopo_dc.results.tables.series import congestion_series
from minitopo_dc.runners.base import all_runners, get_runner
from minitopo_dc.runners.quic import is_mpquic, mpquic_stacks, stacks_of, transports_of
from minitopo_dc.scenario import Mode, Scenario
from minitopo_dc.scratch import scratch

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LABEL = "way"
"""The label of a comparison's cases."""
MAX_LISTED = 5
"""The most differences that a message lists; with more it is another comparison."""
PROTOCOLS = {"tcp": "TCP", "mptcp": "MPTCP", "quic": "QUIC", "mpquic": "MP-QUIC"}
"""What transports are, by the beginnings of their names."""
TELLING = {"pdcp.split": "{}", "pdcp.t_reordering_ms": "t-Reordering {} ms"}
"""The fields that tell ways of a kind apart before all others, each with its words."""


def over_stacks(ways: Mapping[str, Scenario], stacks: Sequence[str]) -> dict[str, Scenario]:
    """Return ways with each of some stacks of MP-QUIC in place of their own; others as they are.

    Raises:
        SettingsError: a stack is unknown, or does not fit a way.
    """
    pairs = [transports_of(stack) for stack in stacks_of(stacks)]
    made = {}
    for name, scenario in ways.items():
        if get_runner(scenario.transport).stack not in mpquic_stacks():
            made[name] = scenario
            continue
        for stack, transports in zip(stacks, pairs, strict=True):
            row = {"transport": transports[is_mpquic(scenario.transport)]}
            words = f"{name} ({stack})" if len(stacks) > 1 else name
            made[words] = scenario_of_row(scenario, row)
    return made


def scenario_of_row(base: Scenario, row: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a row: the fields in which it differs from `base`, and all others.

    A row without options has those of `base` that its transport knows.

    Raises:
        SettingsError: the two do not fit together.
    """
    known = get_runner(row["transport"]).options_type.model_fields
    options = {name: value for name, value in base.options.items() if name in known}
    return Scenario.check({**base.model_dump(), "options": options, **row}, "compare")


def ways_of(scenarios: Sequence[Scenario]) -> dict[str, Scenario]:
    """Return scenarios by the names of their ways, one leg first and multipath last.

    A name says the kind, the Dual Connectivity's name or what sets it apart from others, and, where
    several transports have that kind, which: `leg 1`, `DC (deployable, Xn 5 ms)`, `DC (papers',
    TCP)`, `MP-QUIC`.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    groups: dict[tuple[str, str], list[Scenario]] = {}
    for scenario in sorted(scenarios, key=lambda scenario: MODES.index(scenario.mode)):
        alike = groups.setdefault(
            (_kind(scenario.mode, scenario.leg, scenario.transport), scenario.transport), []
        )
        alike += [scenario] * (scenario not in alike)
    ways = {}
    for (kind, transport), alike in groups.items():
        shown = _transport(transport, [name for other, name in groups if other == kind])
        for variant, scenario in zip(_variants(alike), alike, strict=True):
            words = ", ".join(filter(None, (variant, shown)))
            ways[f"{kind} ({words})" if words else kind] = scenario
    return ways


def _kind(mode: Mode, leg: int, transport: str) -> str:
    by = _protocol(transport)
    kinds = {
        "sc": "each leg alone" if get_runner(transport).every_leg else f"leg {leg}",
        "multipath": by,
        "atsss": f"ATSSS by {by}" if by.startswith("MP") else "ATSSS-LL",
        "dc-duplicate": "DC with duplicates",
    }
    return kinds.get(mode) or KINDS.get(mode, mode)


def _protocol(transport: str) -> str:
    return PROTOCOLS.get(transport.partition("-")[0], transport)


def _transport(name: str, names: Sequence[str]) -> str:
    """Return which of several transports it is; empty: there is no other."""
    if len(names) < 2:
        return ""
    by = [_protocol(other) for other in names]
    if by.count(_protocol(name)) == 1:
        return _protocol(name)
    alike = [other for other in names if _protocol(other) == _protocol(name)]
    stacks = [get_runner(other).stack for other in alike]
    return get_runner(name).stack if mpquic_stacks().keys() >= set(stacks) else name


def _variants(alike: Sequence[Scenario]) -> list[str]:
    """Return what sets each of some scenarios of one kind and transport apart from the others."""
    names = [scenario.dc_name for scenario in alike]
    if all(names) and len(set(names)) == len(names):
        return names
    fields = list(map(scenario_fields, alike))
    return [_difference(mine, fields) for mine in fields]


def _difference(mine: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> str:
    """Return in words the fields in which a scenario differs from others."""
    differ = [key for key in mine if len({str(fields.get(key)) for fields in alike}) > 1]
    telling = [key for key in TELLING if key in differ]
    if sum(all(fields.get(key) == mine[key] for key in telling) for fields in alike) > 1:
        telling = differ
    words = []
    for key in telling:
        value = f"{mine[key]:g}" if isinstance(mine[key], float) else str(mine[key])
        words.append(TELLING.get(key, f"{key} {{}}").format(value))
    return ", ".join(words)


def other_roles(ways: Mapping[str, Scenario]) -> dict[str, Scenario]:
    """Return ways with each other primary leg, `MOST_ROLES` at most, by their `with_primary` names.

    A way whose bearers and paths stay the same, as they name their legs, is left out.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    return {
        with_primary(way, leg): other
        for way, scenario in ways.items()
        for leg in scenario.leg_numbers[1 : 1 + MOST_ROLES]
        for other in [scenario.evolve(primary_leg=leg)]
        if other.resolved_flows != scenario.resolved_flows
    }


def check_resumed(directory: Path, ways: Mapping[str, Scenario]) -> None:
    """Refuse a directory that has runs of other ways, as a comparison has one scenario for each.

    Raises:
        SettingsError: it has some; the message lists the fields that differ.
        InputError: its files are damaged, or of another version of the data model.
    """
    if not (directory / FACTS).exists():
        return
    differences = list(dict.fromkeys(_differences(directory, ways)))
    if differences:
        more = "; ..." if len(differences) > MAX_LISTED else ""
        listed = "; ".join(differences[:MAX_LISTED]) + more
        raise SettingsError(
            f"{quoted(directory)}: holds a comparison with other options: {listed}; "
            "give a new directory"
        )


def _differences(directory: Path, ways: Mapping[str, Scenario]) -> Iterator[str]:
    runs = load(directory)
    if runs.attrs["labels"] != [LABEL]:
        yield f"labels {', '.join(runs.attrs['labels'])}, here {LABEL}"
        return
    for way, run, seed in runs[runs["status"] != "missing"][[LABEL, "run", "seed"]].to_numpy():
        if way not in ways:
            yield f"{way}, which is not here"
            continue
        scenario = ways[way].model_copy(update={"seed": int(seed)})
        if Path(run).name != run_id(scenario):
            fields = differing_fields(load_recorded(directory / run), scenario)
            fields.pop("plugins", None)  # which are not read
            yield from (f"{name} {old}, here {new}" for name, (old, new) in fields.items())
            if not fields:
                yield "a trace or a plugin has changed since its runs"


def differing_fields(first: Scenario, second: Scenario) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two scenarios differ, with both values, by their paths."""
    old, new = map(scenario_fields, (first, second))
    pairs = {path: (old.get(path), new.get(path)) for path in (*old, *new)}
    return {path: values for path, values in pairs.items() if values[0] != values[1]}


def scenario_fields(scenario: Scenario) -> dict[str, Any]:
    """Return the values of a scenario's fields by their dotted paths."""
    return dict(flat(scenario.model_dump(mode="json")))


MOST_ROLES = 3
"""Other primary legs that are tried."""
ROLES = "other-roles"
"""The directory in that of a comparison with its runs with other primary legs."""
SEEDS = 5
"""Of a comparison; five give Student's t a quantile of 2.8, three one of 4.3."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has ended; what it measured, and its files as tables."""

    result: RunResult
    directory: Path

    def __getattr__(self, name: str) -> Any:
        """Return a field or a measure of the result: `status`, `goodput_mbps`, `leg_bytes_1`."""
        if name.startswith("_") or name == "result":
            raise AttributeError(name)
        if hasattr(self.result, name):
            return getattr(self.result, name)
        if name in self.result.measures:
            return self.result.measures[name]
        known = ", ".join(self.result.measures) or f"none: {self.result.reason}"
        raise AttributeError(f"no {name}; the measures of this run: {known}")

    @property
    def scenario(self) -> Scenario:
        """Return the scenario as it was run."""
        return load_as_run(self.directory)

    @property
    def client(self) -> pd.DataFrame:
        """Return what the client received over time (`client_rate`)."""
        return client_rate(self.directory)

    @property
    def legs(self) -> pd.DataFrame:
        """Return samples of the legs' queues, deliveries and losses (`leg_series`)."""
        return leg_series(self.directory)

    @property
    def pdcp(self) -> pd.DataFrame:
        """Return samples of the receiving PDCP entity (`pdcp_series`).

        Raises:
            InputError: no bearer had one, e.g. in mode multipath.
        """
        return pdcp_series(self._with("pdcp", "ue-receive.csv"))

    @property
    def paths(self) -> pd.DataFrame:
        """Return what each path of a multipath transport carried over time (`path_rates`).

        Raises:
            InputError: the transport has no paths, e.g. in mode dc.
        """
        return path_rates(self._with("paths", "paths.csv"))

    def _with(self, name: str, file: str) -> Path:
        if not (self.directory / file).exists():
            what = f"{self.result.transport} {self.result.mode}"
            raise InputError(f"{name}: a run of {what} has none")
        return self.directory

    @property
    def rows(self) -> pd.DataFrame:
        """Return what the workload did: a row a segment of a video, a frame of a call, a request.

        Raises:
            InputError: the workload has no rows, or there are several flows.
        """
        scenario = self.scenario
        if scenario.flows or scenario.workload.figure is None:
            kind = "of several flows" if scenario.flows else scenario.workload.kind
            raise InputError(f"rows: the workload of this run is {kind}, which has none")
        figure, file = scenario.workload.figure, f"{scenario.workload.kind}.csv"
        return read_numbers(self.directory, file, figure.columns)

    @property
    def connection(self) -> pd.DataFrame:
        """Return the sender's congestion window and round-trip time (`congestion_series`)."""
        return congestion_series(self.directory)

    def plot(self) -> Any:
        """Draw the run over time; see `plots.timeline`."""
        from minitopo_dc import plots  # noqa: PLC0415 (Matplotlib takes half a second)

        return plots.timeline(self)

    def __repr__(self) -> str:
        """Return the run in one line: its way, and its numbers or the reason for none."""
        words = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        if self.result.status != "ok":
            words = f"{self.result.status}: {self.result.reason}"
        return f"{self.result.transport} {self.result.mode}: {words}"

    def _repr_html_(self) -> str:
        rows = self._facts() if self.result.status == "ok" else {"reason": self.result.reason}
        table = pd.DataFrame({repr(self).partition(":")[0]: pd.Series(rows)})
        return str(table.to_html(border=0))

    def _facts(self) -> dict[str, str]:
        known = self.result.measures
        names = [*NUMBERS, *(name for name in known if name.startswith("leg_bytes_"))]
        return {label_of(name): significant(known[name]) for name in names if name in known}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Ways beside each other, over the same seeds."""

    runs: pd.DataFrame
    """A row a run, with the label `way` (`minitopo_dc.load`)."""
    directory: Path
    roles: pd.DataFrame | None = None
    """The same of the ways that are judged, with other primary legs; None: none were tried."""

    def with_roles(self, ways: Mapping[str, Scenario], seeds: Iterable[int], **how: Any) -> Self:
        """Run the judged ways with other primary legs, on the virtual clock; return all together.

        Args:
            ways: all of the comparison.
            seeds: those of the comparison.
            how: arguments of `Campaign.run`.
        """
        judged = [way for pair in self._judged for way in pair if ways[way].clock == "virtual"]
        cases = [
            (scenario, {LABEL: name})
            for name, scenario in other_roles({way: ways[way] for way in judged}).items()
        ]
        if not cases:
            return self
        more = replace(self, roles=Campaign(self.directory / ROLES, cases, seeds).run(**how))
        known = ("results", "better_legs", "findings")  # of the same runs
        vars(more).update({name: vars(self)[name] for name in known if name in vars(self)})
        return more

    @property
    def _judged(self) -> list[tuple[str, str]]:
        """Return the pairs of Dual Connectivity and multipath."""
        return [finding.main.ways for finding in self.findings if finding.protocol]

    @cached_property
    def of_roles(self) -> list[str]:
        """Return what other primary legs make of the ways that are judged."""
        if self.roles is None or not (self.roles["status"] == "ok").any():
            return []
        both = pd.concat([self.results, with_results(self.roles)], ignore_index=True)
        return [
            *of_roles(both, self._judged, len(load_as_run(Path(both["directory"].iloc[0])).legs))
        ]

    @cached_property
    def results(self) -> pd.DataFrame:
        """Return the same runs with all that their results have (`results_table`)."""
        return with_results(self.runs)

    @property
    def measure(self) -> str:
        """Return the name of the main measure: goodput, or that of the ways' workload."""
        return main_measure(self.runs, [LABEL])

    @property
    def table(self) -> pd.DataFrame:
        """Return the mean of the main measure, its 95 % interval and the runs, a row a way."""
        runs = self.runs.groupby(LABEL, sort=False)["status"].size()
        table = statistics.means(self.runs, [LABEL], self.measure).set_index(LABEL)
        table = table.reindex(runs.index).rename(columns={"mean": self.measure})
        good = table.pop("n").fillna(0).astype(int)
        return table.assign(runs=[f"{good[way]} of {runs[way]}" for way in table.index])

    @cached_property
    def better_legs(self) -> tuple[pd.DataFrame, list[str]]:
        """Return the runs without those over legs that another beats, and sentences on these."""
        return better_legs(self.results)

    @cached_property
    def findings(self) -> list[Finding]:
        """Return which ways were compared, by how much one is better, and why."""
        return findings(self.results, {runner.name: runner.stack for runner in all_runners()})

    @cached_property
    def sentences(self) -> list[str]:
        """Return what was found, first of DC and multipath, and what is to be known beside it.

        Before all else is whether what is better depends on the stack of MP-QUIC, if there are two.
        """
        found = [finding.sentence for finding in self.findings]
        margins = [MARGINS[kind] for kind in {*self.results["workload"]} & MARGINS.keys()]
        margin = max(margins, default=MARGINS["download"])
        agree = filter(None, [agreement(self.findings, margin)])
        beside = (*self.of_roles, *self.better_legs[1], *unused_legs(self.results))
        return [*agree, *found, *beside, *few_losses(self.results)]

    @property
    def sentence(self) -> str:
        """Return the first of the sentences: which way is better, and how sure that is."""
        none = "Fewer than two ways have a run that is ok: nothing to compare."
        return next(iter(self.sentences), none)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the means with their 95 % intervals; see `plots.comparison`."""
        from minitopo_dc import plots  # noqa: PLC0415

        return plots.comparison(self.runs, ax=ax)

    def __repr__(self) -> str:
        """Return the table, the sentence and what failed, as a terminal shows them."""
        lines = self.sentences or [self.sentence]
        return "\n".join([_shown(self.table).to_string(), *lines, *self.not_ok()])

    def _repr_html_(self) -> str:
        from matplotlib import pyplot  # noqa: PLC0415 (it looks for a screen, which runs need not)

        lines = [*(self.sentences or [self.sentence]), *self.not_ok()]
        words = "".join(f"<p>{html.escape(text)}</p>" for text in lines)
        file, figure = BytesIO(), self.plot().get_figure(root=True)
        assert figure is not None
        figure.savefig(file, format="png", dpi=144)
        pyplot.close(figure)  # else a notebook shows it once more below the cell
        data = base64.b64encode(file.getvalue()).decode("ascii")
        picture = f'<img alt="means with 95 % intervals" src="data:image/png;base64,{data}">'
        return _shown(self.table).to_html(border=0) + words + picture

    def not_ok(self) -> Iterator[str]:
        """Yield the ways with runs that are not ok, how many and why."""
        bad = self.runs[self.runs["status"] != "ok"]
        for (way, status, reason), runs in bad.groupby([LABEL, "status", "reason"], sort=False):
            yield f"{way}: {len(runs)} {status}: {reason}"


def run(scenario: Scenario, directory: str | Path | None = None) -> Run:
    """Run a scenario; one that fails is returned, too, with its `status` and `reason`.

    >>> one = dc.run(scenario)
    >>> one.goodput_mbps, one.legs.tail()

    Args:
        scenario: what is run, on its clock.
        directory: new, keeps the run; None: it is kept as long as what is returned.

    Raises:
        InputError: the scenario is wrong, its clock cannot run here, or the directory holds
            something.
    """
    build_missing([scenario])
    with ExitStack() as leaving:
        place = Path(directory or leaving.enter_context(scratch()))
        made = Run(run_scenario(scenario, place), place)
        weakref.finalize(made, leaving.pop_all().close)
    return made


def compare(
    ways: Mapping[str, Scenario],
    seeds: int | Iterable[int] = SEEDS,
    *,
    directory: str | Path | None = None,
    jobs: int | None = None,
    executor: Executor | Workers | None = None,
    progress: bool = True,
    stacks: Sequence[str] | None = None,
) -> Comparison:
    """Run each way with the same seeds; return the table, the sentence and the picture.

    >>> dc.compare({"DC": base, "MP-QUIC": base.evolve(transport="mpquic-picoquic")}, seeds=5)

    Args:
        ways: scenarios by the names that they shall have.
        seeds: their number, which are 1, 2, ..., or the seeds.
        directory: keeps the runs, and is gone on with if it has some; None: they are kept as long
            as what is returned.
        jobs: runs at once; None: one a processor, on the real clock one.
        executor: runs them instead, as for `Campaign.run`.
        progress: whether a bar is shown.
        stacks: of MP-QUIC, `("picoquic", "noq")`: each way over one of them runs over all of these;
            None: over its own.

    Raises:
        InputError: a scenario or a seed is wrong, or its clock cannot run here.
    """
    if len(ways) < 2:
        raise InputError(f"ways: {len(ways)}; allowed: two or more, by their names")
    if stacks is not None:
        ways = over_stacks(ways, stacks)
    numbers = range(1, seeds + 1) if isinstance(seeds, int) else [*seeds]
    cases = [(scenario, {LABEL: name}) for name, scenario in ways.items()]
    with ExitStack() as leaving:
        place = Path(directory or leaving.enter_context(scratch()))
        how: Any = {"jobs": jobs, "executor": executor, "progress": progress}
        runs = Campaign(place, cases, numbers, title="Comparison").run(**how)
        made = Comparison(runs, place).with_roles(ways, numbers, **how)
        weakref.finalize(made, leaving.pop_all().close)
    return made


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    measure = str(table.columns[0])
    reach = (table["high"] - table["low"]) / 2
    texts = list(map(with_reach, table[measure], reach))
    columns = {label_of(measure): texts, "runs ok": table["runs"]}
    return pd.DataFrame(columns, table.index).rename_axis(None)
