"""`show`, and the tables that it prints."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console, RenderableType

from minitopo_dc import cli, compare, load
from minitopo_dc.cli import calibrate, run
from minitopo_dc.results import compare_table, render_table
from minitopo_dc.results.kept_scenario import load_as_run
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import results_table
from minitopo_dc.results.tables.sheet import Head, Sheet
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save
from tests.stores import make_store

pytestmark = pytest.mark.usefixtures("without_figures")
TINY = ["compare", "--clock", "virtual", "--jobs", "1", "--legs", "10", "10", "--size", "0.1"]
TINY += ["--transports", "quic", "--repetitions", "2", "--loss", "0.5"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def shown_by(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert cli.main(["show", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_a_comparison_is_printed_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert cli.main([*TINY, "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "at random" in printed
    assert shown_by(capsys, output) == printed
    rows = json.loads(shown_by(capsys, output, "--json"))
    assert [row["seed"] for row in rows] == [1, 1, 1, 2, 2, 2]
    run = output / load(output)["run"][0]
    assert "quic       sc    1 ok" in shown_by(capsys, run)
    assert json.loads(shown_by(capsys, run, "--json"))["mode"] == "sc"


def test_a_campaign_is_printed_as_its_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = make_store(tmp_path)
    assert cli.main(["campaign", "status", str(output)]) == 0
    printed = capsys.readouterr().out
    assert shown_by(capsys, output) == printed
    assert json.loads(shown_by(capsys, output, "--json"))["missing"] == 0
    beside = json.loads(shown_by(capsys, output, output, "--json"))
    assert {row["difference"] for row in beside["rows"]} == {0}
    assert "batch 2 " in shown_by(capsys, output, output)
    assert beside["differ"] == {}


def comparison(root: Path, *goodputs: float, delay_ms: float = 10, mode: str = "dc") -> Path:
    legs = [{"downlink": {"rate_mbps": 20, "delay_ms": delay_ms}}] * 2
    made = Scenario.check({"transport": "quic", "mode": mode, "legs": legs}, "test")
    for number, goodput in enumerate(goodputs, start=1):
        run = result("quic", mode, goodput_mbps=goodput, seed=number)
        made.save(save(root, run) / "scenario.yaml")
    return root


def test_two_comparisons_stand_side_by_side_with_what_sets_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = comparison(tmp_path / "a", 10, 20, 30)
    second = comparison(tmp_path / "b", 11, 21, 32, delay_ms=25)
    comparison(second, 5, mode="sc")
    save(first, no_result("tcp", "dc", "failed", "it died"))
    (first / "tcp-dc-1" / "scenario.yaml").write_bytes(
        (first / "quic-dc-1" / "scenario.yaml").read_bytes()
    )
    lines = shown_by(capsys, first, second).splitlines()
    (row,) = (line for line in lines if line.startswith("DC (papers') "))
    assert row.split()[2:] == ["20.0", "21.3", "1.33", "-0.101", "to", "2.77", "3"]
    assert f"First: {first}; 1 runs that are not ok are left out" in lines
    assert "Only in the second: leg 1" in lines
    assert "They differ in legs.0.downlink.delay_ms: 10.0 and 25.0" in lines


def test_a_comparison_of_python_stands_beside_one_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--clock", "virtual", "--transports", "quic-picoquic", "--modes", "sc", "dc"]
    options += ["--size", "0.1", "--repetitions", "3"]
    assert cli.main(["compare", *options, "--output", str(tmp_path / "a")]) == 0
    runs = load(tmp_path / "a").drop_duplicates("way").set_index("way")["run"]
    own = {"leg 1": "mine", "leg 2": "leg 2", "DC (papers')": "DC"}
    ways = {mine: load_as_run(tmp_path / "a" / runs[way]) for way, mine in own.items()}
    compare(ways, seeds=3, directory=tmp_path / "b")
    shown = json.loads(shown_by(capsys, tmp_path / "a", tmp_path / "b", "--json"))
    assert {row["row"]: row["difference"] for row in shown["rows"]} == dict.fromkeys(own, 0)
    assert shown["only_first"] == ["DC (deployable, Xn 5 ms)"]
    assert shown["only_second"] == []


def test_another_measure_can_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = comparison(tmp_path / "a", 10, 20)
    shown = json.loads(shown_by(capsys, root, root, "--measure", "completion_s", "--json"))
    assert (shown["measure"], shown["rows"][0]["first"]) == ("completion_s", 4.0)
    assert cli.main(["show", str(root), str(root), "--measure", "joy"]) == 2
    assert (
        "no run with status ok has joy; they have: capacity_share, completion_s"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{run}"] * 3, "show: 3 directories; allowed: one, or two side by side"),
        (["{run}", "--measure", "goodput_mbps"], "--measure: needs two directories"),
        (["{empty}"], "no results; looked for result.json, */result.json and campaign.json"),
        (["{run}", "{empty}"], "no results; looked for"),
    ],
)
def test_what_cannot_be_shown_is_one_error(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"run": comparison(tmp_path / "a", 10), "empty": tmp_path / "empty"}
    places["empty"].mkdir()
    assert cli.main(["show", *(argument.format(**places) for argument in arguments)]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert message.count("\n") == 1


def test_above_results_the_directories_that_have_some_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_store(tmp_path)
    assert cli.main(["show", str(tmp_path)]) == 2
    words = f"no results; the directories below it have some: {store}\n"
    assert capsys.readouterr().err.endswith(words)


def test_a_broken_result_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = comparison(tmp_path / "a", 10)
    replace(result("quic", "dc"), goodput_mbps=-1.0).save(root / "quic-dc-1")
    assert cli.main(["show", str(root)]) != 0
    assert "quic-dc-1/result.json: malformed result" in capsys.readouterr().err


WIDTH = 80
WIDE = 2000
OF_NAMES = {
    *(
        "transport",
        "mode",
        "way",
        "runs",
        "flow",
        "capacity",
        "cells",
        "configuration",
        "experiment",
    ),
    *("experiment", "measure", "clock"),
}
"""Heads of what a record's name is made of, which it does not repeat."""
LONG = "reports-of-every-leg-by-a-policy-with-a-long-name, t-Reordering 1500 ms"


def rendered(shown: RenderableType, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(shown)
    return capture.get()


def words(text: str) -> Counter[str]:
    """What stands there, without what frames it."""
    return Counter(re.findall(r"[^\s,─]+", text))


def check(narrow: str, wide: str) -> None:
    """Each word of a table with all the room that it wants is there, in lines of 80 characters."""
    assert wide.strip()
    assert max(map(len, narrow.splitlines())) <= WIDTH
    assert not (words(wide) - words(narrow)).keys() - OF_NAMES
    assert "…" not in narrow


def test_a_comparison_of_many_legs_and_splits_is_not_cut() -> None:
    rows = [("mpquic-picoquic", "multipath"), ("quic-ngtcp2", "dc-duplicate"), ("tcp", "dc")]
    runs, ways = list[RunResult](), list[str]()
    for (transport, mode), number in product(rows, range(1, 4)):
        ways += [f"{LONG} {number}, {transport} {mode}"] * 2
        legs = [123_456_789 // 10**leg for leg in range(9)]
        runs += [
            result(transport, mode, goodput_mbps=1234.5, leg_bytes=legs),
            no_result(transport, mode, "disturbed", "this machine: busy"),
        ]
    table = results_table(runs, [{"way": way} for way in ways])
    sheet = render_table(compare_table(table))
    check(rendered(sheet, WIDTH), rendered(sheet, WIDE))


def round_trips() -> Sheet:
    trip = {"leg": 12, "backhaul": 11, "sent": 10_000, "received": 10_000, "minimum_ms": 1234.5}
    times = {"mean_ms": 2345.6, "maximum_ms": 34567.8, "serialisation_ms": None}
    return run._round_trips({"round_trips": [trip | times] * 2})


def quantities() -> Sheet:
    legs = [{"downlink": {"rate_mbps": 20, "loss_percent": 0.1}}] * 12
    base = Scenario.check({"transport": "tcp", "mode": "sc", "legs": legs}, "test")
    lost = {"loss_percent": 0.2535, "ideal_loss_percent": 0.0, "packets": 4733}
    run = lost | {"leg": 12, "lost_packets": 12, "ideal_lost_packets": 0}
    return calibrate.calibration_sheet(pd.DataFrame([run]), base)


@pytest.mark.parametrize("made", [round_trips, quantities])
def test_nothing_of_what_needs_the_real_clock_is_cut(made: Callable[[], Sheet]) -> None:
    check(rendered(made(), WIDTH), rendered(made(), WIDE))


def test_flows_have_jains_index_below_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flow = {"mode": "dc", "transport": "quic", "goodput_mbps": 12.0, "completion_s": 4.0}
    several = result(mode="flows", details={"flows": [flow, flow], "jain_index": 1.0})
    run.tell_run(several, tmp_path, as_json=False)
    assert "Jain's fairness index of the flows: 1.000" in capsys.readouterr().out


def test_what_does_not_fit_is_a_record_with_units() -> None:
    heads = [
        Head("mode", text=True),
        Head("runs", text=True),
        *(Head(f"leg {n}", "MB") for n in range(9)),
    ]
    sheet = Sheet(heads)
    sheet.add("dc", "3 ok", *("12.3",) * 8, "48.2 kB")
    lines = [line.rstrip() for line in rendered(sheet, 40).splitlines()]
    assert lines[:2] == ["dc 3 ok", "    leg 0 12.3 MB, leg 1 12.3 MB, leg 2"]
    assert lines[-1].endswith("leg 8 48.2 kB")
