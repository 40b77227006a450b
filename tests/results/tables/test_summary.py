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


def test_without_a_good_run_there_is_no_number_and_the_first_reason(tmp_path: Path) -> None:
    runs = [no_result("quic", "dc", "failed", f"reason {i}", repetition=i) for i in (1, 2)]
    (row,) = summarise(tmp_path, *runs).to_dict("records")
    numbers = ("goodput_mbps", "goodput_sd_mbps", "completion_s", "leg_bytes_1", "capacity_share")
    assert all(math.isnan(row[name]) for name in numbers if name in row)
    assert row["reason"] == "reason 1"


def test_each_transport_and_mode_is_a_row_in_the_order_of_first_appearance() -> None:
    pairs = [("tcp", "dc"), ("mptcp", "multipath"), ("tcp", "sc"), ("tcp", "dc")]
    runs = [result(transport, mode) for transport, mode in pairs]
    rows = compare_table(pd.DataFrame(runs).assign(leg_bytes_1=1, trust="", repeats=0))
    assert list(zip(rows["transport"], rows["mode"], strict=True)) == pairs[:3]
    assert list(rows["runs"]) == [2, 1, 1]


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


def test_the_terminal_shows_a_reason_in_place_of_numbers(tmp_path: Path) -> None:
    unsupported = no_result("mpquic", "multipath", "unsupported", "cargo 1.70\nis missing")
    lines = rendered(summarise(tmp_path, result(), unsupported)).splitlines()
    (row,) = (line for line in lines if line.startswith("mpquic"))
    assert row.split() == ["mpquic", "multipath", "1", "unsupported", "[1]", *"-----"]
    assert lines[-1].strip() == "[1] mpquic multipath: cargo 1.70 is missing"


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


def test_one_reason_of_several_rows_is_one_note(tmp_path: Path) -> None:
    missing, other = "cargo 1.70\nis missing", "it died"
    runs = [
        no_result("mpquic", "multipath", "unsupported", missing),
        no_result("tcp", "dc", "failed", other),
        no_result("quic", "dc", "unsupported", missing),
    ]
    table = summarise(tmp_path, *runs)
    assert render_table(table).notes == [
        "[1] quic dc, mpquic multipath: cargo 1.70 is missing",
        "[2] tcp dc: it died",
    ]
    lines = rendered(table).splitlines()
    (row,) = (line for line in lines if line.startswith("quic"))
    assert "1 unsupported [1]" in row


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


def test_the_longest_names_and_two_legs_fit_80_characters(tmp_path: Path) -> None:
    long = [result("mpquic-picoquic", "multipath", repetition=repetition) for repetition in (1, 2)]
    text = rendered(summarise(tmp_path, *long, result("quic", "dc-duplicate")), width=80)
    assert ["mpquic-picoquic", "multipath", "2", "ok", "20.0", "±", "0"] in [
        line.split()[:7] for line in text.splitlines()
    ]


def test_a_transport_is_shown_by_its_label_in_two_lines_where_there_is_no_room(
    tmp_path: Path,
) -> None:
    long = [result("mpquic-picoquic", "multipath", repetition=repetition) for repetition in (1, 2)]
    comparison = summarise(tmp_path, *long, result("own", "dc-duplicate"))
    labels = {"mpquic-picoquic": "mpquic-picoquic (picoquic)"}
    wide = rendered(comparison, labels=labels)
    assert "mpquic-picoquic (picoquic)  multipath" in wide
    assert "own  " in wide
    narrow = rendered(comparison, width=80, labels=labels)
    assert [line.split()[0] for line in narrow.splitlines()[-3:]] == [
        *("own", "mpquic-picoquic", "(picoquic)"),
    ]


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
