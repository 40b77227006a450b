"""Every directory of results has a version; older ones are read, newer ones refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Campaign, load
from minitopo_dc.cli import main
from minitopo_dc.data_model import FILE, VERSION, DataModelError, check_version
from minitopo_dc.errors import InputError
from minitopo_dc.results import leg_series, load_series
from minitopo_dc.results.tables.runs import with_results
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import result, save, save_element

DOWNLOAD: dict[str, Any] = {
    "transport": "quic",
    "mode": "sc",
    "clock": "virtual",
    "legs": [{"downlink": {"rate_mbps": 20}}],
    "workload": {"size_mb": 0.05},
}
OF_0_2 = Path(__file__).parent / "data" / "results-0.2"
"""What a development version 0.2 of 27 November 2026 has left, without its figures."""


def set_version(directory: Path, version: object) -> None:
    (directory / FILE).write_text(json.dumps({"data_model": version, "minitopo_dc": "9.8.7"}))


def test_a_comparison_and_its_runs_have_the_version(tmp_path: Path) -> None:
    runs = Campaign(tmp_path, [(Scenario.check(DOWNLOAD, "test"), {})]).run(1, progress=False)
    run = tmp_path / runs["run"][0]
    assert check_version(tmp_path) == check_version(run) == VERSION
    assert (run / FILE).exists()


def test_a_directory_without_a_version_has_that_of_before(tmp_path: Path) -> None:
    run = save(tmp_path, result("quic", "sc"))
    (run / FILE).unlink()
    assert check_version(run) == 1
    assert len(load(tmp_path)) == 1


def test_a_newer_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = save(tmp_path, result("quic", "sc"))
    set_version(run, VERSION + 1)
    words = rf"{run}: version {VERSION + 1} of .* reads 1 to {VERSION}\. .* \(9\.8\.7\), or a newer"
    with pytest.raises(DataModelError, match=words):
        load(tmp_path)
    with pytest.raises(DataModelError, match=words):
        leg_series(run)


@pytest.mark.parametrize("version", [0, -1, True, None, "2", [2]])
def test_a_version_that_is_none_is_named(tmp_path: Path, version: object) -> None:
    set_version(tmp_path, version)
    with pytest.raises(DataModelError, match=f"{FILE}: says no version"):
        check_version(tmp_path)


def test_a_comparison_of_a_newer_version_does_not_go_on(tmp_path: Path) -> None:
    set_version(tmp_path, VERSION + 1)
    with pytest.raises(InputError, match=f"version {VERSION + 1} of the data model"):
        Campaign(tmp_path, [(Scenario.check(DOWNLOAD, "test"), {})]).run(1, progress=False)
    assert json.loads((tmp_path / FILE).read_text())["data_model"] == VERSION + 1


def test_a_comparison_that_version_0_2_has_made_is_read_and_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = load(OF_0_2)
    assert table["goodput_mbps"].round(2).tolist() == [4.05, 3.56]  # as that version printed them
    assert set(with_results(table)["congestion_control"]) == {"cubic-picoquic"}
    legs = load_series(table, "legs")
    assert legs.groupby("mode", observed=True)["delivered_bytes"].max().to_dict() == {
        "sc": 54_385,
        "multipath": 38_991,
    }
    assert main(["show", str(OF_0_2)]) == 0
    assert "mpquic-picoquic" in capsys.readouterr().out


def test_an_old_runs_columns_get_the_names_of_today(tmp_path: Path) -> None:
    run = save(tmp_path, result("quic", "sc"))
    row = {"time_ns": 0, "leg": 1, "delivered_bytes": 0, "queue_max": 3}
    save_element(run, "gnb", "legs", [row])
    (run / FILE).unlink()
    assert leg_series(run)["queue_max_packets"].tolist() == [3]
