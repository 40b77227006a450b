"""Options that several commands share, and the scenario that they make."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from minitopo_dc.cli.options import assignments, leg_capacity, quantities
from minitopo_dc.cli.options.assignments import OF_ROWS, is_below
from minitopo_dc.cli.options.pdcp import add_split_option, bearer_fields, listed, splits
from minitopo_dc.link import DelayCurve
from minitopo_dc.numbers import whole
from minitopo_dc.plugins import load_plugins
from minitopo_dc.runners.base import all_runners, get_runner, runner_names
from minitopo_dc.runs.attempts import MAX_DISTURBED, Retries
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Clock, Mode, Scenario
from minitopo_dc.settings import LegSettings, PathSchedule, SettingsError, defaults
from minitopo_dc.shipped import shipped
from minitopo_dc.workloads import Download, Workload, parse_workload, workload_names

EMBEDDED = shipped("traces")
DEFAULT_LEGS = (str(EMBEDDED / "lte_a.csv"), str(EMBEDDED / "lte_b.csv"))
MODES: tuple[Mode, ...] = ("sc", "dc", "dc-duplicate", "multipath")
COMPARED_MODES: tuple[Mode, ...] = ("sc", "dc", "multipath")
BOTH = {"delay": "delay_ms", "jitter": "jitter_ms", "loss": "loss_percent"} | {
    "queue": "queue_packets"
}
"""Options of both directions, with their fields."""
CHOSEN = ("transport", "mode", "leg", "clock")
"""Fields that the rows of a comparison differ in, by options of their own."""


def add_leg_options(parser: argparse.ArgumentParser, legs: tuple[str, ...] = DEFAULT_LEGS) -> None:
    """Add the options of legs: one value for all legs, or one per leg."""
    shown = " ".join(Path(leg).name for leg in legs)
    group = parser.add_argument_group(
        "legs (one value for all, or one a leg; numbers may have a unit: 8ms, 20Mbit, 0.1%)"
    )
    group.add_argument(
        "--legs",
        nargs="+",
        default=legs,
        metavar="LEG",
        help="downlinks: a rate in Mbit/s, a trace file, or RECORDING for RECORDING.down and "
        f"RECORDING.up (default: {shown})",
    )
    group.add_argument(
        "--uplink",
        nargs="+",
        metavar="LEG",
        help="uplinks: a rate in Mbit/s or a trace file (default: RECORDING.up, or "
        f"{defaults.UPLINK_MBPS:g})",
    )
    curves = ", ".join(get_args(DelayCurve))
    for name, unit, what in (
        ("delay", "MS", f"one-way delay, or its curve over the capacity: {curves}"),
        ("jitter", "MS", "standard deviation of the delay"),
        ("loss", "PERCENT", "random loss"),
        ("queue", "PACKETS", "limit of the drop-tail queue"),
    ):
        help_text = f"{what} ({_facts(BOTH[name])})".replace("%", "%%")
        group.add_argument(f"--{name}", nargs="+", metavar=unit, help=help_text)
    leg_capacity.add(group)


def _facts(name: str) -> str:
    """Return the range and the default of a field of legs, as the field itself has them."""
    field = LegSettings.model_fields[name]
    return "; ".join(filter(None, (field.description, f"default: {field.default:g}")))


def add_clock_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses the clock of the runs."""
    parser.add_argument(
        "--clock",
        choices=get_args(Clock),
        help="real: Linux kernels in real time, needs root; virtual: discrete events "
        "(default: real where this machine can run it)",
    )


def add_plugin_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that loads a user's own runners, workloads and split policies."""
    parser.add_argument(
        "--plugin",
        dest="plugins",
        action="append",
        default=[],
        metavar="MODULE",
        help="Python module or file.py with your runners, workloads or split policies; repeatable",
    )


def add_jobs_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of runs at once (`chosen_jobs`)."""
    parser.add_argument(
        "--jobs",
        type=whole,
        metavar="N",
        help="number of runs at the same time (default: on the virtual clock one per processor, on "
        "the real clock 1)",
    )


def add_output_option(
    parser: argparse.ArgumentParser, command: str, condition: str = "must not exist"
) -> None:
    """Add the option for where `new_directory` puts a command's results, and what may be there."""
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help=f"results directory; {condition} (default: results/{command}-TIME)",
    )


def add_retry_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for how often a run is repeated that the machine disturbed."""
    parser.add_argument(
        "--retry-disturbed",
        type=whole,
        default=Retries.disturbed,
        metavar="N",
        help="repeat a run that the machine disturbed at most N times (docs/trust.md; allowed: 0 "
        f"to {MAX_DISTURBED}; default: {Retries.disturbed})",
    )


def add_minitopo_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add Minitopo's two files, by the names that they have on its own command line.

    Without an experiment, Minitopo's command line and this one open Mininet's.
    """
    add_topology_option(parser, required=required)
    parser.add_argument(
        *("-x", "--experiment_param_file"),
        dest="experiment",
        type=Path,
        metavar="XP",
        help="Minitopo's experiment file (docs/minitopo.md); without it "
        "Mininet's command line opens",
    )


def add_topology_option(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the option for Minitopo's topology file alone."""
    parser.add_argument(
        *("-t", "--topo_param_file"),
        dest="topology",
        type=Path,
        required=required,
        metavar="TOPO",
        help="Minitopo's topology file (docs/minitopo.md)",
    )


def add_capture_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that makes the elements write captures."""
    parser.add_argument(
        "--pcap",
        dest="capture",
        action="store_const",
        const=("legs",),
        default=(),
        help="write a capture of each leg with PDCP headers for Wireshark; real clock only "
        "(docs/element.md)",
    )


def check_capture(arguments: argparse.Namespace, clock: Clock | None) -> None:
    """Refuse `--pcap` on the virtual clock, with a SettingsError."""
    if arguments.capture and clock == "virtual":
        raise SettingsError("--pcap: needs --clock real; the virtual clock captures nothing")


def with_capture(scenario: Scenario, arguments: argparse.Namespace) -> Scenario:
    """Return a scenario that is captured as well if `--pcap` is given."""
    capture = tuple(dict.fromkeys((*scenario.real.capture, *arguments.capture)))
    real = scenario.real.model_copy(update={"capture": capture})
    return scenario.model_copy(update={"real": real})


def add_transfer_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is compared, and what is transferred."""
    group = parser.add_argument_group("what is compared")
    group.add_argument(
        "--transports",
        nargs="+",
        metavar="NAME",
        help=f"of {', '.join(each.label for each in all_runners())} (default: "
        f"{' '.join(each.name for each in all_runners() if each.compared)}, where they can run)",
    )
    group.add_argument(
        "--modes",
        nargs="+",
        default=COMPARED_MODES,
        metavar="MODE",
        help=f"of {', '.join(MODES)} (default: {' '.join(COMPARED_MODES)})",
    )
    group.add_argument(
        "--leg",
        type=whole,
        metavar="N",
        help="leg of mode sc (default: each runs, and the table has the better one)",
    )
    add_split_option(group, several=True)
    add_load_options(parser.add_argument_group("transfer"), (*CHOSEN, "pdcp.split"))


ADVISED = (*CHOSEN, *OF_ROWS, "split_uplink")
"""Fields that `advise` chooses by itself."""


def add_load_options(group: argparse._ArgumentGroup, chosen: Sequence[str] = ADVISED) -> None:
    """Add what is transferred, whoever does it, and `--set` without the fields that are chosen."""
    group.add_argument(
        "--size",
        type=quantities.of("mb"),
        metavar="MB",
        help=f"size of a download in 10^6 bytes (default: {Download().size_mb:g})",
    )
    group.add_argument(
        "--workload",
        default="download",
        metavar="NAME[:KEY=VALUE,...]",
        help=f"of {', '.join(workload_names())} (docs/workloads.md; default: download)",
    )
    group.add_argument(
        "--congestion-control",
        default=defaults.CONGESTION_CONTROL,
        metavar="NAME",
        help=f"that of the transports (docs/runners.md; default: {defaults.CONGESTION_CONTROL})",
    )
    add_seed_option(group)
    assignments.add(group, chosen)


def add_seed_option(parser: argparse._ActionsContainer) -> None:
    """Add the option for the seed of losses and jitter."""
    words = "of losses and jitter; repetition i has SEED + i - 1 (default: 1)"
    parser.add_argument("--seed", type=whole, default=1, help=words)


def base_scenario(arguments: argparse.Namespace) -> Scenario:
    """Return the scenario that the options describe, in its simplest mode and first split policy.

    Raises:
        SettingsError: an option's value is wrong; the message says which are allowed.
    """
    fields = base_fields(arguments) | bearer_fields(arguments, splits(arguments)[0])
    own = {"transport": "tcp", "mode": "sc", "leg": arguments.leg or 1}
    return with_capture(Scenario.check({**fields, **own}, "options"), arguments)


def base_fields(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the legs, what is transferred and what `--set` says, as fields of a scenario.

    Left out are the fields that the rows of a comparison have.

    Raises:
        SettingsError: an option's value is wrong, with the allowed ones.
    """
    plugins, workload = load_plugins(arguments.plugins), _workload(arguments)
    fields = {
        "plugins": plugins,
        "legs": leg_settings(arguments),
        "workload": {"kind": workload.kind, **workload.model_dump()},
        "congestion_control": arguments.congestion_control,
        "seed": arguments.seed,
    }
    values = assignments.assignments(arguments)
    of_all = {path: value for path, value in values.items() if not is_below(path, *OF_ROWS)}
    return assignments.put(fields, of_all)


def _workload(arguments: argparse.Namespace) -> Workload:
    """Return the workload of `NAME:key=value,key=value`; `--size` is that of a download."""
    kind, _, rest = arguments.workload.partition(":")
    given = [part.partition("=") for part in rest.split(",") if part]
    for key, equals, _ in given:
        if not equals:
            raise SettingsError(f"--workload: {key}; allowed: NAME:KEY=VALUE,KEY=VALUE,...")
    size = {} if arguments.size is None else {"size_mb": arguments.size}
    values = {key: value for key, _, value in given}
    try:
        return parse_workload({"kind": kind, **size, **values})
    except SettingsError as error:
        hint = "; write lists in a scenario file" if str(error).endswith("is no list") else ""
        raise SettingsError(f"--workload: {error}{hint}") from None


def leg_settings(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the legs as fields of a scenario.

    A delay curve is the downlink's: it follows a capacity, and the uplink's is mostly no trace.

    Raises:
        SettingsError: the numbers of values do not fit the number of legs.
    """
    legs = listed(arguments.legs)
    made = []
    for both, down, up in zip(
        _of_both(arguments, len(legs)),
        _downlinks(arguments, legs),
        _uplinks(arguments, legs),
        strict=True,
    ):
        curve = {name: both.pop(name) for name in ("delay_curve",) if name in both}
        made.append(both | {"downlink": down | curve, "uplink": up})
    return made


def rows(arguments: argparse.Namespace, clock: Clock, workload: Workload) -> list[dict[str, Any]]:
    """Return each transport with those of the wanted modes that it can do, as fields of a scenario.

    Args:
        arguments: the options.
        clock: the clock of the runs.
        workload: what all transports carry.

    Raises:
        SettingsError: a transport or mode is unknown, or nothing is left to run.
    """
    values = assignments.assignments(arguments)
    paths = _path_schedule(values)
    modes = listed(arguments.modes)
    for mode in modes:
        if mode not in MODES:
            raise SettingsError(f"--modes: {mode}; allowed: {', '.join(MODES)}")
    found = [
        {
            "transport": name,
            "mode": mode,
            "options": _runner_options(name, values),
            "paths": paths if mode == "multipath" else None,
            **bearer,
        }
        for name in listed(arguments.transports or _compared(clock, workload, paths))
        for mode in modes
        if _supports_mode(name, mode)
        for bearer in _bearers(arguments, mode)
    ]
    if paths is not None and not any(row["paths"] for row in found):
        raise SettingsError("--set paths: no row of mode multipath whose transport takes them")
    if not found:
        raise SettingsError(
            "--transports, --modes: no transport here can do any of these modes "
            f"with workload {workload.kind} on the {clock} clock"
        )
    for path in [path for path in values if is_below(path, "options")]:
        if not any(path.split(".")[1] in row["options"] for row in found if "." in path):
            raise SettingsError(f"--set {path}: no transport here has the option")
    return found


def _path_schedule(values: Mapping[str, Any]) -> PathSchedule | None:
    of_paths = {path: value for path, value in values.items() if is_below(path, "paths")}
    paths = assignments.put({}, of_paths).get("paths")
    return None if paths is None else PathSchedule.check(paths, "--set paths")


def over_each_leg(given: Sequence[dict[str, Any]], base: Scenario) -> list[dict[str, Any]]:
    """Return the rows, with one for each leg in place of one over a single leg.

    Which of the legs is the better one is measured (`analysis.measures.better_leg`). Of legs that
    are equal the first one stands for all.

    Args:
        given: the rows (`rows`).
        base: what they have in common.
    """
    different = [n for n, leg in enumerate(base.legs, 1) if leg not in base.legs[: n - 1]]
    return [
        row | {"leg": leg}
        for row in given
        for leg in (different if _is_over_one_leg(row) else [base.leg])
    ]


def _is_over_one_leg(row: dict[str, Any]) -> bool:
    return row["mode"] == "sc" and not get_runner(row["transport"]).every_leg


def _bearers(arguments: argparse.Namespace, mode: str) -> list[dict[str, Any]]:
    """Return the bearers of a mode, each for a row: only `dc` depends on the split policy."""
    if mode not in DUAL_CONNECTIVITY:
        return [{}]
    policies = splits(arguments)
    return [bearer_fields(arguments, split) for split in policies[: None if mode == "dc" else 1]]


def _compared(clock: Clock, workload: Workload, paths: PathSchedule | None) -> list[str]:
    """Return the default transports of a comparison: one stack of QUIC, and the kernel's TCP.

    Where picoquic is not built, aioquic's single path stands in for picoquic's.
    """
    built = get_runner("quic-picoquic").missing() is None
    return [
        each.name if built or each.name != "quic-picoquic" else "quic"
        for each in all_runners()
        if each.compared
        and each.refusal(workload) is None
        and (clock == "real" or each.has_virtual)
        and (paths is None or each.takes_paths or not each.multipath)
    ]


def _runner_options(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `--set` that a runner has, and the size of its receive buffer."""
    known = get_runner(name).options_type.model_fields
    given = {path: value for path, value in values.items() if path.startswith("options.")}
    options = {"receive_buffer_bytes": defaults.RECEIVE_BUFFER_BYTES}
    all_options: dict[str, Any] = assignments.put({"options": options}, given)["options"]
    return {option: value for option, value in all_options.items() if option in known}


def _supports_mode(name: str, mode: str) -> bool:
    if name not in runner_names():
        raise SettingsError(f"--transports: {name}; allowed: {', '.join(runner_names())}")
    return mode in get_runner(name).modes()


def _downlinks(arguments: argparse.Namespace, legs: Sequence[str]) -> list[dict[str, Any]]:
    columns = _value_per_leg("--trace-column", arguments.trace_column, len(legs))
    return [leg_capacity.downlink(*leg) for leg in zip(legs, columns, strict=True)]


def _uplinks(arguments: argparse.Namespace, legs: Sequence[str]) -> list[dict[str, Any]]:
    rates = _value_per_leg_or_none("--uplink", arguments.uplink, len(legs))
    columns = _value_per_leg_or_none("--uplink-column", arguments.uplink_column, len(legs))
    if len(set(columns)) == 1:  # one for all: legs that are no trace have none
        if columns[0] is not None and arguments.uplink is not None and len(arguments.uplink) == 1:
            rates = _of_no_trace(rates, legs)
        of_traces = [
            None if leg_capacity.is_rate(rate or leg) else column
            for rate, leg, column in zip(rates, legs, columns, strict=True)
        ]
        columns = of_traces if any(of_traces) else columns
    return [
        leg_capacity.uplink(rate, leg, column)
        for rate, leg, column in zip(rates, legs, columns, strict=True)
    ]


def _of_no_trace(rates: Sequence[str | None], legs: Sequence[str]) -> list[str | None]:
    """Leave out a rate that is one for all from the legs whose trace has a column for it."""
    return [
        rate
        if rate is None or not leg_capacity.is_rate(rate) or leg_capacity.is_rate(leg)
        else None
        for rate, leg in zip(rates, legs, strict=True)
    ]


def _of_both(arguments: argparse.Namespace, legs: int) -> list[dict[str, Any]]:
    """Return each leg's fields of `BOTH` that are given."""
    made: list[dict[str, Any]] = [{} for _ in range(legs)]
    for name, field in BOTH.items():
        option, values = f"--{name}", getattr(arguments, name)
        for fields, value in zip(made, _value_per_leg_or_none(option, values, legs), strict=True):
            if field == "delay_ms" and value in get_args(DelayCurve):
                fields["delay_curve"] = value
            elif value is not None:
                fields[field] = quantities.of_field(option, field, value)
    return made


def _value_per_leg_or_none(
    option: str, values: Sequence[str] | None, legs: int
) -> Sequence[str | None]:
    return [None] * legs if values is None else _value_per_leg(option, values, legs)


def _value_per_leg(option: str, values: Sequence[str], legs: int) -> list[str]:
    """Return one value per leg, from a value for all legs or a list."""
    given = listed(values)
    if len(given) == 1:
        return given * legs
    if len(given) != legs:
        raise SettingsError(f"{option}: {len(given)} values for {legs} legs; give 1 or {legs}")
    return given
