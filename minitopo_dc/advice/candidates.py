"""Who is set against whom: of one stack the deployable Dual Connectivity and multipath.

One against one, both fixed before anything is run: the best of several is better than one by chance
alone. The papers' Dual Connectivity, the ideal one and each leg alone are beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minitopo_dc.clocks import unavailable_reason
from minitopo_dc.comparison import scenario_of_row
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.measures.row_pairs import TRANSPORTS
from minitopo_dc.runners.base import Runner, get_runner, runner_names
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.presets import DualConnectivity, dual_connectivity, table_name

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
        fields, words = dual_connectivity(name, base.legs, xn_ms), table_name(name, xn_ms)
        return _row(base, single, f"DC ({words})", words, mode="dc", **fields)

    alone = (
        _row(base, single, f"leg {leg} alone", f"leg {leg}", mode="sc", leg=leg)
        for leg in range(1, len(base.legs) + 1)
    )
    # A path that carries nothing fails no run: over very unequal legs a scheduler may do so.
    paths = {"initial": list(range(1, len(base.legs) + 1)), "each_carries": False}
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
    """Return a row with the options of the base that its transport knows."""
    known = runner.options_type.model_fields
    options = {name: value for name, value in base.options.items() if name in known}
    fields = {"transport": runner.name, "options": options, **fields}
    return Row(name, variant, scenario_of_row(base, fields))
