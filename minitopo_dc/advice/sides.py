"""Who is set against whom: of each stack Dual Connectivity in some variants, multipath in as many.

The best of three is better than the best of one by chance alone. So on both sides the same number
of variants competes, in an order that is fixed here before anything is run; what is left over of
the longer list is run and shown, and competes with nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minitopo_dc.runners.base import Runner, get_runner, runner_names
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError

QUIC = ("quic-picoquic", "mpquic-picoquic")
"""Transports unless others are named: one stack, so that stacks are not what is compared."""
COUPLED = ("lia", "olia")
"""Coupled congestion controls (RFC 6356; Khalili et al., CoNEXT 2012), of transports that have
them: variants of multipath beside the one that is asked for, whose windows are not coupled."""
MULTIPATH_NAMES = {"mpquic-picoquic": "MP-QUIC", "mpquic": "MP-QUIC", "mptcp": "MPTCP"}


@dataclass(frozen=True)
class Row:
    """One way to use the legs."""

    name: str
    """In sentences: `Dual Connectivity with least-delay`."""
    variant: str
    """In tables and names of directories: `least-delay`."""
    fields: Mapping[str, Any]
    """Of a scenario: what differs from the base."""

    def scenario(self, base: Scenario, seed: int) -> Scenario:
        """Return the scenario of a run.

        Raises:
            SettingsError: the fields do not fit the base.
        """
        return Scenario.check({**base.model_dump(), **self.fields, "seed": seed}, "advise")


@dataclass(frozen=True)
class Sides:
    """The rows of one stack; the first row of a side is the one that is expected to be its best."""

    stack: str
    dual: tuple[Row, ...]
    multipath: tuple[Row, ...]
    """As many as of Dual Connectivity."""
    alone: tuple[Row, ...]
    """Each leg."""
    beside: tuple[Row, ...]
    """Rows that compete with nobody."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the rows of all sides."""
        return (*self.alone, *self.dual, *self.multipath, *self.beside)

    @property
    def competing(self) -> tuple[Row, ...]:
        """Return the rows of both sides."""
        return (*self.dual, *self.multipath)


def sides_of(base: Scenario, transports: Sequence[str]) -> list[Sides]:
    """Return the sides of each stack of these transports, in their order.

    Args:
        base: the legs, the workload, the congestion control.
        transports: their names; of each stack one with Dual Connectivity and one with multipath.

    Raises:
        SettingsError: a transport is unknown, or has no counterpart of its stack; or there are no
            two legs.
    """
    if len(base.legs) < 2:
        raise SettingsError(f"--legs: {len(base.legs)}; allowed: two or more")
    stacks: dict[str, list[Runner]] = {}
    for name in transports:
        if name not in runner_names():
            known = ", ".join(runner_names())
            raise SettingsError(f"--transports: {name}; allowed: {known}")
        runner = get_runner(name)
        stacks.setdefault(runner.stack or runner.name, []).append(runner)
    return [_sides(base, stack, runners) for stack, runners in stacks.items()]


def _sides(base: Scenario, stack: str, runners: Sequence[Runner]) -> Sides:
    single = _with_mode("dc", runners)
    several = _with_mode("multipath", runners)
    alone = tuple(_alone(base, single))
    dual, multipath = list(_dual(base, single)), list(_multipath(base, several))
    number = min(len(dual), len(multipath))
    return Sides(
        stack=stack,
        dual=tuple(dual[:number]),
        multipath=tuple(multipath[:number]),
        alone=alone,
        beside=(*dual[number:], *multipath[number:]),
    )


def _with_mode(mode: str, runners: Sequence[Runner]) -> Runner:
    found = [each for each in runners if mode in each.modes()]
    if len(found) != 1:
        named = " ".join(each.name for each in runners)
        raise SettingsError(
            f"--transports: {named}: {len(found)} of them can do mode {mode}; allowed: of a stack "
            f"one that can do dc and one that can do multipath, e.g. {' '.join(QUIC)}, tcp mptcp"
        )
    return found[0]


def _alone(base: Scenario, runner: Runner) -> Iterator[Row]:
    for leg in range(1, len(base.legs) + 1):
        fields = {"mode": "sc", "leg": leg}
        yield Row(f"leg {leg} alone", f"leg {leg}", _row_fields(base, runner) | fields)


def _dual(base: Scenario, runner: Runner) -> Iterator[Row]:
    """Yield the adaptive splits first, with what makes them keep up with multipath; the papers'.

    The two were the best in campaign `dc-or-multipath` (docs/measurements/designs.md).
    """
    adaptive = {"numbering": "late", "t_reordering_ms": "adaptive", "legs_keep_order": _order(base)}
    least_delay = {"split": "least-delay", **adaptive}
    proportional = {"split": "proportional", **adaptive}
    up = {"split_uplink": True, "uplink_pdcp": least_delay}
    own: list[tuple[str, dict[str, Any]]] = [
        ("least-delay", {"pdcp": least_delay, **up}),
        ("proportional", {"pdcp": proportional, **up}),
        ("batch", {"pdcp": {}}),
    ]
    for variant, fields in own:
        name = "the papers' split" if variant == "batch" else variant
        row = {"mode": "dc", **fields}
        yield Row(f"Dual Connectivity with {name}", variant, _row_fields(base, runner) | row)


def _order(base: Scenario) -> bool:
    """Say whether every leg keeps the order of packets, so that it tells what is lost."""
    return not any(
        radio.reorder or (radio.rlc is not None and not radio.rlc.in_order)
        for _, radio in base.directions()
    )


def _multipath(base: Scenario, runner: Runner) -> Iterator[Row]:
    """Yield the windows that are not coupled first, then those that are.

    A path that carries nothing fails no run: over very unequal legs it is what a scheduler may do.
    """
    paths = {"initial": list(range(1, len(base.legs) + 1)), "each_carries": False}
    name = MULTIPATH_NAMES.get(runner.name, runner.name)
    fields = {"mode": "multipath", "paths": paths if runner.takes_paths else None}
    yield Row(name, "", _row_fields(base, runner) | fields)
    for control in COUPLED:
        if control in runner.congestion_controls and control != base.congestion_control:
            own = {**fields, "congestion_control": control}
            yield Row(f"{name} ({control})", control, _row_fields(base, runner) | own)


def _row_fields(base: Scenario, runner: Runner) -> dict[str, Any]:
    """Return a row's transport, with the options of the base that it knows."""
    known = runner.options_type.model_fields
    options = {name: value for name, value in base.options.items() if name in known}
    return {"transport": runner.name, "options": options}
