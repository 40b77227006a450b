from __future__ import annotations

import math
import statistics
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from minitopo_dc.results import compare_table, load_results, render_table, results_table
from minitopo_dc.results.run_result import RunResult
from tests.results.synthetic_runs import no_result, result, save

DIED = no_result("quic", "dc", "failed", "it died", repetition=2)


def summarise(root: Path, *runs: RunResult) -> pd.DataFrame:
    for run in runs:
        save(root, run)
    return compare_table(load_results(root))


def rendered(
    comparison: pd.DataFrame, width: int = 200, labels: dict[str, str] | None = None
) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(render_table(comparison, labels or {}))
    return capture.get()


@settings(max_examples=20)
@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=6))
def test_numbers_are_means_and_sample_deviations_of_the_runs(goodputs: list[float]) -> None:
    runs = [
        result(goodput_mbps=value, completion_s=value, repetition=n, leg_bytes=[n, 2])
        for n, value in enumerate(goodputs)
    ]
    (row,) = compare_table(results_table(runs)).to_dict("records")
    mean = statistics.mean(goodputs)
    assert (row["goodput_mbps"], row["completion_s"]) == (pytest.approx(mean),) * 2
    assert (row["leg_bytes_1"], row["leg_bytes_2"]) == ((len(runs) - 1) / 2, 2)
    if len(runs) == 1:
        assert math.isnan(row["goodput_sd_mbps"])
    else:
        deviation = statistics.stdev(goodputs)
        assert row["goodput_sd_mbps"] == pytest.approx(deviation, abs=1e-9)
    assert (row["capacity_share"], row["reason"]) == (pytest.approx(0.625), "")


def test_a_run_that_failed_is_counted_and_in_no_mean(tmp_path: Path) -> None:
    failed = no_result("quic", "dc", "failed", "one path only", leg_bytes=[9, 9], repetition=2)
    (row,) = summarise(tmp_path, result(), failed).to_dict("records")
    assert (row["runs"], row["ok"], row["failed"], row["unsupported"]) == (2, 1, 1, 0)
    assert (row["goodput_mbps"], row["leg_bytes_1"]) == (20.0, 5_300_000)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([result(), result(goodput_mbps=21.0, repetition=2)], ["20.5 ± 0.71", "62.5\n", "2 ok"]),
        ([result()], ["20.0 ", "1 ok"]),
        ([result(), DIED], ["1 ok, 1 failed [1]", "1 of 2 runs: 20.0", "[1] quic dc: it died"]),
        ([no_result("quic", "dc", "failed", "exit [/bold] [red]1")], ["exit [/bold] [red]1"]),
        ([result(leg_bytes=[48_230, 5_200_000])], ["48.2 kB   5.20"]),
    ],
    ids=["mean", "one run", "mixed", "markup", "few bytes"],
)
def test_the_terminal_shows_means_deviations_and_reasons(
    runs: list[RunResult], words: list[str], tmp_path: Path
) -> None:
    text = rendered(summarise(tmp_path, *runs))
    assert [word for word in words if word not in text] == []
    assert ("±" in text) is (sum(run.status == "ok" for run in runs) > 1)


def test_a_note_says_why_a_path_of_a_right_run_was_not_used() -> None:
    uses = [{"1": "used", "2": "over first"}, {"1": "used", "2": "unused by scheduler"}]
    runs = [
        result("mptcp", "multipath", repetition=n, details={"path_use": use})
        for n, use in enumerate(uses, start=1)
    ]
    shown = " ".join(rendered(compare_table(results_table(runs))).split())
    assert "2 ok [1]" in shown
    assert (
        "[1] mptcp multipath: the transfer was over before the path on leg 2 carried data "
        "(1 of 2 runs); its scheduler left the path on leg 2 unused (1 of 2 runs)"
    ) in shown


@pytest.mark.parametrize(
    ("judged", "disturbed", "repeats", "words"),
    [
        (1, 0, 0, "The machine disturbed none of 1 run"),
        (4, 0, 0, "The machine disturbed none of 4 runs"),
        (4, 1, 2, "The machine disturbed 1 of 4 runs; 2 repeated"),
    ],
)
def test_a_note_says_what_the_machine_disturbed(
    tmp_path: Path, judged: int, disturbed: int, repeats: int, words: str
) -> None:
    table = summarise(tmp_path, result())
    counted = table.assign(judged=judged, disturbed=disturbed, repeats=repeats)
    assert render_table(counted).notes == [words]


def test_a_leg_that_a_run_does_not_have_is_a_dash(tmp_path: Path) -> None:
    text = rendered(summarise(tmp_path, result("tcp", "sc", leg_bytes=[1_000_000]), result()))
    (row,) = (line for line in text.splitlines() if line.startswith("tcp"))
    assert row.split()[-3:] == ["1.00", "-", "62.5"]


def test_what_users_programs_measure_is_in_the_table(tmp_path: Path) -> None:
    units = {"rtt_ms": "ms", "answers": ""}
    runs = [
        result(
            "command",
            "dc",
            workload="command",
            repetition=number,
            details={"rtt_ms": rtt_ms, "answers": 50.0, "units": units},
        )
        for number, rtt_ms in ((1, 30.0), (2, 40.0))
    ]
    table = summarise(tmp_path, *runs)
    (row,) = table.to_dict("records")
    assert (row["rtt_ms"], row["answers"], row["units"]) == (35.0, 50.0, units)
    head, unit, _, shown = rendered(table).splitlines()[:4]
    assert "rtt ms" in head
    assert "answers" in head + unit
    assert "35.0 ± 7.1" in shown
