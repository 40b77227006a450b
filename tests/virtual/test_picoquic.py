"""Picoquic on the virtual clock: one path and several, paths that come and go, determinism."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.content import content_sha256
from tests.picoquic.extension import needs_picoquic
from tests.virtual.path_scripts import random_scenario, run_script
from tests.virtual.scenarios import leg, scenario

pytestmark = needs_picoquic

MP = {"transport": "mpquic-picoquic", "mode": "multipath"}
SP = {"transport": "quic-picoquic", "mode": "sc"}


def attempt(directory: Path, **fields: Any) -> RunResult:
    """Run a scenario of multipath unless another mode is given."""
    wanted = scenario(**{**MP, **fields})
    check_scenario(wanted)
    return run_virtual(wanted, directory / "run")


def run(directory: Path, **fields: Any) -> RunResult:
    """Run one that must succeed."""
    result = attempt(directory, **fields)
    assert result.status == "ok", result.reason
    return result


def goodput(directory: Path, **fields: Any) -> float:
    """In Mbit/s."""
    found = run(directory, **fields).goodput_mbps
    assert found is not None
    return found


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def carried(directory: Path, leg: int, begin_s: float, end_s: float) -> int:
    """Bytes that the paths of a leg sent within a time."""
    counts: dict[str, list[int]] = {}
    for row in rows(directory / "run/paths.csv"):
        if int(row["leg"]) == leg and begin_s <= float(row["time_s"]) <= end_s:
            counts.setdefault(row["path"], []).append(int(row["bytes_sent"]))
    return sum(each[-1] - each[0] for each in counts.values())


def test_every_byte_arrives_as_sent_over_two_paths(tmp_path: Path) -> None:
    result = run(tmp_path, legs=[leg(loss_percent=1), leg(loss_percent=1)])
    assert result.details["bytes_received"] == 1_000_000
    assert result.details["sha256"] == content_sha256(1_000_000)


def test_two_paths_have_nearly_the_goodput_of_both_legs(tmp_path: Path) -> None:
    one = goodput(tmp_path / "1", **SP, workload={"size_mb": 10})
    both = goodput(tmp_path / "2", workload={"size_mb": 10})
    assert 17 < one < 20
    assert 1.85 * one < both < 40


def test_more_legs_than_picoquic_has_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="paths: on 9 legs; transport mpquic-picoquic allows 8"):
        attempt(tmp_path, legs=[leg()] * 9)


def test_over_ipv6_a_path_a_leg_carries_data(tmp_path: Path) -> None:
    result = run(tmp_path, ip_version=6)
    assert min(path["bytes_sent"] for path in result.details["paths"]) > 100_000


@pytest.mark.parametrize("control", ["newreno", "cubic", "bbr1", "fast"])
def test_each_congestion_control_fills_both_legs(control: str, tmp_path: Path) -> None:
    assert goodput(tmp_path, congestion_control=control, workload={"size_mb": 10}) > 30


def test_paths_open_and_close_as_scheduled(tmp_path: Path) -> None:
    changes = [{"at_s": 1, "open": 2}, {"at_s": 2, "abandon": 1}, {"at_s": 3, "open": 1}]
    run(
        tmp_path,
        workload={"duration_s": 4},
        paths={"initial": [1], "schedule": changes},
    )
    second_leg = [carried(tmp_path, 2, begin, begin + 0.8) for begin in (0.1, 1.1, 2.1, 3.1)]
    first_leg = [carried(tmp_path, 1, begin, begin + 0.8) for begin in (0.1, 1.1, 2.1, 3.2)]
    full = 0.8 * 20e6 / 8
    assert second_leg[0] == 0
    assert min(second_leg[2:]) > 0.8 * full
    assert first_leg[2] < 0.05 * full
    assert min(first_leg[1], first_leg[3]) > 0.4 * full


def test_the_rows_of_paths_say_when_one_closed(tmp_path: Path) -> None:
    paths = {"initial": [1, 2], "schedule": [{"at_s": 1, "abandon": 1}]}
    result = run(tmp_path, workload={"duration_s": 2}, paths=paths)
    (last,) = [row for row in rows(tmp_path / "run/paths.csv") if row["state"] == "closed"]
    assert last["leg"] == "1"
    assert 1.0 < float(last["time_s"]) <= 1.2
    assert [path["closed_s"] is None for path in result.details["paths"]] == [False, True]


def test_a_backup_waits_for_the_other_path_to_fail(tmp_path: Path) -> None:
    down = leg(outages=[[1.5, 10]])
    run(
        tmp_path,
        legs=[down, leg()],
        workload={"duration_s": 4},
        paths={"schedule": [{"at_s": 0, "backup": 2}]},
    )
    full = 20e6 / 8
    assert carried(tmp_path, 2, 0.4, 1.4) < 0.05 * full
    assert carried(tmp_path, 2, 2.5, 3.5) > 0.8 * full


@pytest.mark.parametrize("seconds", [2, 5])
def test_a_leg_that_was_down_is_used_again(seconds: int, tmp_path: Path) -> None:
    down = leg(outages=[[1, 1 + seconds]])
    result = run(tmp_path, legs=[down, leg()], workload={"duration_s": 5 + seconds})
    assert result.goodput_mbps is not None
    assert carried(tmp_path, 1, 2.5 + seconds, 5 + seconds) > 0.5 * 2.5 * 20e6 / 8


def test_a_connection_that_stalls_has_failed_and_says_why(tmp_path: Path) -> None:
    down = leg(outages=[[0.5, 1000]])
    result = attempt(tmp_path, legs=[down, down], workload={"size_mb": 10})
    assert result.status == "failed"
    assert result.goodput_mbps is None
    assert "closed by this end" in result.reason


def test_requests_are_answered_over_two_paths(tmp_path: Path) -> None:
    workload = {"kind": "request-response", "duration_s": 2, "interval_s": 0.1}
    result = run(tmp_path, workload=workload)
    answered = rows(tmp_path / "run/request-response.csv")
    assert len(answered) == 20
    assert all(15 < float(row["delay_ms"]) < 40 for row in answered)
    assert result.goodput_mbps is None


def test_dc_sc_and_multipath_share_the_legs(tmp_path: Path) -> None:
    flows = [
        {"mode": "dc", "transport": "quic-picoquic"},
        {"mode": "multipath"},
        {"mode": "sc", "leg": 1, "transport": "quic"},
    ]
    result = run(tmp_path, mode="flows", flows=flows, workload={"duration_s": 2})
    each = [flow["goodput_mbps"] for flow in result.details["flows"]]
    assert min(each) > 1
    assert 25 < sum(each) < 40
    assert {row["flow"] for row in rows(tmp_path / "run/paths.csv")} == {"2"}
    bearers = {row["bearer"] for row in rows(tmp_path / "run/ue-receive.csv")}
    assert bearers == {"1", "5"}


def test_two_paths_are_recorded_at_each_interval(tmp_path: Path) -> None:
    run(tmp_path, statistics_ms=50, workload={"size_mb": 2})
    series = rows(tmp_path / "run/paths.csv")
    assert {row["leg"] for row in series} == {"1", "2"}
    assert {"0.1000", "0.1500", "0.2000"} <= {row["time_s"] for row in series}
    for path in ("0", "1"):
        sent = [int(row["bytes_sent"]) for row in series if row["path"] == path]
        assert sent == sorted(sent)


def test_a_busy_host_has_a_receive_buffer_a_path(tmp_path: Path) -> None:
    result = run(
        tmp_path,
        virtual={"cpu_us_per_packet": 150},
        options={"receive_buffer_bytes": 20_000},
        workload={"size_mb": 2},
    )
    assert result.details["socket_drops"] > 0
    assert result.details["receive_buffer_bytes"] == 20_000


def test_without_the_extension_it_is_unsupported_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("minitopo_dc.extension.checkout", lambda: None)
    result = attempt(tmp_path)
    assert result.status == "unsupported"
    assert "minitopo-dc build picoquic" in result.reason


@pytest.mark.parametrize("seed", [5585, 6228])
def test_acknowledgements_are_not_left_to_a_path_that_is_not_used(seed: int) -> None:
    """Scripts that stalled, with a backup or a failed path beside the one that was used."""
    assert run_script(seed).status == "ok"


@given(st.integers(min_value=1, max_value=10**6))
@example(153)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_scripts_of_paths_end_with_every_byte_or_a_reason(seed: int) -> None:
    result = run_script(seed)
    if result.status == "ok":
        assert result.details["bytes_received"] == random_scenario(seed).workload.size_bytes
    else:
        assert result.status == "failed"
        assert result.reason
