"""A key that has another place gets one error that says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.scenario import RealSettings, Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, experiment, write

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
GOOD: dict[str, Any] = {"transport": "quic", "mode": "sc", "legs": [LEG]}
RATES = {"pdcp.batch": [2, 100]}


def refused(**fields: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        Scenario.check(GOOD | fields, "s.yaml")
    return str(caught.value)


@pytest.mark.parametrize("name", ["size_mb", "duration_s"])
def test_what_a_download_asks_for_is_in_the_workload(name: str) -> None:
    assert refused(**{name: 3}) == f"s.yaml: {name}: write workload: {{{name}: ...}}"


@pytest.mark.parametrize("name", sorted(RealSettings.model_fields))
def test_what_only_the_real_clock_has_is_below_real(name: str) -> None:
    assert refused(**{name: "x"}) == f"s.yaml: {name}: write real: {{{name}: ...}}"


def test_each_key_of_several_has_its_own_line() -> None:
    assert refused(size_mb=1, backend="kernel").splitlines() == [
        "s.yaml: size_mb: write workload: {size_mb: ...}",
        "s.yaml: backend: write real: {backend: ...}",
    ]


def test_the_size_of_a_flow_is_in_its_workload() -> None:
    found = refused(mode="flows", flows=[{"mode": "sc", "size_mb": 1}])
    assert found == "s.yaml: flows.0.size_mb: write workload: {size_mb: ...}"


@pytest.mark.parametrize(
    ("workload", "known"),
    [
        ({"kind": "ping", "duration_s": 3}, "duration_s: unknown field; known: count, interval_s"),
        (
            {"kind": "request-response", "size_mb": 3},
            "size_mb: unknown field; known: request_bytes, response_bytes, interval_s, count, ",
        ),
    ],
)
def test_a_workload_without_a_size_is_not_told_to_write_one(
    workload: dict[str, Any], known: str
) -> None:
    kind = workload["kind"]
    assert refused(workload=workload).startswith(f"s.yaml: workload: {kind}: {known}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (experiment(zip=[RATES]), "experiments.one.zip: write joint"),
        (experiment(list=[{"pdcp.batch": 2}]), "experiments.one.list: write cells"),
        (document(size_mb=1), "size_mb: write workload: {size_mb: ...}"),
        (document(backhaul=[LEG]), "backhaul: write real: {backhaul: ...}"),
        (document(zip=[RATES]), "zip: unknown field; known: title, clock, repetitions"),
        (
            experiment(grid={"size_mb": [1, 2]}),
            "experiments.one.grid: unknown factor size_mb: write workload: {size_mb: ...}",
        ),
        (
            experiment(joint=[{"duration_s": [1, 2]}]),
            "experiments.one.joint: unknown factor duration_s: write workload: {duration_s: ...}",
        ),
        (
            experiment(cells=[{"sysctl": {}}]),
            "experiments.one.cells: unknown factor sysctl: write real: {sysctl: ...}",
        ),
    ],
)
def test_a_campaign_s_moved_key_is_one_error_with_file_and_place(
    content: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(SettingsError) as caught:
        read_plan(path, Overrides())
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{path}: {message}")


def test_joint_factors_and_cells_are_combined(tmp_path: Path) -> None:
    """Two pairs of values, each in two cells, in two configurations."""
    pairs = {"pdcp.batch": [2, 100], "workload.size_mb": [0.1, 0.2]}
    content = experiment(joint=[pairs], cells=[{"mode": "dc"}, {"mode": "sc"}])
    cells = read_plan(write(tmp_path, content), Overrides()).cells
    found = [(cell.factors["pdcp.batch"], cell.factors["mode"]) for cell in cells]
    assert found == [(2, "dc"), (2, "sc"), (100, "dc"), (100, "sc")] * 2
    assert {cell.factors["workload.size_mb"] for cell in cells[:2]} == {0.1}
