"""The report: one file, its figures, its errors, and what is not there."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.analysis.measures.named import measure
from minitopo_dc.campaign.executors import Execute
from minitopo_dc.campaign.report.evaluation import comparison, load_sources
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Clock, Scenario
from tests.campaign.campaigns import document, fail, pretend, run_with, write

BATCH = {
    "title": "Throughput <b> against the batch size",
    "source": "table 5.3",
    "grid": {"pdcp.batch": [2, 100, 500]},
    "figure": {
        "x": "pdcp.batch",
        "x_label": "batch size (packets)",
        "curves": [
            {"configuration": "default", "mean": "quic_mbps", "sd": "quic_sd"},
            {"configuration": "large", "mean": "quic_bm_mbps", "sd": "quic_bm_sd"},
        ],
    },
    "reference": {"table": "thesis_table_5_3_batch_size.csv", "x": "batch_size_packets"},
}
OURS = {2: 31.0, 100: 30.0, 500: 30.0}
"""Theirs, 'QUIC': 31.0 (1.39), 32.5 (1.15), 22.8 (0.14)."""


def made_up(scenario: Scenario, directory: Path) -> RunResult:
    """OURS, 1 Mbit/s less in the first repetition and more in the second."""
    (directory / "environment.json").write_text(json.dumps({"kernel": "6.1", "cpus": 2}))
    goodput = OURS[scenario.pdcp.batch] + (-1.0 if scenario.seed == 1 else 1.0)
    return replace(pretend(scenario, directory), goodput_mbps=goodput)


def campaign(
    root: Path, content: dict[str, Any], execute: Execute = made_up, clock: Clock = "virtual"
) -> Path:
    """Run a campaign without running anything."""
    return run_with(root, content, execute, clock)


@pytest.fixture
def done(tmp_path: Path) -> Path:
    return campaign(tmp_path / "c", document(experiments={"batch": BATCH}))


def report(*directories: Path, output: Path | None = None) -> str:
    """Make a report; return its HTML."""
    where = output or directories[0] / "report"
    options = ["--output", str(where)]
    assert main(["campaign", "report", *map(str, directories), *options]) == 0
    return (where / "report.html").read_text(encoding="utf-8")


def test_ours_are_compared_with_theirs_cell_by_cell(done: Path) -> None:
    sources = load_sources([done])
    experiment = sources[0].plan.file.experiments["batch"]
    rows = comparison(sources, "batch", experiment)
    default = rows[rows["curve"] == "default"].set_index("x")
    assert list(default["ours"]) == [31.0, 30.0, 30.0]
    assert list(default["theirs"]) == [31.0, 32.5, 22.8]
    assert list(default["ours_sd"]) == pytest.approx([2**0.5] * 3)
    assert list(default["outside"]) == [False, True, True]


def test_cells_with_the_same_x_are_one_point_and_a_curve_has_rows_of_its_own(
    tmp_path: Path,
) -> None:
    curve = {"mean": "goodput_mbps", "sd": "goodput_sd"}
    figure = {
        "kind": "bars",
        "x": "handover.case",
        "curves": [
            {"configuration": "cubic", "where": {"cc": "cubic"}, **curve},
            {"configuration": "bbr1", "where": {"cc": "bbr"}, **curve},
        ],
    }
    cases = {
        "title": "Cases",
        "base": {"mode": "multipath"},
        "grid": {"label.start": [0, 1, 2], "handover.case": ["sp", 1]},
        "figure": figure,
        "reference": {"table": "mpquic_cellular_table_4_residential.csv", "x": "case"},
    }
    configurations = {
        name: {"transport": "mpquic-picoquic", "congestion_control": name}
        for name in ("cubic", "bbr1")
    }
    content = document(configurations=configurations, experiments={"cases": cases})
    sources = load_sources([campaign(tmp_path / "c", content, pretend)])
    rows = comparison(sources, "cases", sources[0].plan.file.experiments["cases"])
    assert list(rows["x"]) == ["sp", 1] * 2
    assert list(rows["runs"]) == [3 * 2] * 4
    assert list(rows["theirs"]) == [11.35, 6.05, 11.68, 6.90]


def test_the_report_is_one_file_with_every_figure_in_it(done: Path) -> None:
    html = report(done)
    assert list(charts(html)) == ["batch"]
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', html) == []
    assert "https://" not in html.replace("https://github.com/leeoniya/uPlot", "")


def charts(html: str) -> dict[str, Any]:
    """What the page draws, by name."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html)
    found: dict[str, Any] = json.loads(data)["charts"]
    return found


def test_a_curve_has_its_points_error_bars_and_the_paper_s_beside_it(done: Path) -> None:
    (panel,) = charts(report(done))["batch"]["panels"]
    ours, theirs = panel["series"][:2]
    assert [each["label"] for each in (ours, theirs)] == ["default, ours", "default, paper"]
    assert panel["xs"][ours["x"]] == [2, 100, 500]
    assert ours["y"] == [31, 30, 30]
    assert ours["low"][0] == pytest.approx(31 - 2**0.5, rel=1e-3)
    assert (ours["hollow"], theirs["hollow"]) == (False, True)
    assert [name for _, name in panel["x"]["ticks"]][:3] == ["2", "10", "50"]


def test_a_curve_without_a_paper_beside_it_has_its_own_name_alone(
    tmp_path: Path,
) -> None:
    figure = {"x": "pdcp.batch", "curves": [{"configuration": "default"}]}
    alone = {key: value for key, value in BATCH.items() if key != "reference"} | {"figure": figure}
    done = campaign(tmp_path / "c", document(experiments={"batch": alone}))
    (panel,) = charts(report(done))["batch"]["panels"]
    assert [each["label"] for each in panel["series"]] == ["default"]


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_figures_for_papers_are_made_when_asked_for(done: Path, kind: str) -> None:
    assert main(["campaign", "report", str(done), "--figures", kind]) == 0
    assert [path.name for path in (done / "report/figures").iterdir()] == [f"batch.{kind}"]


def test_without_being_asked_a_report_has_no_figures_for_papers(done: Path) -> None:
    report(done)
    assert not (done / "report/figures").exists()


def test_the_report_tells_errors_and_conditions(done: Path) -> None:
    html = report(done)
    assert "table 5.3" in html
    assert "<td>kernel</td><td" in html
    assert "seeds 1 to 2" in html
    assert "Every run is ok." in html
    mean_percent = (0 + 2.5 / 32.5 + 7.2 / 22.8) / 3 * 100
    assert f"<td>{mean_percent:.1f}</td>" in html
    for phrase in OLD_WORDS:
        assert phrase not in html


OLD_WORDS = ("To be known", "no reason that is counted", "always says", "legs rests", "95th ms")


def test_text_of_a_campaign_is_text_in_the_report(done: Path) -> None:
    assert "Throughput &lt;b&gt; against the batch size" in report(done)


def test_what_failed_or_is_missing_is_in_the_report_with_its_reason(tmp_path: Path) -> None:
    def some(scenario: Scenario, directory: Path) -> RunResult:
        return (fail if scenario.pdcp.batch == 2 else made_up)(scenario, directory)

    root = campaign(tmp_path / "c", document(experiments={"batch": BATCH}), some)
    shutil.rmtree(next((root / "runs").glob("*")))
    html = report(root)
    assert "it broke" in html
    assert "not run yet" in html


def test_an_experiment_without_a_run_that_is_ok_has_a_reason_in_place_of_a_figure(
    tmp_path: Path,
) -> None:
    html = report(campaign(tmp_path / "c", document(experiments={"batch": BATCH}), fail))
    assert charts(html) == {}
    assert "No figure: none of its runs is ok" in html


def test_a_campaign_of_which_nothing_was_run_has_a_report(tmp_path: Path) -> None:
    root = campaign(tmp_path / "c", document(experiments={"batch": BATCH}))
    shutil.rmtree(root / "runs")
    html = report(root)
    assert html.count("not run yet") == 2
    assert charts(html) == {}


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ("rtt_ms", "no qlog of the server"),
        ("leg_bytes_9", "none of its runs has data for the figure"),
        ("links_flow_9_mbps", "ue-summary.json"),
    ],
)
def test_a_measure_that_runs_lack_spoils_its_own_figure_only(
    measure: str, reason: str, tmp_path: Path
) -> None:
    curves = [{"configuration": "default", "measure": measure, "mean": "quic_mbps"}]
    spoilt = BATCH | {"figure": {"x": "pdcp.batch", "curves": curves}}
    html = report(campaign(tmp_path / "c", document(experiments={"a": spoilt, "b": BATCH})))
    assert reason in html
    assert list(charts(html)) == ["b"]


def test_two_clocks_make_one_report_with_the_difference(tmp_path: Path) -> None:
    def faster(scenario: Scenario, directory: Path) -> RunResult:
        made = made_up(scenario, directory)
        assert made.goodput_mbps is not None
        return replace(made, goodput_mbps=made.goodput_mbps * 1.1)

    content = document(experiments={"batch": BATCH})
    virtual = campaign(tmp_path / "c", content)
    real = campaign(tmp_path / "c", content, faster, clock="real")
    html = report(virtual, real)
    assert "real against virtual" in html
    assert "<td>+10.0</td><td>10.0</td>" in html


SERIES: dict[str, Any] = {
    "legs": {"title": "Legs", "cells": [{"pdcp.batch": 50}], "figure": {"kind": "legs"}},
    "window": {
        "title": "Window",
        "base": {"options.qlog": True},
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "window"},
    },
    "occasion": {
        "title": "Occasion",
        "base": {"options.qlog": True, "pdcp.delivery": "off", "workload.size_mb": 1},
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "occasion"},
    },
    "rates": {
        "title": "Rates",
        "base": {
            "mode": "flows",
            "flows": [{"mode": "dc"}, {"mode": "sc"}],
            "workload.duration_s": 2,
        },
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "rates"},
    },
    "delay": {
        "title": "Delay of each packet",
        "base": {"options.qlog": True},
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "delay"},
    },
    "connection": {
        "title": "One connection",
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "connection"},
    },
    "under-load": {
        "title": "Latency under load",
        "base": {
            "mode": "flows",
            "flows": [
                {"mode": "dc", "workload": {"duration_s": 1}},
                {
                    "mode": "dc",
                    "workload": {
                        "kind": "request-response",
                        "interval_s": 0.1,
                        "duration_s": 1,
                    },
                },
            ],
        },
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "under-load"},
    },
    "throughput-delay": {
        "title": "Goodput against delay",
        "base": {"options.qlog": True},
        "cells": [{"pdcp.batch": 50}],
        "figure": {"kind": "throughput-delay", "curves": [{"configuration": "default"}]},
    },
    "bars": {
        "title": "Bars",
        "base": {"options.qlog": True},
        "cells": [{"pdcp.batch": 50}],
        "figure": {
            "kind": "bars",
            "curves": [
                {"configuration": "default", "measure": name}
                for name in ("lost_packets", "drop_occasions", "rtt_ms", "utilisation_leg_1")
            ],
        },
    },
    "links": {
        "title": "Duplicated, at the links",
        "base": {
            "mode": "flows",
            "flows": [{"mode": "dc-duplicate"}, {"mode": "sc"}],
            "workload.duration_s": 2,
        },
        "cells": [{"pdcp.batch": 50}],
        "figure": {
            "curves": [
                {"configuration": "default", "measure": name}
                for name in ("flow_1_mbps", "links_flow_1_mbps", "links_jain_index")
            ],
        },
    },
}
FIGURES = len(SERIES) + 1
"""Those, and that of BATCH."""


@pytest.fixture(scope="module")
def real_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a figure of every kind, really run on the virtual clock."""
    for experiment in SERIES.values():
        experiment["figure"].setdefault("x", "pdcp.batch")
    root = tmp_path_factory.mktemp("series")
    only = {"default": {"transport": "quic"}}
    content = document(
        experiments=SERIES | {"batch": BATCH | {"configurations": ["default"]}},
        configurations=only | {"large": {"transport": "quic", "workload.size_mb": 0.2}},
        repetitions=1,
    )
    path, output = write(root, content), root / "out"
    assert main(["campaign", "run", str(path), "--output", str(output)]) == 0
    return output


def test_every_kind_of_figure_is_drawn_from_real_runs(real_runs: Path) -> None:
    html = report(real_runs)
    assert "No figure" not in html
    assert len(charts(html)) == FIGURES


def test_one_way_delays_are_those_of_the_leg_and_above(real_runs: Path) -> None:
    panel, _ = charts(report(real_runs))["delay"]["panels"]  # one for each configuration
    (packets,) = panel["series"]
    assert min(packets["y"]) > 5  # ms: 10 of either leg, with a jitter of 1
    assert len(packets["y"]) > 50


def test_a_connection_has_its_rate_window_and_round_trip_over_time(real_runs: Path) -> None:
    panels = charts(report(real_runs))["connection"]["panels"]
    rate, window, delay = (panel["series"][0]["y"] for panel in panels)
    assert max(rate) > 1  # Mbit/s: 100 kB in a tenth of a second or two
    assert min(window) > 10  # kB: ten packets and more
    assert min(delay) > 18  # ms: 20 there and back, with a jitter of 1 each way


def test_requests_meet_the_queue_that_a_download_fills(real_runs: Path) -> None:
    rates, delays = charts(report(real_runs))["under-load"]["panels"]
    assert max(rates["series"][0]["y"]) > 5  # Mbit/s
    delay = delays["series"][0]["y"]
    assert 17 < min(delay) < max(delay)  # ms: 20 there and back, with a jitter of 1 each way
    assert max(delay) > 30
    assert len(delays["series"][0]["y"]) == 10


def test_goodput_stands_against_both_quantiles_of_the_delay(real_runs: Path) -> None:
    late, median = charts(report(real_runs))["throughput-delay"]["panels"]
    assert late["x"]["label"] == "one-way delay of packets, 95th percentile (ms)"
    assert median["xs"][0] < late["xs"][0]
    assert late["series"][0]["y"] == median["series"][0]["y"]


@pytest.mark.parametrize(
    ("first_byte_s", "expected"), [(0.5, 40.0), (None, math.nan), (2.5, math.nan)]
)
def test_throughput_is_of_the_time_from_the_first_byte_on(
    first_byte_s: float | None, expected: float
) -> None:
    row = {"size_bytes": 10_000_000, "completion_s": 2.5, "goodput_mbps": 32.0}
    row |= {} if first_byte_s is None else {"first_byte_s": first_byte_s}
    assert measure(row, "throughput_mbps") == pytest.approx(expected, nan_ok=True)


def test_the_waiting_time_in_the_reordering_buffer_is_a_measure(real_runs: Path) -> None:
    (source,) = load_sources([real_runs])
    (row,) = source.cells_of("legs", "default").to_dict("records")
    summary = json.loads((Path(row["directory"]) / "ue-summary.json").read_text(encoding="utf-8"))
    bearer = summary["receive"]["1"]
    waited = bearer["waiting_total_ns"] / bearer["delivered"] / 1e6
    assert measure(row, "reordering_wait_ms") == pytest.approx(waited)
    assert 0 < waited < 200


def test_at_the_links_a_duplicated_flow_counts_twice(real_runs: Path) -> None:
    (source,) = load_sources([real_runs])
    (row,) = source.cells_of("links", "default").to_dict("records")
    once, twice = measure(row, "flow_1_mbps"), measure(row, "links_flow_1_mbps")
    assert twice == pytest.approx(2 * once, rel=0.1)
    assert measure(row, "links_flow_2_mbps") == pytest.approx(measure(row, "flow_2_mbps"), rel=0.1)
    assert measure(row, "links_jain_index") != measure(row, "jain_index")


def test_a_series_that_the_runs_lack_is_a_reason_and_not_the_end(tmp_path: Path) -> None:
    window = SERIES["window"] | {"base": {}, "figure": {"kind": "window", "x": "pdcp.batch"}}
    root = campaign(tmp_path / "c", document(experiments={"window": window}), pretend)
    assert "No figure: " in report(root)


def test_a_report_of_no_campaign_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "report", str(tmp_path)]) == 2
    assert "no campaign was run here" in capsys.readouterr().err


def fails_once(scenario: Scenario, directory: Path) -> RunResult:
    """The second repetition with a batch of 2 packets fails."""
    failed = scenario.pdcp.batch == 2 and scenario.seed == 1
    return (fail if failed else made_up)(scenario, directory)


def test_runs_that_failed_are_left_out_of_a_curve_and_counted(tmp_path: Path) -> None:
    root = campaign(tmp_path / "c", document(experiments={"batch": BATCH}), fails_once)
    html = report(root)
    assert (
        "virtual clock: 2 of 12 runs failed. They are left out of curves, points and claims."
        in html
    )
    assert "<td>1 of 2</td>" in html
    (source,) = load_sources([root])
    rows = comparison([source], "batch", source.plan.file.experiments["batch"])
    assert rows.loc[rows["x"] == 2, "ours"].tolist() == [32.0, 32.0]


@pytest.mark.parametrize("kind", ["curves", "bars"])
def test_a_curve_of_runs_without_end_is_drawn(tmp_path: Path, kind: str) -> None:
    curves = [{"configuration": "default", "measure": "completion_s"}]
    figure = {"kind": kind, "x": "pdcp.batch", "curves": curves}
    one = BATCH | {"figure": figure}
    content = document(failed_runs="endless", experiments={"batch": one})
    html = report(campaign(tmp_path / "c", content, fails_once))
    assert len(charts(html)) == 1
    assert "A run that failed counts as one that delivered nothing and never ended" in html
