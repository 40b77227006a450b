"""Who is set against whom: of each stack Dual Connectivity in some variants, multipath in as many.

The best of three is better than the best of one by chance alone. So on both sides the same number
of variants competes, in an order that is fixed here before anything is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minitopo_dc.clocks import unavailable_reason
from minitopo_dc.comparison import scenario_of_row
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.measures.row_pairs import TRANSPORTS
from minitopo_dc.runners.base import Runner, get_runner, runner_names
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario

QUIC = ("quic-picoquic", "mpquic-picoquic")
"""Transports unless others are named: one stack, so that stacks are not what is compared."""
COUPLED = ("lia", "olia")
"""Coupled congestion controls (RFC 6356; Khalili et al., CoNEXT 2012), of transports that have
them: variants of multipath beside the one that is asked for, whose windows are not coupled."""
SPLITS = {"least-delay": "least delay", "proportional": "proportional", "batch": "1:1"}
"""Of Dual Connectivity, with their names: the adaptive ones first, which were the best ones in
docs/study.md; the papers'."""


@dataclass(frozen=True, eq=False)
class Row:
    """One way to use the legs."""

    name: str
    """In sentences: `DC (least delay)`."""
    variant: str
    """In tables and names of directories: `least-delay`."""
    scenario: Scenario


class Candidates(NamedTuple):
    """The rows of one stack; the first row of a side is the one that is expected to be its best."""

    stack: str
    alone: list[Row]
    dual: list[Row]
    multipath: list[Row]
    """As many as of Dual Connectivity."""

    @property
    def rows(self) -> list[Row]:
        """Return the rows of the stack, as they are run."""
        return [*self.alone, *self.dual, *self.multipath]


def candidates_of(base: Scenario, transports: Sequence[str]) -> list[Candidates]:
    """Return the candidates of each stack of these transports, in their order.

    Raises:
        SettingsError, TraceError: a transport is unknown, has no counterpart of its stack or cannot
            run here; there are no two legs; or a scenario of a row is wrong.
    """
    if len(base.legs) < 2:
        raise SettingsError(f"--legs: {len(base.legs)}; allowed: two or more")
    stacks: dict[str, list[Runner]] = {}
    for name in transports:
        if name not in runner_names():
            raise SettingsError(f"--transports: {name}; allowed: {', '.join(runner_names())}")
        runner = get_runner(name)
        stacks.setdefault(runner.stack or runner.name, []).append(runner)
    candidates = [_of_stack(base, stack, runners) for stack, runners in stacks.items()]
    for row in (row for stack in candidates for row in stack.rows):
        check_scenario(row.scenario)
        if (reason := unavailable_reason(row.scenario)) is not None:
            name = row.scenario.transport
            raise SettingsError(f"--transports: {name} cannot run here: {reason}")
    return candidates


def _of_stack(base: Scenario, stack: str, runners: Sequence[Runner]) -> Candidates:
    single, several = _with_mode("dc", runners), _with_mode("multipath", runners)
    alone = [
        _row(base, single, f"leg {leg} alone", f"leg {leg}", mode="sc", leg=leg)
        for leg in range(1, len(base.legs) + 1)
    ]
    dual, multipath = list(_dual(base, single)), list(_multipath(base, several))
    number = min(len(dual), len(multipath))
    return Candidates(stack, alone, dual[:number], multipath[:number])


def _with_mode(mode: str, runners: Sequence[Runner]) -> Runner:
    able = [runner for runner in runners if mode in runner.modes()]
    if len(able) != 1:
        named = " ".join(runner.name for runner in runners)
        raise SettingsError(
            f"--transports: {named}: {len(able)} of them can do mode {mode}; allowed: of a stack "
            f"one that can do dc and one that can do multipath, e.g. {' '.join(QUIC)}, tcp mptcp"
        )
    return able[0]


def _row(base: Scenario, runner: Runner, name: str, variant: str, **fields: Any) -> Row:
    """Return a row with the options of the base that its transport knows."""
    known = runner.options_type.model_fields
    options = {name: value for name, value in base.options.items() if name in known}
    fields = {"transport": runner.name, "options": options, **fields}
    return Row(name, variant, scenario_of_row(base, fields))


def _dual(base: Scenario, runner: Runner) -> Iterator[Row]:
    """Yield the splits; the adaptive ones with what makes them keep up with multipath.

    Legs that keep the order of packets tell by it what is lost.
    """
    radios = [radio for _, radio in base.directions()]
    in_order = not any(radio.reorder or (radio.rlc and not radio.rlc.in_order) for radio in radios)
    late = {"numbering": "late", "t_reordering_ms": "adaptive", "legs_keep_order": in_order}
    uplink = {"split_uplink": True, "uplink_pdcp": {"split": "least-delay", **late}}
    for split, name in SPLITS.items():
        adaptive = {"pdcp": {"split": split, **late}, **uplink}
        fields = {"pdcp": {}} if split == "batch" else adaptive
        yield _row(base, runner, f"DC ({name})", split, mode="dc", **fields)


def _multipath(base: Scenario, runner: Runner) -> Iterator[Row]:
    """Yield the windows that are not coupled first, then those that are.

    A path that carries nothing fails no run: over very unequal legs it is what a scheduler may do.
    """
    paths = {"initial": list(range(1, len(base.legs) + 1)), "each_carries": False}
    fields = {"mode": "multipath", "paths": paths if runner.takes_paths else None}
    name = TRANSPORTS.get(runner.name, runner.name)
    yield _row(base, runner, name, "", **fields)
    for control in COUPLED:
        if control in runner.congestion_controls and control != base.congestion_control:
            own = {**fields, "congestion_control": control}
            yield _row(base, runner, f"{name} ({control.upper()})", control, **own)
