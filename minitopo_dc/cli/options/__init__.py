"""Options that several commands share, each declared once, and how their values are read.

This module, as `minitopo_dc.cli.commands`, imports nothing that takes time: `--help` and a wrong
option are answered at once. Numbers and names that other modules define are therefore written here
again in words; tests/cli/test_options.py compares them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitopo_dc.installation import shipped
from minitopo_dc.numbers import QUANTITIES, in_field_unit, whole

if TYPE_CHECKING:
    from minitopo_dc.scenario import Mode
    from minitopo_dc.scenario.presets import DualConnectivity

CLOCKS = ("real", "virtual")
MODES: tuple[Mode, ...] = ("sc", "dc", "dc-duplicate", "atsss", "multipath")
COMPARED_MODES: tuple[Mode, ...] = ("sc", "dc", "multipath")
COMPARED: tuple[DualConnectivity, ...] = ("papers", "deployable")
"""The Dual Connectivities of a comparison: what was measured, and what can be deployed."""
DUALS = "papers, deployable, ideal"
SPLIT = "batch"
"""The split policy of Dual Connectivity unless another one is named: the papers'."""
CONTROL = "cubic"
RETRIES = 1
COLUMN = "DL_bitrate"
WORKLOADS = "download, upload, both, request-response, ping, command, video, realtime, under-load"
TRANSPORTS = (
    "tcp (Linux), quic (aioquic), quic-ngtcp2 (ngtcp2), mptcp (Linux), quic-picoquic (picoquic), "
    "mpquic-picoquic (picoquic), quic-noq (noq), mpquic-noq (noq), icmp (ping), command"
)
SEEDS, REAL_SEEDS = 5, 3
"""Repetitions of a comparison; on the real clock, where each takes as long as its transfer."""
CHOSEN = ("transport", "mode", "leg", "clock")
"""Fields that the rows of a comparison differ in, by options of their own."""
BEARER = ("pdcp", "split_uplink", "uplink_pdcp")
OF_ROWS = (*BEARER, "options", "paths")
"""Fields that the rows of a comparison have each for itself: some fit some rows only."""
DEFAULT_LEGS = (str(shipped("traces") / "lte_a.csv"), str(shipped("traces") / "lte_b.csv"))
TIMES = "0 to 3,600,000 ms"
BOTH = {
    "delay": ("delay_ms", "MS", "one-way delay, a file with it over time, or its curve: power, "
              f"exponential, linear, constant ({TIMES}; default: 10)"),
    "jitter": ("jitter_ms", "MS", f"standard deviation of the delay ({TIMES}; default: 1)"),
    "loss": ("loss_percent", "PERCENT", "random loss (0 to 100 %%; default: 0)"),
    "queue": ("queue_packets", "PACKETS", "limit of the drop-tail queue (default: 100)"),
}  # fmt: skip
"""Options of both directions of a leg: the field, its unit and what it is."""


def quantity(name: str) -> Callable[[str], float]:
    """Return the function that converts an option's number to this unit (`ms`, `mb`, ...)."""

    def read(text: str) -> float:
        try:
            return in_field_unit(text, QUANTITIES[name])
        except ValueError as error:
            from minitopo_dc.fields.base import quoted  # noqa: PLC0415 (pydantic takes a second)

            raise argparse.ArgumentTypeError(f"{quoted(text)} is {error}") from None

    return read


def listed(values: Sequence[str]) -> list[str]:
    """Return the values one by one, whether they were given as `A B` or as `A,B`."""
    return [part for value in values for part in value.split(",") if part]


def add(parser: argparse._ActionsContainer, *names: str, **changes: Any) -> None:
    """Add options of `_declared` by their names.

    Args:
        parser: gets them.
        names: of the options.
        changes: what is different from the declaration, as argparse names it.
    """
    for name in names:
        parser.add_argument(*name.split(), **_declared()[name] | changes)


def add_output(
    parser: argparse._ActionsContainer, command: str, condition: str = "must not exist"
) -> None:
    """Add the option for where `new_directory` puts a command's results, and what may be there."""
    default = f"default: results/{command}-TIME"
    add(parser, "--output", help=f"results directory; {condition} ({default})")


@cache
def _declared() -> dict[str, dict[str, Any]]:
    return {
        "--clock": {
            "choices": CLOCKS,
            "help": "real: Linux, as root; virtual: discrete events (default: real if it can)",
        },
        "--plugin": {
            "dest": "plugins",
            "action": "append",
            "default": [],
            "metavar": "MODULE",
            "help": "your Python module or file.py (docs/plugins.md); repeatable",
        },
        "--jobs": {
            "type": whole,
            "metavar": "N",
            "help": "runs at the same time (default: one a processor, on the real clock 1)",
        },
        "--retry-disturbed": {
            "type": whole,
            "default": RETRIES,
            "metavar": "N",
            "help": "repeat a run that the machine disturbed at most N times (docs/trust.md; "
            f"allowed: 0 to 10; default: {RETRIES})",
        },
        "--output": {"type": Path, "metavar": "DIR"},
        "--json": {"action": "store_true", "help": "print JSON instead of tables"},
        "--pcap": {
            "dest": "capture",
            "action": "store_const",
            "const": ("legs",),
            "default": (),
            "help": "capture each leg with PDCP headers; real clock only (docs/element.md)",
        },
        "--seed": {
            "type": whole,
            "default": 1,
            "help": "of losses and jitter; those of a row: SEED, SEED + 1, ... (default: 1)",
        },
        "--dc": {
            "nargs": 1,
            "metavar": "NAME",
            "help": f"Dual Connectivity: {DUALS} (docs/split-policies.md)",
        },
        "--xn": {
            "type": quantity("ms"),
            "metavar": "MS",
            "help": "one-way delay of Xn, of the deployable one (default: 5)",
        },
        "--split": {
            "nargs": 1,
            "default": (SPLIT,),
            "metavar": "POLICY",
            "help": f"split policy (docs/split-policies.md; default: {SPLIT})",
        },
        "--size": {
            "type": quantity("mb"),
            "metavar": "MB",
            "help": "size of a download in 10^6 bytes (default: 10)",
        },
        "--workload": {
            "default": "download",
            "metavar": "NAME[:KEY=VALUE,...]",
            "help": f"of {WORKLOADS} (docs/workloads.md; default: download)",
        },
        "--congestion-control": {
            "default": CONTROL,
            "metavar": "NAME",
            "help": f"that of the transports (docs/runners.md; default: {CONTROL})",
        },
        "--set": {
            "dest": "assignments",
            "action": "append",
            "default": [],
            "metavar": "FIELD=VALUE",
            "help": "any field of a scenario: legs.1.downlink.loss_percent=0.1 (from 0, * is "
            "all); repeatable (docs/scenarios.md)",
        },
        # Minitopo's two files have the names that they have on its own command line.
        "-t --topo_param_file": {
            "dest": "topology",
            "type": Path,
            "metavar": "TOPO",
            "help": "Minitopo's topology file (docs/minitopo.md)",
        },
        "-x --experiment_param_file": {
            "dest": "experiment",
            "type": Path,
            "metavar": "XP",
            "help": "Minitopo's experiment file (docs/minitopo.md); without it Mininet's command "
            "line opens",
        },
    }


def add_legs(parser: argparse.ArgumentParser, legs: tuple[str, ...] = DEFAULT_LEGS) -> None:
    """Add the options of legs: one value for all legs, or one per leg."""
    shown = " ".join(Path(leg).name for leg in legs)
    group = parser.add_argument_group(
        "legs (one value for all, or one a leg; DOWN/UP: one each way; units: 8ms, 20Mbit, 0.1%)"
    )
    words = (
        "rate in Mbit/s, trace, RECORDING of RECORDING.down and .up, or carriers: nr-tdd-100, "
        f"en-dc (docs/carriers.md; default: {shown})"
    )
    group.add_argument("--legs", nargs="+", default=legs, metavar="LEG", help=words)
    words = "uplinks: a rate in Mbit/s or a trace file (default: RECORDING.up, or 20)"
    group.add_argument("--uplink", nargs="+", metavar="LEG", help=words)
    for name, (_, metavar, what) in BOTH.items():
        group.add_argument(f"--{name}", nargs="+", metavar=metavar, help=what)
    words = f"column with the downlink's capacity (docs/traces.md; default: {COLUMN})"
    group.add_argument(
        "--trace-column", nargs="+", default=[COLUMN], metavar="NAME:UNIT", help=words
    )
    words = "the same in the trace of the uplink"
    group.add_argument("--uplink-column", nargs="+", metavar="NAME:UNIT", help=words)


def add_set(parser: argparse._ActionsContainer, chosen: Iterable[str] = ()) -> None:
    """Add `--set`, which refuses the fields, and those below, that the command chooses itself."""
    add(parser, "--set")
    parser.set_defaults(chosen_fields=tuple(chosen))


def add_load(group: argparse._ArgumentGroup, chosen: Sequence[str]) -> None:
    """Add what is transferred, whoever does it, and `--set` without the fields that are chosen."""
    add(group, "--size", "--workload", "--congestion-control", "--seed")
    add_set(group, chosen)


def add_transfer(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is compared, and what is transferred."""
    group = parser.add_argument_group("what is compared")
    words = (
        f"of {TRANSPORTS}, or a plugin's "
        "(default: tcp mptcp icmp and those of --stacks, where they can run)"
    )
    group.add_argument("--transports", nargs="+", metavar="NAME", help=words)
    words = (
        "stacks of QUIC, each DC against its own multipath (default: picoquic, on the "
        "virtual clock noq too where it is built)"
    )
    group.add_argument("--stacks", nargs="+", metavar="STACK", help=words)
    words = f"of {', '.join(MODES)} (default: {' '.join(COMPARED_MODES)})"
    group.add_argument("--modes", nargs="+", default=COMPARED_MODES, metavar="MODE", help=words)
    words = "leg of mode sc (default: the better one)"
    group.add_argument("--leg", type=whole, metavar="N", help=words)
    which = group.add_mutually_exclusive_group()
    words = f"Dual Connectivities, a row each, of {DUALS} (docs/split-policies.md; "
    add(which, "--dc", nargs="+", help=f"{words}default: {' '.join(COMPARED)})")
    add(which, "--split", nargs="+", default=(), help="plain split policies instead, a row each")
    add(group, "--xn")
    add_load(parser.add_argument_group("transfer"), (*CHOSEN, "pdcp.split"))


MAX_REPETITIONS = 10_000
"""The most repetitions of a comparison, which lists them all; a campaign may have more."""
REPETITIONS = f"1 to {MAX_REPETITIONS}"


def check_repetitions(number: int) -> None:
    """Refuse a number of repetitions that makes no comparison: a SettingsError."""
    if not 1 <= number <= MAX_REPETITIONS:
        from minitopo_dc.fields import SettingsError  # noqa: PLC0415 (pydantic takes a second)

        raise SettingsError(f"--repetitions: {number}; allowed: {REPETITIONS}")


def add_compared(parser: argparse.ArgumentParser, legs: tuple[str, ...] = DEFAULT_LEGS) -> None:
    """Add the options that make the rows of a comparison and its seeds."""
    add_legs(parser, legs)
    add_transfer(parser)
    add(parser, "--plugin")
    parser.add_argument(
        "--repetitions",
        type=whole,
        metavar="N",
        help=f"runs of each row (default: {SEEDS}, on the real clock {REAL_SEEDS})",
    )


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the path, the server, and where the run is kept."""
    words = (
        "scenario file that gives legs, mode and PDCP in place of the options (docs/scenarios.md)"
    )
    parser.add_argument("--scenario", type=Path, metavar="FILE", help=words)
    add(parser, "-t --topo_param_file")
    add_path_options(parser)
    add_set(parser, (*CHOSEN, "workload", "congestion_control", "options", "paths"))
    clocks = (
        "real: on emulated hosts, needs root; virtual: in a guest, without root "
        "(docs/linux-guest.md; default: real)"
    )
    add(parser, "--clock", default="real", help=clocks)
    add(parser, "--pcap", "--plugin")
    group = parser.add_argument_group("server")
    words = (
        "program on the server's host, which starts before yours; no shell reads the words "
        "(default: none)"
    )
    group.add_argument("--server", default="", metavar="'COMMAND ARG ...'", help=words)
    words = (
        "start your program when this TCP or UDP port is bound on the server's host "
        "(default: after half a second)"
    )
    group.add_argument("--server-ready", type=whole, metavar="PORT", help=words)
    words = "user as whom the program and the server run (default: $SUDO_USER, else root)"
    parser.add_argument("--user", metavar="NAME", help=words)
    kept = "directory for time series, counters and a figure; must not exist (default: keep "
    add(parser, "--output", help=f"{kept}nothing)")
    # What a scenario has beside its path, and a user's program has no use for.
    kept_out = {"workload": "download", "size": None, "congestion_control": CONTROL}
    parser.set_defaults(**kept_out, xn=None)


def add_path_options(parser: argparse.ArgumentParser) -> None:
    """Add the legs, the mode and the split policy of the path that a program gets."""
    add_legs(parser)
    add(parser, "--split")
    parser.add_argument("--mode", choices=MODES, default="dc", help="mode (default: dc)")
    parser.add_argument(
        "--leg", type=whole, default=1, metavar="N", help="leg of mode sc (default: 1)"
    )
    add(parser, "--seed")
