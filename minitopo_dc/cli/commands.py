"""The commands with their options, from which the help and the mistakes of a line are answered."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitopo_dc.cli.options import (
    CHOSEN,
    CLOCKS,
    COLUMN,
    OF_ROWS,
    add,
    add_compared,
    add_legs,
    add_load,
    add_output,
    add_program_options,
    add_set,
    quantity,
)
from minitopo_dc.numbers import real, whole

AGAIN = ("failed", "disturbed", "unsupported")
FORMATS = ("auto", "raca", "mahimahi", "csv", "table", "json")
TARGETS = "picoquic, native, noq, linux, proxy, aioquic-2020"


def _advise(parser: argparse.ArgumentParser) -> None:
    """Advise on Dual Connectivity or multipath over your legs in a minute (`minitopo-dc advise`).

    The command runs each leg alone, Dual Connectivity and multipath on the virtual clock with one
    seed after the other. It ends when one of the two is better, when they tie, or when the time is
    over.
    """
    add_legs(parser)
    group = parser.add_argument_group("transfer")
    words = (
        "the single-path and the multipath transport of a stack, such as tcp mptcp (default: "
        "those of --stacks)"
    )
    group.add_argument("--transports", nargs="+", metavar="NAME", help=words)
    words = (
        "stacks of MP-QUIC, each with a verdict, for which the time is divided (default: "
        "those of picoquic and noq that are built)"
    )
    group.add_argument("--stacks", nargs="+", metavar="STACK", help=words)
    add(group, "--xn", default=5.0)
    add_load(group, (*CHOSEN, *OF_ROWS))
    add(parser, "--plugin", "--jobs")
    group = parser.add_argument_group("advice")
    words = "time limit for the verdict in s, or with a unit: 5min (default: 60)"
    group.add_argument("--time", type=quantity("s"), default=60.0, metavar="S", help=words)
    words = (
        "difference within which the verdict is a tie (docs/advise.md; default by workload: "
        "download 5, request-response 10, video 5, realtime 1)"
    )
    group.add_argument("--margin", type=quantity("percent"), metavar="PERCENT", help=words)
    add_output(parser, "advise", "new, or that of unfinished advice, which is resumed")
    add(parser, "--json", help="print JSON instead of sentences")


def _compare(parser: argparse.ArgumentParser) -> None:
    """Compare Dual Connectivity with transport multipath (`minitopo-dc compare`)."""
    add_compared(parser)
    add(parser, "--clock", "--pcap", "--jobs", "--retry-disturbed")
    add_output(parser, "compare", "new, or that of an unfinished comparison, which is resumed")
    words = "check the options, count the runs and say which this machine cannot do"
    parser.add_argument("--dry-run", action="store_true", help=words)
    add(parser, "--json", help="print the rows as a JSON list instead of the table")


def _explore(parser: argparse.ArgumentParser) -> None:
    """Open a page that answers which way is better over your legs, anew at each change.

    It takes the options of `compare`, and begins with picoquic and 3 seeds. It is served on this
    machine only, with a token in its address. Ctrl-C ends it.
    """
    words = "scenario file to begin with, before options"
    parser.add_argument("--scenario", type=Path, metavar="FILE", help=words)
    add_compared(parser, ("40", "30"))
    words = "of localhost; 0 takes any (default: 8866)"
    parser.add_argument("--port", type=whole, default=8866, metavar="N", help=words)
    words = "print the address, and open no browser"
    parser.add_argument("--no-browser", action="store_true", help=words)


def _run(parser: argparse.ArgumentParser) -> None:
    """Run one scenario file, or Minitopo's topology and experiment files (`minitopo-dc run`)."""
    words = "scenario file (docs/scenarios.md)"
    parser.add_argument("scenario", type=Path, nargs="?", metavar="SCENARIO.yaml", help=words)
    add(parser, "-t --topo_param_file", "-x --experiment_param_file", "--clock")
    add(parser, "--dc", "--xn")
    add_set(parser)
    add(parser, "--pcap", "--plugin")
    add_output(parser, "run")
    add(parser, "--json", help="print the result as JSON")


def _show(parser: argparse.ArgumentParser) -> None:
    """Print the results of a run, comparison or campaign, or two side by side (`minitopo-dc show`).

    The command reads the files of the directories and runs nothing.
    """
    words = (
        "results directory of a run, comparison or campaign; with a second one, the "
        "difference of each row of both and its 95 %% confidence interval over seeds; or the name "
        "of a carrier, such as nr-tdd-100: its leg's values and their sources"
    )
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=words)
    words = "measure of two directories (default: goodput_mbps, or the workload's first measure)"
    parser.add_argument("--measure", metavar="NAME", help=words)
    add(parser, "--plugin", "--json")


def _exec(parser: argparse.ArgumentParser) -> None:
    """Run your own program over one leg, Dual Connectivity or several paths (`minitopo-dc exec`).

    `minitopo-dc shell` has the same options of path and scenario.
    """
    parser.usage = "%(prog)s [options] -- COMMAND [ARG ...]"
    add_program_options(parser)
    words = "the program and its arguments; words after -- are passed on unchanged"
    parser.add_argument("words", nargs="*", metavar="COMMAND", help=words)


def _shell(parser: argparse.ArgumentParser) -> None:
    """Open a shell on the client's or the server's host, over the legs (`minitopo-dc shell`)."""
    add_program_options(parser)
    words = "host of the shell (default: client)"
    parser.add_argument("--host", choices=("client", "server"), default="client", help=words)


def _campaign(parser: argparse.ArgumentParser) -> None:
    """Run many scenarios from one Python file, resume them and report (`minitopo-dc campaign`)."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_run(actions.add_parser("run", help="run the missing runs, then write the report"))
    status = actions.add_parser(
        "status", help="count finished, failed and missing runs, with reasons"
    )
    report = actions.add_parser("report", help="write an HTML report with all figures")
    for action in (status, report):
        words = "results directory of campaign run"
        action.add_argument("directory", type=Path, metavar="DIR", help=words)
    status.add_argument("--json", action="store_true", help="print numbers and failures as JSON")
    words = "report directory (default: DIR/report)"
    report.add_argument("--output", type=Path, metavar="DIR", help=words)
    words = "kinds of the figures' files in figures/, beside svg (default: none)"
    report.add_argument(
        "--figures", nargs="+", choices=("svg", "pdf", "png"), default=(), help=words
    )
    words = "kinds of the tables' files in tables/ (default: none)"
    report.add_argument("--tables", nargs="+", choices=("csv", "latex"), default=(), help=words)
    words = "a campaign's file, whose report(runs) adds its sections (it is run)"
    report.add_argument("--file", metavar="FILE.py|NAME", help=words)
    actions.add_parser("list", help="list the studies that can be run by name")


def _add_run(parser: argparse.ArgumentParser) -> None:
    words = "a campaign's file, which is run as a program, or a study's name (campaign list)"
    parser.add_argument("campaign", metavar="FILE.py|NAME", help=words)
    words = "results directory, new or to be resumed (default: results/NAME[-VERSION][-CLOCK])"
    parser.add_argument("--output", type=Path, metavar="DIR", help=words)
    group = parser.add_mutually_exclusive_group()
    for version, what in (
        ("quick", "run the small version of the file"),
        ("sample", "run a few cases that span the file's range, for example to compare clocks"),
    ):
        group.add_argument(
            f"--{version}",
            action="store_const",
            dest="version",
            const=version,
            default="full",
            help=what,
        )
    parser.add_argument("--clock", choices=CLOCKS, help="clock (default: the file's)")
    words = "run only the cases with this value of a label; repeatable"
    parser.add_argument("--only", action="append", default=[], metavar="LABEL=VALUE", help=words)
    words = "seeds (default: the file's)"
    parser.add_argument("--seeds", nargs="+", type=whole, metavar="SEED", help=words)
    words = f"repeat runs with this status ({', '.join(AGAIN)}; without one: all three)"
    parser.add_argument("--again", nargs="*", choices=AGAIN, metavar="STATUS", help=words)
    words = "address of a Dask scheduler: tcp://HOST:PORT"
    parser.add_argument("--dask", metavar="ADDRESS", help=words)
    words = "accept a scheduler on a public address without TLS (docs/security.md)"
    parser.add_argument("--dask-without-tls", action="store_true", help=words)
    words = "check the file and count the runs; on the real clock estimate their time"
    parser.add_argument("--dry-run", action="store_true", help=words)
    add(parser, "--jobs", "--retry-disturbed")


def _calibrate(parser: argparse.ArgumentParser) -> None:
    """Measure the legs on this machine against their settings (`minitopo-dc calibrate`)."""
    add_legs(parser, legs=("20", "20"))
    words = "duration of each of the two measurements of a leg (at least 2; default: 10)"
    parser.add_argument("--seconds", type=quantity("s"), default=10, metavar="S", help=words)
    add(parser, "--seed")
    add_set(parser)
    add_output(parser, "calibrate", "new, or that of an unfinished calibration")
    add(parser, "--json", help="print the runs as a JSON list instead of the table")


def _trace(parser: argparse.ArgumentParser) -> None:
    """Describe, synthesise and convert capacity traces (`minitopo-dc trace`)."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    info = actions.add_parser("info", help="print statistics of a trace or a drive as JSON")
    _add_source(info)
    convert = actions.add_parser(
        "convert", help="convert a trace to CSV, or to Mahimahi (*.mahimahi)"
    )
    _add_source(convert)
    convert.add_argument("output", type=Path, metavar="OUTPUT", help="file to write")
    words = "resample to steps of this length, whole ms"
    convert.add_argument("--step", type=quantity("ms"), metavar="MS", help=words)
    words = "the file logs a channel: its --column is NAME:cqi or NAME:mcs of this carrier"
    convert.add_argument("--carrier", metavar="NAME", help=words)
    for option, what in (("layers", "layers"), ("share", "percent of the resource blocks")):
        words = f"with --carrier: column of the {what} (default: none)"
        convert.add_argument(f"--{option}-column", metavar="NAME", help=words)
    words = "with --carrier: of its uplink"
    convert.add_argument("--uplink", action="store_true", help=words)
    _add_synthesis(actions.add_parser("synthesise", help="synthesise an LTE-like trace as CSV"))
    _add_drives(actions)


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("trace", type=Path, metavar="FILE", help="trace or drive to read")
    words = "format of the file (default: by content)"
    parser.add_argument("--format", choices=FORMATS, default="auto", help=words)
    words = (
        "column and unit (Mbit/s, kbps, MB/s, ...) of the rate in a table or JSON; NAME alone "
        f"if it ends in its unit, and in a Raca file (default: {COLUMN}, or the only one)"
    )
    parser.add_argument("--column", default=COLUMN, metavar="NAME:UNIT", help=words)
    words = (
        "column and unit (s, ms, us, ns, iso) of the time in a table; NAME alone if it ends "
        "in its unit (default: the first column)"
    )
    parser.add_argument("--time-column", metavar="NAME:UNIT", help=words)


def _add_synthesis(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", type=Path, metavar="FILE", help="CSV file to write")
    words = "seed of shadowing and of other users (default: 1)"
    parser.add_argument("--seed", type=whole, default=1, help=words)
    words = "duration (default: 60)"
    parser.add_argument("--seconds", type=quantity("s"), default=60.0, metavar="S", help=words)
    words = "mean rate (default: 10)"
    parser.add_argument("--mean", type=quantity("mbps"), default=10.0, metavar="MBPS", help=words)


def _add_drives(actions: Any) -> None:
    cells = actions.add_parser(
        "cells", help="print how many channels a drive has, and their capacity"
    )
    words = "files of cells or channels"
    cells.add_argument("cells", type=Path, nargs="+", metavar="FILE", help=words)
    words = "draw channels and capacity to this file"
    cells.add_argument("--figure", type=Path, metavar="PNG", help=words)
    _add_radio(cells)
    channels = actions.add_parser("channels", help="compute channels from a log of cells, as CSV")
    words = "files of cells to read"
    channels.add_argument("cells", type=Path, nargs="+", metavar="CELLS", help=words)
    channels.add_argument("output", type=Path, metavar="OUTPUT", help="CSV file to write")
    _add_radio(channels)
    drive = actions.add_parser("synthesise-drive", help="synthesise a drive's log of cells as CSV")
    drive.add_argument("output", type=Path, metavar="FILE", help="CSV file to write")
    words = "environment (default: entire)"
    drive.add_argument(
        "--environment", choices=("entire", "residential", "road"), default="entire", help=words
    )
    drive.add_argument("--seed", type=whole, default=1, help="seed of the drive (default: 1)")
    words = "duration in whole s (default: 1800)"
    drive.add_argument("--seconds", type=quantity("s"), default=1800, metavar="S", help=words)
    words = "standard deviation of each cell's RSRP from second to second in dB (default: 0)"
    drive.add_argument("--noise", type=real, default=0.0, metavar="DB", help=words)


def _add_radio(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--load", type=real, default=0.1, help="load of the cells (default: 0.1)")
    words = "cells that interfere with a channel (default: all)"
    parser.add_argument("--interferers", choices=("all", "carrier"), default="all", help=words)
    mbps, floor = quantity("mbps"), "capacity in Mbit/s below which a channel is absent"
    scale = ("--scale", real, 1.0, "factor of all capacities")
    for option, of, value, what in (scale, ("--floor", mbps, 0.0, floor)):
        parser.add_argument(option, type=of, default=value, help=f"{what} (default: {value:g})")


def _template(parser: argparse.ArgumentParser) -> None:
    """Render Minitopo parameter files from templates (`minitopo-dc template`)."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="list the templates and their parameters")
    rendering = actions.add_parser("render", help="render a template and check the file")
    words = "a name of minitopo-dc template list, or the path of a template of your own"
    rendering.add_argument("name", metavar="NAME", help=words)
    words = "parameters, as minitopo-dc template list has"
    rendering.add_argument("values", nargs="*", metavar="KEY=VALUE", help=words)
    words = "output file (default: stdout)"
    rendering.add_argument("-o", "--output", type=Path, metavar="FILE", help=words)


def _minitopo(parser: argparse.ArgumentParser) -> None:
    """Run in your own Minitopo checkout, with this project's elements (`minitopo-dc minitopo`)."""
    words = "Minitopo checkout (core/, topos/)"
    parser.add_argument("--minitopo", type=Path, required=True, metavar="DIR", help=words)
    add(parser, "-t --topo_param_file", required=True)
    add(parser, "-x --experiment_param_file")
    words = "IP version of the transports' addresses (default: 4)"
    parser.add_argument(
        "--ip", dest="ip_version", type=whole, choices=(4, 6), default=4, help=words
    )
    add_output(parser, "minitopo")


def _build(parser: argparse.ArgumentParser) -> None:
    """Build the parts that are not Python, as an ordinary user (`minitopo-dc build`).

    `picoquic`: for the transports quic-picoquic and mpquic-picoquic, on both clocks. pip
    downloads the sources. The build needs a C compiler and the headers of Python and OpenSSL,
    and prints the path of the extension. A change of the sources leads to a new build.

    `native`: the native core, by which runs on the virtual clock are faster
    (docs/virtual-clock.md). The build needs a C compiler and Python's headers, and no network.

    `noq`: for the transports quic-noq and mpquic-noq, on both clocks. cargo fetches the crates.
    The build needs Rust 1.88 or newer and a C compiler, and takes 2 minutes.

    `aioquic-2020`: aioquic 0.8.7, for the transport quic-aioquic-2020, on both clocks. pip
    downloads it; nothing is compiled.

    `linux`: a Linux kernel as a process, for tcp and mptcp on the virtual clock. The sources
    are those of the distribution's package linux-source-6.12, or what `--source` names. The
    build needs flex, bison, bc and a C compiler, and takes 5 minutes of a processor. An
    interrupted build goes on.

    `proxy`: the MPTCP proxy of `mode: atsss` on the real clock. The build needs a C compiler.
    """
    parser.add_argument("target", metavar="TARGET", help=f"one of {TARGETS}")
    words = (
        "sources for linux: a tree or an archive of Linux 6.12 (default: those of the "
        "package linux-source-6.12)"
    )
    parser.add_argument("--source", type=Path, metavar="PATH", help=words)


def _check(parser: argparse.ArgumentParser) -> None:
    """Report what this machine has and which parts can run on it, or what a scenario needs."""
    words = "check this scenario instead: windows, timers, queues and sizes against its legs"
    parser.add_argument("scenario", type=Path, nargs="?", metavar="SCENARIO.yaml", help=words)
    parser.add_argument("--json", action="store_true", help="print findings, or needs, as JSON")


def _clean(parser: argparse.ArgumentParser) -> None:
    """Remove what killed runs left, and nothing else (`minitopo-dc clean`)."""


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "advise": (
        "decide whether Dual Connectivity or multipath is better over your legs, or if they tie",
        _advise,
    ),
    "compare": ("compare transports over one leg, Dual Connectivity and several paths", _compare),
    "explore": ("open a page in the browser: move sliders, see DC and MP-QUIC answer", _explore),
    "run": ("run a scenario file, or Minitopo's topology and experiment files", _run),
    "show": (
        "print the results of a run, comparison or campaign, or set two of them side by side",
        _show,
    ),
    "exec": (
        "run your own program between the hosts over one leg, Dual Connectivity or several paths",
        _exec,
    ),
    "shell": ("open a shell on a host, over the same legs as exec", _shell),
    "campaign": ("run, resume and report many scenarios from one file", _campaign),
    "calibrate": (
        "measure the rate, delay, jitter and loss of each leg and compare them with the settings",
        _calibrate,
    ),
    "trace": ("describe, synthesise and convert capacity traces", _trace),
    "template": ("render Minitopo topology and experiment files from templates", _template),
    "minitopo": (
        "run in your own Minitopo checkout, with topoType:DualConnectivity and these experiments",
        _minitopo,
    ),
    "build": (
        "build the native core, picoquic, noq, the Linux guest, or a proxy, or get aioquic of 2020",
        _build,
    ),
    "check": ("report what this machine can run, or what a scenario needs", _check),
    "clean": (
        "remove what killed runs left: processes, hosts with their rules, temporary directories",
        _clean,
    ),
}
"""The commands, each of which is a module of this folder (`entry.MODULES`): its line of help, and
what adds its options; the text of its own help is the docstring of this function."""
