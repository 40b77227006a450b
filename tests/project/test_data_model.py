"""Every directory of results has a version; those of another one are refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Campaign, load
from minitopo_dc.errors import InputError
from minitopo_dc.files import DATA_MODEL, VERSION_FILE, DataModelError, check_version
from minitopo_dc.results import leg_series
from minitopo_dc.results.kept_scenario import load_to_run
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import result, save

DOWNLOAD: dict[str, Any] = {
    "transport": "quic",
    "mode": "sc",
    "clock": "virtual",
    "legs": [{"downlink": {"rate_mbps": 20}}],
    "workload": {"size_mb": 0.05},
}


def set_version(directory: Path, version: object) -> None:
    (directory / VERSION_FILE).write_text(
        json.dumps({"data_model": version, "minitopo_dc": "9.8.7"})
    )


def test_a_comparison_and_its_runs_have_the_version(tmp_path: Path) -> None:
    runs = Campaign(tmp_path, [(Scenario.check(DOWNLOAD, "test"), {})]).run(1, progress=False)
    run = tmp_path / runs["run"][0]
    for directory in (tmp_path, run):
        assert json.loads((directory / VERSION_FILE).read_text())["data_model"] == DATA_MODEL


@pytest.mark.parametrize("version", [DATA_MODEL - 1, DATA_MODEL + 1])
def test_another_version_is_refused_with_what_to_do(tmp_path: Path, version: int) -> None:
    run = save(tmp_path, result("quic", "sc"))
    set_version(run, version)
    words = rf"{run}: version {version} of .* reads {DATA_MODEL}\. .* \(9\.8\.7\)"
    with pytest.raises(DataModelError, match=words):
        load(tmp_path)
    with pytest.raises(DataModelError, match=words):
        leg_series(run)
    with pytest.raises(DataModelError, match=words):
        load_to_run(run / "scenario.yaml")


@pytest.mark.parametrize("version", [0, -1, True, None, "2", [2]])
def test_a_version_that_is_none_is_named(tmp_path: Path, version: object) -> None:
    set_version(tmp_path, version)
    with pytest.raises(InputError, match=VERSION_FILE):
        check_version(tmp_path)


def test_a_comparison_of_a_newer_version_does_not_go_on(tmp_path: Path) -> None:
    set_version(tmp_path, DATA_MODEL + 1)
    with pytest.raises(InputError, match=f"version {DATA_MODEL + 1} "):
        Campaign(tmp_path, [(Scenario.check(DOWNLOAD, "test"), {})]).run(1, progress=False)
    assert json.loads((tmp_path / VERSION_FILE).read_text())["data_model"] == DATA_MODEL + 1
