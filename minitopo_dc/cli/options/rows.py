"""The rows of a comparison: each transport with its modes, and the Dual Connectivities."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.cli.options import BEARER, COMPARED, MODES, SPLIT, listed
from minitopo_dc.cli.options.scenario import (
    assignments,
    base_fields,
    dc_of,
    is_below,
    put,
    with_capture,
    xn_of,
)
from minitopo_dc.clocks import default_clock
from minitopo_dc.fields import PathSchedule, SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.fields.ranges import RECEIVE_BUFFER_BYTES
from minitopo_dc.pdcp.policies.policy import policy_names, policy_parameters
from minitopo_dc.runners.base import all_runners, get_runner, runner_names
from minitopo_dc.runners.quic import mpquic_stacks, stacks_of, transports_of
from minitopo_dc.runs.check import check_rows
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Clock, Leg, Scenario
from minitopo_dc.scenario.flow import STEERING, is_proxied
from minitopo_dc.ways import scenario_of_row, ways_of
from minitopo_dc.workloads import Workload

PARAMETERS = "pdcp.parameters."
NamedFields = Callable[[str, float], dict[str, Any]]
"""A function that returns the fields of a named Dual Connectivity with a delay of Xn in ms."""


def base_scenario(arguments: argparse.Namespace) -> Scenario:
    """Return the scenario that the options describe, in its simplest mode and first split policy.

    Raises:
        SettingsError: an option's value is wrong; the message says which are allowed.
    """
    clock = arguments.clock or default_clock()
    fields = base_fields(arguments) | _bearer(arguments, _splits(arguments)[0])
    own = {"transport": "tcp", "mode": "sc", "leg": arguments.leg or 1, "clock": clock}
    return with_capture(Scenario.check({**fields, **own}, "options"), arguments, clock)


def rows(arguments: argparse.Namespace, base: Scenario) -> list[dict[str, Any]]:
    """Return each transport with those of the wanted modes that it can do, as fields of a scenario.

    Args:
        arguments: the options.
        base: what the rows have in common.

    Raises:
        SettingsError: a transport or mode is unknown, or nothing is left to run.
    """
    values = assignments(arguments)
    paths = put({}, values, "paths").get("paths")
    if paths is not None:
        paths = PathSchedule.check(paths, "--set paths")
    modes = listed(arguments.modes)
    for mode in modes:
        if mode not in MODES:
            raise SettingsError(f"--modes: {mode}; allowed: {', '.join(MODES)}")
    stacks = chosen_stacks(arguments, base.congestion_control, base.clock)
    default = _compared(base.workload, base.clock, stacks, paths)
    transports = listed(arguments.transports or default)
    for name in transports:
        if name not in runner_names():
            raise SettingsError(f"--transports: {name}; allowed: {', '.join(runner_names())}")
    made = [
        {
            "transport": name,
            "mode": mode,
            "options": _runner_options(name, values),
            "paths": paths if mode == "multipath" or is_proxied(mode, name) else None,
            **bearer,
        }
        for name in transports
        for mode in modes
        if mode in get_runner(name).modes()
        for bearer in _bearers(arguments, base.dc_fields, name, mode)
    ]
    if paths is not None and not any(row["paths"] for row in made):
        raise SettingsError("--set paths: no row of mode multipath whose transport takes them")
    if not made:
        raise SettingsError(
            "--transports, --modes: no transport here can do any of these modes "
            f"with workload {base.workload.kind} on the {base.clock} clock"
        )
    for path in [path for path in values if is_below(path, "options")]:
        if not any(path.split(".")[1] in row["options"] for row in made if "." in path):
            raise SettingsError(f"--set {path}: no transport here has the option")
    return made


def over_each_leg(given: Sequence[dict[str, Any]], legs: Sequence[Leg]) -> list[dict[str, Any]]:
    """Return the rows, with one for each leg in place of one over a single leg.

    Which of the legs is the better one is measured (`results.measures.row_pairs`). Of legs that
    are equal the first one stands for all.

    Args:
        given: the rows (`rows`).
        legs: those of all of them.
    """
    different = [n for n, leg in enumerate(legs, 1) if leg not in legs[: n - 1]]
    made = []
    for row in given:
        alone = row["mode"] == "sc" and not get_runner(row["transport"]).every_leg
        made += [row | {"leg": leg} for leg in (different if alone else [1])]
    return made


def compared_ways(arguments: argparse.Namespace, base: Scenario) -> dict[str, Scenario]:
    """Return the scenarios of a comparison by the names of their ways; checked, not yet run.

    Raises:
        InputError: an option's value is wrong, or two of them do not fit together.
    """
    compared = rows(arguments, base)
    if arguments.leg is None:
        compared = over_each_leg(compared, base.legs)
    ways = ways_of([scenario_of_row(base, row) for row in compared])
    check_rows([*ways.values()])
    return ways


def _splits(arguments: argparse.Namespace) -> list[str]:
    """Return the split policies; SettingsError: there is none, one twice, or an Xn beside them."""
    if arguments.split:
        xn_of(arguments, ())
    return _each_once("--split", arguments.split or [SPLIT])


def _each_once(option: str, given: Sequence[str]) -> list[str]:
    names = listed(given)
    if not names or len(set(names)) < len(names):
        raise SettingsError(f"{option}: {quoted(' '.join(names))}; one value or more, each once")
    return names


def _bearers(
    arguments: argparse.Namespace, fields_of: NamedFields, transport: str, mode: str
) -> list[dict[str, Any]]:
    """Return the bearers of a mode, each for a row; only `dc` and `atsss` have several."""
    if mode not in DUAL_CONNECTIVITY or is_proxied(mode, transport):
        return [{}]
    if mode == "dc" and not arguments.split:
        return list(_named(arguments, fields_of))
    policies = _splits(arguments)
    if mode == "atsss":  # `batch` is what a scenario has without a steering mode
        policies = [split for split in policies if split != SPLIT] or [STEERING]
    return [
        _bearer(arguments, split) for split in policies[: 1 if mode == "dc-duplicate" else None]
    ]


def _named(arguments: argparse.Namespace, fields_of: NamedFields) -> Iterator[dict[str, Any]]:
    """Yield the fields of each named Dual Connectivity, and over them those of `--set`."""
    names = _each_once("--dc", arguments.dc or COMPARED)
    for name in map(dc_of, names):
        fields = fields_of(name, xn_of(arguments, names))
        given = {field: value for field, value in fields.items() if value is not None}
        yield put(given, assignments(arguments), *BEARER)


def _bearer(arguments: argparse.Namespace, split: str) -> dict[str, Any]:
    """Return `pdcp` with a split policy and, where `--set` names it, `uplink_pdcp`.

    A parameter of the policy that others of a comparison have, and it has not, is left out.
    """
    values = assignments(arguments)
    has = {name: policy_parameters(name) for name in _splits(arguments)}
    for path in [path for path in values if path.startswith(PARAMETERS)]:
        name = path.removeprefix(PARAMETERS)
        if has.keys() <= set(policy_names()) and not any(name in own for own in has.values()):
            known = "; ".join(
                f"{policy}: {', '.join(own) or 'none'}" for policy, own in has.items()
            )
            raise SettingsError(f"--set {path}: no policy has {name}; {known}")
        if name not in policy_parameters(split):
            del values[path]
    return put({"pdcp": {"split": split}}, values, *BEARER)


def chosen_stacks(arguments: argparse.Namespace, control: str, clock: Clock) -> list[str]:
    """Return the stacks of MP-QUIC of a comparison's default transports.

    Raises:
        SettingsError: a stack is unknown, or transports are named, too.
    """
    if arguments.stacks is None:
        able = stacks_of(control=control)
        return able if clock == "virtual" else able[:1]
    if arguments.transports:
        raise SettingsError("--stacks: not with --transports, which name the stacks")
    return stacks_of(listed(arguments.stacks), where="--stacks")


def _compared(
    workload: Workload, clock: Clock, stacks: Sequence[str], paths: PathSchedule | None
) -> list[str]:
    """Return the default transports of a comparison: stacks of MP-QUIC, and the kernel's TCP.

    Where none of these stacks is built, aioquic's single path stands in for picoquic's.
    """
    single, _ = transports_of(stacks[0])
    lacks = len(stacks) == 1 and single == "quic-picoquic" and get_runner(single).obstacle()
    return [
        runner.name if runner.name != single or not lacks else "quic"
        for runner in all_runners()
        if runner.compared
        and (runner.stack in stacks or runner.stack not in mpquic_stacks())
        and runner.workload_obstacle(workload) is None
        and (clock == "real" or runner.has_virtual)
        and (paths is None or runner.takes_paths or not runner.multipath)
    ]


def _runner_options(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `--set` that a runner has, and the size of its receive buffer."""
    known = get_runner(name).options_type.model_fields
    default = {"options": {"receive_buffer_bytes": RECEIVE_BUFFER_BYTES}}
    given = {path: value for path, value in values.items() if path.startswith("options.")}
    options: dict[str, Any] = put(default, given)["options"]
    return {option: value for option, value in options.items() if option in known}
