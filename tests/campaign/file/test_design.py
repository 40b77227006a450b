"""A design in a campaign's file: which values its points have, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.campaign.file.design import Design, Range
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.settings import SettingsError

FACTORS = {"label.rate": [1, 100, "log"], "label.ratio": [0.1, 1], "label.rtt": [0, 50]}


def design(**fields: Any) -> Design:
    return Design.check({"points": 12, "factors": FACTORS} | fields, "test")


def cells(made: Design, directory: Path = Path()) -> list[dict[str, Any]]:
    return list(made.cells("full", directory))


def plan(directory: Path, version: Any = "full", **experiment: Any) -> Plan:
    document = {
        "title": "A design",
        "clock": "virtual",
        "base": {
            "transport": "quic",
            "workload.size_mb": 0.1,
            "legs": [{"downlink": {"rate_mbps": 1}}, {"downlink": {"rate_mbps": 1}}],
            "legs.0.downlink.rate_mbps": "= rate / (1 + ratio)",
            "legs.1.downlink.rate_mbps": "= rate * ratio / (1 + ratio)",
            "legs.*.downlink.delay_ms": "=rtt / 2",
            "legs.*.downlink.jitter_ms": 0,
        },
        "configurations": {
            "dc": {"mode": "dc"},
            "best": {"mode": "sc", "leg": "= 1 if ratio < 1 else 2"},
        },
        "experiments": {
            "all": {"title": "All", "design": {"points": 6, "factors": FACTORS}} | experiment
        },
    }
    path = directory / "design.yaml"
    path.write_text(yaml.safe_dump(document))
    return read_plan(path, Overrides(version=version))


@pytest.mark.parametrize("method", ["wsp", "sobol", "latin-hypercube"])
def test_every_method_keeps_to_the_ranges_and_the_seed(method: str) -> None:
    made = cells(design(method=method))
    assert [each["label.point"] for each in made] == list(range(1, 13))
    assert all(1 <= each["label.rate"] <= 100 for each in made)
    assert all(0 <= each["label.rtt"] <= 50 for each in made)
    assert made == cells(design(method=method))
    assert made != cells(design(method=method, seed=2))


def test_a_smaller_sobol_design_is_its_beginning_which_fills_the_space() -> None:
    made = design(method="sobol", points=64, quick=8)
    kept = list(made.cells("quick", Path()))
    assert kept == cells(made)[:8]
    assert sum(each["label.ratio"] < 0.55 for each in kept) == 4


def test_a_log_range_has_half_its_points_below_the_geometric_mean() -> None:
    made = cells(design(method="latin-hypercube", points=100))
    assert sum(each["label.rate"] < 10 for each in made) == 50


def test_levels_are_equally_frequent() -> None:
    factors = {"label.control": {"levels": ["reno", "cubic", "bbr"]}, "label.rtt": [0, 1]}
    made = cells(design(method="latin-hypercube", points=30, factors=factors))
    found = [each["label.control"] for each in made]
    assert {name: found.count(name) for name in found} == {"reno": 10, "cubic": 10, "bbr": 10}


@given(st.floats(0, 1), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_a_value_is_in_its_range_to_six_digits(share: float, low: float, width: float) -> None:
    value = Range.check([low, low + width], "test").value(share)
    margin = 1e-5 * max(abs(low), abs(low + width))
    assert low - margin <= value <= low + width + margin


def test_the_ends_of_a_range_are_its_values() -> None:
    interval = Range.check([0.1, 100, "log"], "test")
    assert (interval.value(0), interval.value(1)) == (0.1, 100)
    assert Range.check({"levels": [1, 2]}, "test").value(1) == 2


def test_points_of_a_file_are_taken_by_the_names_of_its_columns(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("label.rtt,other,label.rate,label.ratio\n1,9,0,0.5\n")
    made = cells(design(points=None, points_file="points.csv"), tmp_path)
    assert made == [{"label.point": 1, "label.rate": 1, "label.ratio": 0.55, "label.rtt": 50}]


OF_COLUMNS = {
    "label.rate": {"column": "rate_mbps", "low": 1, "high": 100},
    "label.ratio": [0.1, 1],
    "label.rtt": {"column": "rtt_ms", "low": 0, "high": 50},
}
AUTHORS = "class,rate_mbps,rtt_ms,label.ratio\na,1.23,0,0\nb,50,49.9,1\na,100,7,0.5\n"


def test_a_column_of_a_file_has_the_factor_s_own_values(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text(AUTHORS)
    made = cells(design(points=None, points_file="points.csv", factors=OF_COLUMNS), tmp_path)
    assert [each["label.rate"] for each in made] == [1.23, 50, 100]
    assert [each["label.ratio"] for each in made] == [0.1, 1, 0.55]


def test_only_some_rows_of_a_file_are_points_where_a_column_says_so(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text(AUTHORS)
    fields = {"points_file": "points.csv", "factors": OF_COLUMNS, "where": {"class": "a"}}
    made = cells(design(points=None, **fields), tmp_path)
    assert [(each["label.point"], each["label.rate"]) for each in made] == [(1, 1.23), (2, 100)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1,0\n0,0,0\n", "line 1: no header, but 0; allowed: names of columns, with rate_mbps, "),
        ("rate_mbps,label.ratio\n", "line 1: no column rtt_ms; has rate_mbps, label.ratio"),
        (AUTHORS.replace("class,", "class,rtt_ms,"), "line 1: column rtt_ms stands twice"),
        (AUTHORS.replace(",7", ",60"), "line 4, column rtt_ms: 60; .* numbers from 0 to 50"),
        (AUTHORS.replace("1.23", "0.5"), "line 2, column rate_mbps: 0.5; .* numbers from 1 to 100"),
        (AUTHORS.replace("0.5", "2"), "line 4, column label.ratio: 2; .* numbers from 0 to 1"),
        (AUTHORS.replace("100,", "fast,"), "line 4, column rate_mbps: fast; allowed: numbers"),
        (AUTHORS.replace("100,", ","), "line 4, column rate_mbps: nothing; allowed: numbers"),
        (AUTHORS + "a,1\n", "line 5: 2 values; allowed: 4, as line 1"),
        (AUTHORS.replace("a,", "c,"), "column class: no a; has c, b"),
        ("class,rate_mbps,label.ratio,rtt_ms\n", "no points"),
        ("", "line 1: no column rate_mbps"),
    ],
)
def test_a_wrong_file_of_points_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "points.csv").write_text(text)
    fields = {"points_file": "points.csv", "factors": OF_COLUMNS, "where": {"class": "a"}}
    with pytest.raises(SettingsError, match=rf"design\.points_file: .*points\.csv: {message}"):
        plan(tmp_path, design=fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"factors": {"label.a": [2, 1]}}, "low below high"),
        ({"factors": {"label.a": [0, 1, "log"]}}, "low must be above 0 on a log scale"),
        ({"factors": {"label.a": [0, 1, "cubic"]}}, "scale"),
        ({"factors": {"label.a": {"low": 1, "high": 2, "levels": [1]}}}, "or levels"),
        ({"factors": {}}, "factors"),
        ({"points": None}, "give points"),
        ({"points": 0}, "points"),
        ({"points_file": "x.csv"}, "give points"),
        ({"where": {"class": "a"}}, "where: only of a points_file"),
        ({"factors": OF_COLUMNS}, r"label\.rate: only of a points_file"),
        ({"factors": {"label.a": {"column": "a", "levels": [1]}}}, "a column has low and high"),
        ({"method": "sobol", "candidates": 100}, "candidates: only of method wsp"),
        ({"method": "grid"}, "method"),
    ],
)
def test_an_impossible_design_is_one_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        design(**fields)


def test_too_few_candidates_are_one_error_with_file_and_key(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"design\.yaml: experiments\.all\.design\.6 points"):
        plan(tmp_path, design={"points": 6, "candidates": 5, "factors": FACTORS})


def test_an_unknown_field_as_factor_is_one_error(tmp_path: Path) -> None:
    factors = {"legs.0.downlink.speed": [1, 2]}
    with pytest.raises(SettingsError, match=r"design\.factors: unknown factor legs\.0\.downlink"):
        plan(tmp_path, design={"points": 2, "factors": factors})


def test_fields_follow_from_the_labels_of_a_cell(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert len(made.cells) == 12
    scenarios = {run.id: run.scenario for run in made.runs}
    for cell in made.cells:
        factors, scenario = cell.factors, scenarios[cell.runs[0]]
        first, second = (leg.downlink for leg in scenario.legs)
        assert first.rate_mbps is not None
        assert second.rate_mbps is not None
        assert first.rate_mbps + second.rate_mbps == pytest.approx(factors["label.rate"])
        assert second.rate_mbps / first.rate_mbps == pytest.approx(factors["label.ratio"])
        assert first.delay_ms == pytest.approx(factors["label.rtt"] / 2)


@pytest.mark.parametrize(("version", "points"), [("quick", [1, 3, 5]), ("sample", [1])])
def test_a_smaller_version_keeps_points_evenly(
    tmp_path: Path, version: str, points: list[int]
) -> None:
    wanted = {"points": 6, "factors": FACTORS, "quick": 3, "sample": 1}
    made = plan(tmp_path, version, design=wanted)
    full = plan(tmp_path, design=wanted)
    kept = [cell for cell in full.cells if cell.factors["label.point"] in points]
    assert list(made.cells) == kept


def test_a_design_goes_with_a_grid(tmp_path: Path) -> None:
    made = plan(tmp_path, grid={"pdcp.batch": [2, 100]})
    assert len(made.cells) == 24
    with pytest.raises(SettingsError, match=r"label\.rtt stands in more than one"):
        plan(tmp_path, grid={"label.rtt": [1]})


def test_a_wrong_expression_names_file_cell_and_field(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"design\.yaml: experiments\.all .*pdcp\.batch: '= spe"
    ):
        plan(tmp_path, base={"pdcp.batch": "= speed"})
