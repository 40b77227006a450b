"""Summaries of a table of runs: columns, labels, means, Markdown."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from rich.console import Console

from minitopo_dc import load
from minitopo_dc.results import compare_table, render_table
from minitopo_dc.results.judge import blank_result
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import main_measure, setting_of, value_name
from minitopo_dc.results.tables.sheet import as_markdown
from minitopo_dc.results.tables.summary import mean_tables
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save, table_of

DIED = no_result("quic", "dc", "failed", "it died", seed=2)


def summarise(root: Path, *runs: RunResult) -> pd.DataFrame:
    for run in runs:
        save(root, run)
    return compare_table(load(root))


def rendered(comparison: pd.DataFrame, width: int = 200) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(render_table(comparison))
    return capture.get()


@settings(max_examples=20)
@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=6))
def test_numbers_are_means_and_sample_deviations_of_the_runs(goodputs: list[float]) -> None:
    runs = [
        result(goodput_mbps=value, completion_s=value, seed=n, leg_bytes=[n, 2])
        for n, value in enumerate(goodputs)
    ]
    (row,) = compare_table(table_of({"DC": runs})).to_dict("records")
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
    failed = no_result("quic", "dc", "failed", "one path only", leg_bytes=[9, 9], seed=2)
    (row,) = summarise(tmp_path, result(), failed).to_dict("records")
    assert (row["runs"], row["ok"], row["failed"], row["unsupported"]) == (2, 1, 1, 0)
    assert (row["goodput_mbps"], row["leg_bytes_1"]) == (20.0, 5_300_000)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([result(), result(goodput_mbps=21.0, seed=2)], ["20.5 ± 0.71", "62.5\n", "2 ok"]),
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
        result("mptcp", "multipath", seed=n, details={"path_use": use})
        for n, use in enumerate(uses, start=1)
    ]
    shown = " ".join(rendered(compare_table(table_of({"MPTCP": runs}))).split())
    assert "2 ok [1]" in shown
    assert (
        "[1] MPTCP: the transfer was over before the path on leg 2 carried data "
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


def test_what_users_programs_measure_is_in_the_table(tmp_path: Path) -> None:
    units = {"rtt_ms": "ms", "answers": ""}
    runs = [
        result(
            "command",
            "dc",
            workload="command",
            seed=number,
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


def test_a_setting_is_a_factor_with_its_value_and_unit() -> None:
    assert setting_of("loss_percent", 0.1) == "loss 0.1 %"
    assert setting_of("control", "cubic") == "cubic"
    assert value_name((1.0, 2)) == "1:2"


@pytest.mark.parametrize(
    ("columns", "main"),
    [
        ({"goodput_mbps": 5.0, "completion_s": 1.0}, "goodput_mbps"),
        ({"goodput_mbps": None, "delay_p95_ms": 30.0, "answered": 5}, "delay_p95_ms"),
        ({"goodput_mbps": None, "frame_delay_p95_ms": 80.0}, "frame_delay_p95_ms"),
        ({"bitrate_mbps": 4.0, "linear_qoe_mbps": 3.5}, "linear_qoe_mbps"),
        ({"seed": 1, "words": 7}, "words"),
        ({"completion_s": 1.0, "leg_bytes_1": 9, "handshake_s": 0.1, "page_ms": 7}, "page_ms"),
        (
            {"completion_s": 1.0, "flow_1_goodput_mbps": 5, "flow_2_delay_p95_ms": 9},
            "flow_2_delay_p95_ms",
        ),
        ({"flow_1_goodput_mbps": 5.0, "flow_2_goodput_mbps": 4, "jain_index": 0.9}, "jain_index"),
        ({"seed": 1}, "goodput_mbps"),
    ],
)
def test_the_main_measure_is_that_of_the_workload(columns: dict[str, float], main: str) -> None:
    assert main_measure(pd.DataFrame([columns])) == main


BASE: dict[str, Any] = {"transport": "quic", "legs": [{"downlink": {"rate_mbps": 20}}] * 2}


def recorded(root: Path, name: str, **fields: Any) -> RunResult:
    """A run with its scenario, as a comparison leaves it."""
    scenario = Scenario.check(BASE | fields, "test")
    run = root / name
    run.mkdir(parents=True)
    saved = replace(blank_result(scenario, run), reason="it broke")
    scenario.save(run / "scenario.yaml")
    saved.save(run)
    return saved


def test_a_run_tells_its_leg_split_and_t_reordering_where_its_mode_has_them(tmp_path: Path) -> None:
    recorded(tmp_path, "single", mode="sc", leg=2)
    recorded(tmp_path, "dual", mode="dc", pdcp={"t_reordering_ms": 50})
    recorded(tmp_path, "both", mode="multipath", transport="mptcp")
    table = load(tmp_path).set_index("run")
    assert table["leg"].to_dict()["single"] == 2
    assert table["leg"].isna().sum() == 2
    assert table["pdcp.t_reordering_ms"].to_dict()["dual"] == 50
    assert table["pdcp.t_reordering_ms"].isna().sum() == 2


def test_what_differs_between_the_runs_of_a_comparison_is_a_column(tmp_path: Path) -> None:
    for batch in (2, 100):
        recorded(tmp_path, f"batch-{batch}", mode="dc", pdcp={"batch": batch})
    table = load(tmp_path).set_index("run")
    assert table["pdcp.batch"].to_dict() == {"batch-2": 2, "batch-100": 100}
    assert "pdcp.sn_bits" not in table
    assert "pdcp.batch" not in load(tmp_path / "batch-2")
    assert table.attrs["labels"] == ["transport", "mode", "pdcp.batch"]


def test_rows_are_summed_up_by_their_labels(tmp_path: Path) -> None:
    for batch in (2, 100):
        recorded(tmp_path, f"batch-{batch}", mode="dc", pdcp={"batch": batch})
    table = compare_table(load(tmp_path))
    assert table[["mode", "pdcp.batch", "failed"]].to_dict("records") == [
        {"mode": "dc", "pdcp.batch": batch, "failed": 1} for batch in (100, 2)
    ]
    assert compare_table(table_of({"DC": [result()]}).drop(columns="way"))["ok"].tolist() == [1]


def test_a_table_of_means_begins_with_the_main_measure_and_has_intervals() -> None:
    runs = pd.DataFrame({"way": "DC", "aaa": 1.0, "completion_s": 2.0, "leg_bytes_1": [2e6, 4e6],
                         "capacity_share": 0.5, "goodput_mbps": [11.0, 12.0]})  # fmt: skip
    numbers, shown = mean_tables(runs, ["way"])
    assert list(shown) == [
        *("way", "n", "goodput (Mbit/s)", "completion (s)", "capacity share", "aaa"),
        "leg 1 delivered (MB)",
    ]
    assert numbers["goodput_mbps_low"][0] == pytest.approx(11.5 - 12.7062 * 0.5, abs=1e-4)
    assert shown["leg 1 delivered (MB)"][0].startswith("3.00 ±")


def test_a_page_of_markdown_has_texts_and_tables_and_no_figures() -> None:
    table = pd.DataFrame({"way": ["DC | 1:1", "MP-QUIC"], "Mbit/s": [12.3456, float("nan")]})
    sections = [("First", ["One.\n\nTwo.", table]), ("Drawn", Figure()), ("Last", "Three.")]
    assert as_markdown("Page", "Of\nit.", sections) == (
        "# Page\n\nOf it.\n\n## First\n\nOne.\n\nTwo.\n\n"
        "| way | Mbit/s |\n| --- | --- |\n| DC \\| 1:1 | 12.3 |\n| MP-QUIC |  |\n\n"
        "## Last\n\nThree.\n"
    )
    cases = pd.DataFrame({"n": [1]}, index=pd.Index(["sp"], name="case"))
    assert "| case | n |\n| --- | --- |\n| sp | 1 |" in as_markdown("P", "", [("S", cases)])
