"""All runs' time series are one table with the labels of the runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.results import ResultError, load_results, load_series
from tests.campaign.cases import batches
from tests.results.synthetic_runs import result, save, save_element, save_rate

SETTINGS: dict[str, Any] = {"leg": 2, "pdcp.split": "", "pdcp.t_reordering_ms": None}


def two_runs(root: Path) -> Path:
    """One over leg 2 alone, one over both; a second of two rows each."""
    for run in (result("tcp", "sc", settings=SETTINGS), result("quic", "dc")):
        directory = save(root, run)
        rows = [
            {"time_ns": second * 10**9, "leg": leg, "delivered_bytes": 5, "queue_packets": leg}
            for second in (0, 1)
            for leg in (1, 2)
        ]
        for host in ("gnb", "ue"):
            save_element(directory, host, "legs", rows)
        save_rate(directory, 1, lambda time: time * 1e6)
    return root


def test_columns_are_chosen_and_keep_when_and_of_what(tmp_path: Path) -> None:
    table = load_series(two_runs(tmp_path), "legs", ["queue_packets"])
    assert list(table)[-4:] == ["time_s", "direction", "leg", "queue_packets"]
    with pytest.raises(ResultError, match="no column queue; allowed: time_s, "):
        load_series(tmp_path, "legs", ["queue"])


def test_rows_of_load_results_are_the_runs_that_are_read(tmp_path: Path) -> None:
    runs = load_results(two_runs(tmp_path))
    table = load_series(runs[runs["mode"] == "dc"], "client-rate")
    assert set(table["id"]) == {"quic-dc-1"}


def test_runs_of_a_campaign_have_its_labels(tmp_path: Path) -> None:
    runs = Campaign(tmp_path / "c", batches(2, 100)).run(jobs=1, progress=False)
    table = load_series(runs[runs["batch"] == 2], "legs", ["queue_packets"])
    assert list(table)[:2] == ["batch", "seed"]
    assert set(table["batch"]) == {2}


def test_files_of_flows_have_the_flows_number(tmp_path: Path) -> None:
    run = save(tmp_path, result(mode="flows"))
    for number in (1, 2):
        (run / f"flow-{number}").mkdir()
        rows = f"request,sent_s,answered_s,delay_ms\n1,0.1,,\n2,0.2,0.25,{number}\n"
        (run / f"flow-{number}" / "request-response.csv").write_text(rows)
    table = load_series(tmp_path, "request-response")
    assert table["flow"].tolist() == [1, 1, 2, 2]
    assert table["delay_ms"].dropna().tolist() == [1, 2]


def test_tcp_info_counts_from_the_elements_start(tmp_path: Path) -> None:
    run = two_runs(tmp_path) / "tcp-sc-1"
    begin = 7_000_000_000_000_000_123
    rows = f"time_ns,client_port,state,cwnd_bytes\n{begin + 500_000_000},1,open,3\n"
    (run / "tcp-info.csv").write_text(rows)
    table = load_series(tmp_path, "tcp-info")
    assert table[["time_s", "flow", "state", "cwnd_bytes"]].to_dict("records") == [
        {"time_s": 0.5, "flow": 1, "state": "open", "cwnd_bytes": 3}
    ]


def test_packets_without_and_with_numbers_are_one_table(tmp_path: Path) -> None:
    old, new = (path for path in sorted(two_runs(tmp_path).iterdir()) if path.is_dir())
    header, row = "time_ns,flow,direction,event,bytes", "500000000,1,downlink,sent,1400"
    (old / "packets.csv").write_text(f"{header}\n{row}\n")
    (new / "packets.csv").write_text(f"{header},packet\n{row},7\n")
    table = load_series(tmp_path, "packets", ["bytes"]).set_index("id")
    assert table["bytes"].tolist() == [1400, 1400]
    assert table["packet"].dropna().to_dict() == {new.name: 7}


def test_an_unknown_series_and_one_that_nobody_recorded_are_errors(tmp_path: Path) -> None:
    two_runs(tmp_path)
    with pytest.raises(ResultError, match="no series leg; allowed: legs, transmit"):
        load_series(tmp_path, "leg")
    with pytest.raises(ResultError, match="paths: none of 2 runs recorded it"):
        load_series(tmp_path, "paths")


def test_a_series_that_is_no_file_of_the_run_is_not_read(tmp_path: Path) -> None:
    two_runs(tmp_path / "runs")
    (tmp_path / "elsewhere.csv").write_text("time_s,received_bytes\n0,1\n")
    for run in ("tcp-sc-1", "quic-dc-1"):
        path = tmp_path / "runs" / run / "client-rate.csv"
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(ResultError, match="leads out of"):
        load_series(tmp_path / "runs", "client-rate")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ResultError, match="no regular file"):
        load_series(load_results(tmp_path / "runs").query("mode == 'dc'"), "client-rate")
