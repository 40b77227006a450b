"""The options: answered without imports that take time, and true to what they speak of."""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
from importlib import import_module
from typing import get_args

import pytest

from minitopo_dc.advice import SECONDS
from minitopo_dc.campaign.campaign import AGAIN
from minitopo_dc.cli import build, commands, entry, main, options
from minitopo_dc.cli.entry import parser
from minitopo_dc.cli.options import REAL_SEEDS
from minitopo_dc.fields.ranges import CONGESTION_CONTROL, UPLINK_MBPS
from minitopo_dc.link import DelayCurve
from minitopo_dc.linux_guest.build import SERIES
from minitopo_dc.results.measures.named import MARGINS
from minitopo_dc.runners.base import all_runners
from minitopo_dc.runs.perform import MAX_DISTURBED, Retries
from minitopo_dc.scenario import Clock, LegDirection, Mode, Pdcp, Scenario
from minitopo_dc.scenario.presets import NAMES, XN_MS
from minitopo_dc.trace import (
    DEFAULT_COLUMN,
    ENVIRONMENTS,
    Interferers,
    RadioSettings,
    TraceFormat,
)
from minitopo_dc.ways import SEEDS
from minitopo_dc.workloads import Download, workload_names
from tests import REPOSITORY


def option_of(line: str, name: str) -> argparse.Action:
    of = parser()
    for word in line.split():
        of = next(
            action.choices[word]
            for action in of._actions
            if isinstance(action, argparse._SubParsersAction)
        )
    return next(action for action in of._actions if action.dest == name)


SLOW = ("numpy", "pandas", "scipy", "matplotlib", "pydantic", "yaml", "rich", "aioquic", "asyncio")
ENTRY = "from minitopo_dc.cli import main; main({})"


@pytest.mark.parametrize(
    "program",
    [
        "import minitopo_dc",
        *(
            ENTRY.format(line)
            for line in (["--version"], ["--help"], ["compare", "--help"], ["run", "--no-such"])
        ),
    ],
)
def test_a_line_of_help_or_a_mistake_imports_nothing_that_takes_time(program: str) -> None:
    tell = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    done = subprocess.run(
        [sys.executable, "-c", tell + program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    modules = done.stderr.splitlines()[-1].split()
    assert "minitopo_dc" in modules
    assert {*SLOW} & {*modules} == set()
    assert len([name for name in modules if name.startswith("minitopo_dc")]) <= 9


def test_only_a_process_of_its_own_changes_when_garbage_is_looked_for() -> None:
    before = gc.get_threshold()
    assert main(["show", "nr-tdd-100"]) == 0
    assert gc.isenabled()
    assert gc.get_threshold() == before
    tell = "import atexit, gc, sys; sys.argv[1:] = ['show', 'nr-tdd-100']\n"
    at_end = "atexit.register(lambda: print(gc.isenabled(), *gc.get_threshold()))\n"
    words = [sys.executable, "-c", f"{tell}{at_end}{ENTRY.format('')}"]
    done = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].startswith("True 100000 ")


def test_each_command_is_a_module_that_executes_it() -> None:
    for name in {command.partition(" ")[0] for command in commands.COMMANDS}:
        module = entry.MODULES.get(name, name)
        assert callable(import_module(f"minitopo_dc.cli.{module}").execute)


def test_a_target_that_cannot_be_built_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "natve"]) == 2
    words = f"build: natve; allowed: {', '.join(build.targets())}; did you mean native?"
    assert capsys.readouterr().err == f"minitopo-dc: {words}\n"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (sorted((*options.MODES, "flows")), sorted(get_args(Mode))),
        (commands.DUALS, ", ".join(NAMES)),
        (options.SPLIT, Pdcp().split),
        (options.CONTROL, CONGESTION_CONTROL),
        (options.SEEDS, SEEDS),
    ],
)
def test_what_the_options_name_is_what_there_is(written: object, meant: object) -> None:
    assert written == meant


def test_the_help_names_the_runners_of_this_package() -> None:
    own = [
        runner for runner in all_runners() if type(runner).__module__.startswith("minitopo_dc.r")
    ]
    shown = " ".join(str(option_of("compare", "transports").help).split())
    assert shown.startswith(f"of {', '.join(runner.label for runner in own)}, or a plugin's")
    of_stacks = ("quic-picoquic", "mpquic-picoquic", "quic-noq", "mpquic-noq")
    compared = {runner.name for runner in own if runner.compared}
    assert compared == {"tcp", "mptcp", "icmp", *of_stacks}  # as the help has it


@pytest.mark.parametrize("option", options.BOTH)
def test_the_help_of_a_leg_s_option_has_the_field_s_range_and_default(option: str) -> None:
    field = LegDirection.model_fields[options.BOTH[option]]
    words = str(option_of("compare", option).help)
    assert f"default: {field.default:g})" in words
    assert (field.description or "") in words.replace("%%", "%")
    if option == "delay":
        assert ", ".join(get_args(DelayCurve)) in words


RADIO = RadioSettings()


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("compare", "clock", get_args(Clock)),
        ("compare", "workload", ", ".join(workload_names())),
        ("compare", "modes", ", ".join(options.MODES)),
        ("compare", "repetitions", f"default: {options.SEEDS}, on the real clock {REAL_SEEDS}"),
        ("compare", "trace_column", f"default: {DEFAULT_COLUMN}"),
        ("compare", "congestion_control", options.CONTROL),
        ("compare", "retry_disturbed", Retries.disturbed),
        ("exec", "split", options.SPLIT),
        ("exec", "mode", options.MODES),
        ("campaign run", "again", AGAIN),
        ("trace info", "format", get_args(TraceFormat)),
        ("trace info", "column", f"default: {DEFAULT_COLUMN}"),
        ("build", "target", ", ".join(build.targets())),
        ("compare", "size", f"default: {Download().size_mb:g}"),
        ("compare", "xn", f"default: {XN_MS:g}"),
        ("compare", "uplink", f"or {UPLINK_MBPS:g}"),
        ("compare", "retry_disturbed", f"allowed: 0 to {MAX_DISTURBED}"),
        ("advise", "xn", XN_MS),
        ("advise", "time", SECONDS),
        (
            "advise",
            "margin",
            ", ".join(f"{kind} {100 * part:g}" for kind, part in MARGINS.items()),
        ),
        ("build", "source", f"Linux {SERIES}"),
        ("minitopo", "ip", get_args(Scenario.model_fields["ip_version"].annotation)),
        ("trace synthesise-drive", "environment", tuple(ENVIRONMENTS)),
        ("trace cells", "load", RADIO.load),
        ("trace cells", "interferers", get_args(Interferers)),
        ("trace cells", "scale", RADIO.scale),
        ("trace cells", "floor", RADIO.floor_mbps),
    ],
)
def test_an_option_has_the_default_and_choices_of_its_field(
    line: str, name: str, value: object
) -> None:
    """A text is part of the option's help."""
    action = option_of(line, name)
    if isinstance(value, str):
        assert value in str(action.help)
    elif isinstance(value, tuple):
        assert tuple(action.choices or ()) == value
    else:
        assert action.default == value
