"""A misspelt measure or column is one error before anything is run, or when it is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.analysis.measures.named import EXAMPLES, is_known
from minitopo_dc.campaign.file.fields import CampaignFile
from minitopo_dc.campaign.file.measure_names import ONLY_JOINED, NeededMeasure, needed_measures
from minitopo_dc.campaign.report.evaluation import load_sources
from minitopo_dc.campaign.report.joined import POINT_FUNCTIONS
from minitopo_dc.cli import main
from minitopo_dc.runs.judge import blank_result
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, pretend, run_with, write

PROGRAM = {"kind": "command", "client": ["load"], "measures": {"load_ms": {"regex": "(.)"}}}


def content(measure: str, **fields: Any) -> dict[str, Any]:
    """Two configurations that are asked for the same measure."""
    names = ("default", "large")
    curves = [{"configuration": name, "measure": measure} for name in names]
    figure = {"x": "pdcp.batch", "curves": curves}
    one = {"title": "One", "grid": {"pdcp.batch": [2, 100]}, "figure": figure}
    return document(experiments={"one": one | fields})


def telling(**numbers: float) -> Any:
    """Configuration `default` tells these numbers, the other one nothing."""

    def execute(scenario: Scenario, directory: Path) -> RunResult:
        found = {} if scenario.options.get("receive_buffer_bytes") else numbers
        return replace(pretend(scenario, directory), details=dict(found))

    return execute


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"figure": {"x": "pdcp.batch", "curves": [{"configuration": "default"}]}},
            None,
        ),
        ({"figure": {"x": "pdcp.batch", "curves": ["default", "large"]}}, None),
        (
            {"joined": {"gain": "= large.goodput_mbp / default.goodput_mbps"}},
            r"one\.joined\.gain: goodput_mbp is no measure of large; did you mean goodput_mbps\?",
        ),
        (
            {"joined": {"gain": "= (large if 1 else default)['complition_s']"}},
            r"one\.joined\.gain: complition_s is no measure of .*did you mean completion_s\?",
        ),
        (
            {"joined": {"gain": "= large[2].flow_1_mpbs"}, "across": "pdcp.batch"},
            r"one\.joined\.gain: flow_1_mpbs is no measure of large; did you mean flow_1_mbps",
        ),
        (
            {"joined": {"gain": "= lrage.goodput_mbps"}},
            r"one\.joined\.gain: .*'lrage' is undefined; did you mean large\?",
        ),
        (
            {"joined": {"gain": "= 1 if pdcp.batch > 2 else nothing"}},
            r"one\.joined\.gain: .*'pdcp' is undefined; a field has no name here; joined",
        ),
        (
            {
                "joined": {"gain": "= large.goodput_mbps"},
                "claims": [{"text": "", "value": "= mean(gian)", "least": 1}],
            },
            r"one\.claims: .*'gian' is undefined; did you mean gain\?",
        ),
        (
            {"claims": [{"text": "", "value": "= mean(large.goodput_mbps)", "least": 1}]},
            r"one\.claims: .*a claim has the columns of joined; write there mine: = large\.goodput",
        ),
        (
            {
                "joined": {"gain": "= large.goodput_mbps"},
                "claims": [{"text": "", "value": "= greatest(gain)", "least": 1}],
            },
            r"one\.claims: .*'greatest' is no function; allowed: min, max, least, most, ",
        ),
        (
            {"joined": {"gain": "= average(large.goodput_mbps)"}},
            r"one\.joined\.gain: .*'average' is no function; .*, benefit, opposed",
        ),
        *(
            (
                {
                    "joined": {"gain": "= large.goodput_mbps"},
                    "claims": [{"text": "", "value": value, "least": 1}],
                },
                r"one\.claims: .*gain is a column, which has no items; use least, most, mean, ",
            )
            for value in ("= gain[3] / most(gain)", "= mean((gain if 1 else gain).lte)")
        ),
        (
            {"joined": {"gain": "= large.goodput_mbps", "twice": "= gain[3] * 2"}},
            r"one\.joined\.twice: .*gain is a number of each point, which has no items",
        ),
    ],
)
def test_a_misspelt_name_is_one_error_of_a_dry_run(
    tmp_path: Path,
    fields: dict[str, Any],
    message: str | None,
) -> None:
    path = write(tmp_path, content("goodput_mbps", **fields))
    if message is None:
        assert main(["campaign", "run", str(path), "--dry-run"]) == 0
        return
    with pytest.raises(SettingsError, match=rf"{path}: experiments\.{message}"):
        run_with(tmp_path, content("goodput_mbps", **fields), pretend)


def test_a_dry_run_names_the_file_the_field_and_what_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, content("goodput_mpbs"))
    assert main(["campaign", "run", str(path), "--dry-run"]) == 2
    assert (
        f"{path}: experiments.one.figure.curves: goodput_mpbs is no measure of default; "
        "did you mean goodput_mbps?"
    ) in capsys.readouterr().err


def test_what_a_workload_counts_is_known_and_its_misspelling_too(tmp_path: Path) -> None:
    base = document()["base"] | {"workload": {"kind": "request-response", "count": 2}}
    del base["workload.size_mb"]
    for name in ("delay_mean_ms", "delay_p95_ms", "answer_worst_ms", "handshake_s"):
        run_with(tmp_path / name, content(name) | {"base": base}, pretend)
    with pytest.raises(SettingsError, match=r"delay_p59_ms is no .*did you mean delay_p95_ms"):
        run_with(tmp_path / "wrong", content("delay_p59_ms") | {"base": base}, pretend)


def test_of_a_program_of_the_user_s_all_measures_are_known(tmp_path: Path) -> None:
    base = document()["base"] | {"workload": PROGRAM}
    del base["workload.size_mb"]
    both = {"default": {"transport": "command"}, "large": {"transport": "command", "seed": 5}}
    programs = {"clock": "real", "base": base, "configurations": both}
    run_with(tmp_path / "right", content("load_ms") | programs, pretend, clock="real")
    with pytest.raises(SettingsError, match=r"speed is no measure of default; allowed: .*load_ms"):
        run_with(tmp_path / "wrong", content("speed") | programs, pretend, clock="real")


def test_what_only_a_transport_tells_is_known_by_its_runs(tmp_path: Path) -> None:
    root = run_with(tmp_path / "c", content("window_peak"), telling(window_peak=5))
    assert len(load_sources([root])) == 1
    wrong = run_with(tmp_path / "d", content("windows_peak"), telling(window_peak=5))
    with pytest.raises(
        SettingsError,
        match=rf"{wrong} \(Test\): experiments\.one\.figure\.curves: windows_peak is no measure of "
        r"default; did you mean window_peak\?",
    ):
        load_sources([wrong])


def test_a_report_of_a_measure_that_no_run_tells_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = run_with(tmp_path / "c", content("peak"), telling(window_peak=5))
    assert main(["campaign", "report", str(root)]) == 2
    assert "peak is no measure of default; allowed: goodput_mbps, " in capsys.readouterr().err


def test_what_only_a_transport_tells_that_did_not_run_is_no_error(tmp_path: Path) -> None:
    def large_is_unsupported(scenario: Scenario, directory: Path) -> RunResult:
        if not scenario.options.get("receive_buffer_bytes"):
            return pretend(scenario, directory)
        scenario.save(directory / "scenario.yaml")
        blank = blank_result(scenario, directory)
        return replace(blank, status="unsupported", reason="not on this clock")

    root = run_with(tmp_path / "c", content("window_peak"), large_is_unsupported)
    assert len(load_sources([root])) == 1


def test_measures_are_found_behind_choices_and_values_of_a_factor() -> None:
    joined = {
        "a": "= (default[2] if ratio > 1 else large[2]).goodput_mbps",
        "b": "= most([default['sp'].rtt_ms, large[a]['given_up']])",
        "c": "= {'rtt_ms': 1}.rtt_ms",
    }
    one = {"title": "One", "grid": {"pdcp.batch": [2]}, "across": "pdcp.batch", "joined": joined}
    file = CampaignFile.check(document(experiments={"one": one}), "file")
    found = set(needed_measures(file, file.experiments["one"]))
    assert found == {
        NeededMeasure("joined.a", "default", "goodput_mbps"),
        NeededMeasure("joined.a", "large", "goodput_mbps"),
        NeededMeasure("joined.b", "default", "rtt_ms"),
        NeededMeasure("joined.b", "large", "given_up"),
    }


def test_examples_of_names_with_a_number_are_known() -> None:
    assert all(map(is_known, EXAMPLES))
    assert is_known("links_flow_12_mbps")
    assert not is_known("flow_mbps")


def test_the_functions_that_only_joined_has_are_those_that_it_is_computed_with() -> None:
    assert set(ONLY_JOINED) == set(POINT_FUNCTIONS)
