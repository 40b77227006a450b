"""MPTCP on real packets: what a path schedule lets legs carry, and ATSSS by a proxy beside gnb."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.clocks import build_missing
from minitopo_dc.results import leg_rates
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads.path_reports import COLUMNS
from tests.real.testbed import ok

pytestmark = pytest.mark.root

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 8, "queue_packets": 40}}
RATE_MBPS = 8
BIN_S, EDGE_S = 0.1, 0.05
"""A bin that reaches into the next phase says nothing: the times of captures and of the schedule
differ by some milliseconds, and a bin is named by its begin."""
SETTLED_S = 0.4
"""The end of a phase: before it a leg may carry what had been given to its subflow before that was
closed or made a backup."""
CARRIES, RESTS = 0.1, 0.05
"""Shares of a leg's rate. A subflow alone may wait for its timeouts for a part of a phase: it has
had 0.19 of the rate."""


@pytest.fixture(scope="module", autouse=True)
def mptcp() -> None:
    """Skip where the kernel has none."""
    if reason := get_runner("mptcp").run_obstacle("reno"):
        pytest.skip(reason)


def run(directory: Path, seconds: float, *events: tuple[float, str, int], **more: Any) -> RunResult:
    schedule = [{"at_s": at_s, action: leg} for at_s, action, leg in events]
    values: dict[str, Any] = {"transport": "mptcp", "mode": "multipath", "legs": [LEG, LEG]}
    values |= {"workload": {"duration_s": seconds}, "paths": {"initial": [1], "schedule": schedule}}
    return ok(directory, **(values | more))


@pytest.fixture
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunResult, Path]:
    """One run for all tests of an attempt: a test that is tried again looks at a new one."""
    attempt = getattr(request.node, "execution_count", 1)
    return opened_and_closed(tmp_path_factory.getbasetemp() / f"paths-{attempt}")


@functools.cache
def opened_and_closed(directory: Path) -> tuple[RunResult, Path]:
    """Both legs' paths opened, closed, opened again, made a backup and available again."""
    events = (
        *((1.0, "open", 2), (2.0, "abandon", 1), (3.0, "open", 1)),
        *((4.0, "backup", 1), (5.4, "available", 1), (6.4, "abandon", 2)),
    )
    return run(directory, 7.4, *events), directory


PHASES = [
    *((0.0, 1.0, {1}), (1.0, 2.0, {1, 2}), (2.0, 3.0, {2}), (3.0, 4.0, {1, 2})),
    *((4.0, 5.4, {2}), (5.4, 6.4, {1, 2}), (6.4, 7.4, {1})),
]


@pytest.mark.alone
@pytest.mark.parametrize(("begin_s", "end_s", "legs"), PHASES)
def test_a_leg_carries_data_while_its_path_is_open_and_available(
    begin_s: float, end_s: float, legs: set[int], whole: tuple[RunResult, Path]
) -> None:
    rates = leg_rates(whole[1], bin_s=BIN_S).pivot_table(
        index="time_s", columns="leg", values="rate_mbps"
    )
    phase = rates[(rates.index > begin_s + EDGE_S) & (rates.index + BIN_S < end_s - EDGE_S)]
    for leg in (1, 2):
        if leg in legs:
            assert phase[leg].mean() > CARRIES * RATE_MBPS, f"leg {leg}\n{phase.to_string()}"
        else:
            settled = phase[phase.index > end_s - SETTLED_S][leg]
            assert settled.mean() < RESTS * RATE_MBPS, f"leg {leg}\n{phase.to_string()}"


@pytest.mark.alone
def test_each_subflow_is_a_path_with_its_times(whole: tuple[RunResult, Path]) -> None:
    paths = whole[0].details["paths"]
    assert [path["leg"] for path in paths] == [1, 2, 1]
    assert paths[1]["opened_s"] == pytest.approx(1.0, abs=0.3)
    assert paths[0]["closed_s"] == pytest.approx(2.0, abs=0.3)
    assert paths[2]["opened_s"] == pytest.approx(3.0, abs=0.3)
    assert paths[1]["closed_s"] == pytest.approx(6.4, abs=0.3)
    assert paths[2]["closed_s"] is None
    assert all(path["bytes_sent"] > 500_000 for path in paths)


@pytest.mark.alone
def test_each_change_is_made_at_its_time(whole: tuple[RunResult, Path]) -> None:
    changes = whole[0].details["path_changes"]
    assert [change["at_s"] for change in changes] == [1, 2, 3, 4, 5.4, 6.4]
    for change in changes:
        assert 0 <= change["done_s"] - change["at_s"] < 0.3


@pytest.mark.alone
def test_the_series_has_each_path_with_its_state(whole: tuple[RunResult, Path]) -> None:
    rows = pd.read_csv(whole[1] / "paths.csv")
    assert tuple(rows.columns) == COLUMNS
    assert set(rows["path"]) == {0, 1, 2}
    last = rows[rows["path"] == 2]
    backup = last[last["state"] == "backup"]
    assert backup["time_s"].min() == pytest.approx(4.0, abs=0.3)
    assert backup["time_s"].max() == pytest.approx(5.4, abs=0.3)
    assert list(rows[rows["path"] == 0]["state"])[-1] == "closed"
    steps = rows[rows["path"] == 1]["time_s"].diff().dropna()
    assert steps.median() == pytest.approx(0.1, abs=0.03)
    assert last["smoothed_rtt_ms"].between(5, 200).all()
    for _, path in rows.groupby("path"):
        assert (path["bytes_sent"].diff().dropna() >= 0).all()
        assert (path["bytes_acked"] <= path["bytes_sent"]).all()


def test_a_connection_begins_on_the_first_leg_of_the_list_and_others_carry_nothing(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, 0.8, paths={"initial": [2]})
    assert [(path["leg"], path["remote"]) for path in result.details["paths"]] == [(2, "10.2.2.2")]
    assert result.leg_bytes is not None
    assert result.leg_bytes[0] == 0
    assert result.leg_bytes[1] > 300_000


@pytest.mark.long
@pytest.mark.alone
def test_paths_change_over_ipv6(tmp_path: Path) -> None:
    result = run(tmp_path, 3.0, (0.5, "open", 2), (1.7, "abandon", 1), ip_version=6)
    first, second = result.details["paths"]
    assert (first["remote"], second["remote"]) == ("fd00:10:2:1::2", "fd00:10:2:2::2")
    assert first["closed_s"] == pytest.approx(1.7, abs=0.3)
    assert second["bytes_sent"] > first["bytes_sent"]


@pytest.mark.long
@pytest.mark.alone
def test_what_is_due_before_the_connection_is_there_is_done_then(tmp_path: Path) -> None:
    result = run(tmp_path, 2.5, (0.0, "open", 2), (0.0, "abandon", 1))
    assert [path["leg"] for path in result.details["paths"]] == [1, 2]
    assert result.details["paths"][0]["closed_s"] < 2


@pytest.mark.long
@pytest.mark.alone
def test_a_flow_beside_another_has_its_schedule_and_rows_of_its_own(tmp_path: Path) -> None:
    paths = {"initial": [1], "schedule": [{"at_s": 0.8, "open": 2}]}
    flows = [{"mode": "sc", "leg": 2, "transport": "tcp"}, {"mode": "multipath", "paths": paths}]
    values = {"transport": "mptcp", "mode": "flows", "legs": [LEG, LEG], "flows": flows}
    result = ok(tmp_path, **values, workload={"duration_s": 3}, clock="real")
    first, second = result.details["flows"][1]["paths"]
    assert (first["leg"], second["leg"]) == (1, 2)
    assert second["opened_s"] == pytest.approx(0.8, abs=0.3)
    assert set(pd.read_csv(tmp_path / "paths.csv")["flow"]) == {2}


NEAR: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 10}
DEAD = {"rate_mbps": 10, "outages": [[0, 1000]]}


def atsss(directory: Path, first: dict[str, Any], **more: Any) -> RunResult:
    """A download over this leg and a near one."""
    values: dict[str, Any] = {"transport": "mptcp", "mode": "atsss", "legs": [first, NEAR]}
    values |= {"clock": "real", "workload": {"size_mb": 1}} | more
    build_missing([Scenario.check(values, "test")])
    return ok(directory, **values)


@pytest.mark.alone
def test_the_proxy_has_both_subflows_and_the_server_a_tcp_connection(tmp_path: Path) -> None:
    result = atsss(tmp_path, NEAR, server_delay_ms=20)
    paths = result.details["paths"]
    assert [(path["leg"], path["local"]) for path in paths] == [(1, "10.4.0.1"), (2, "10.4.0.1")]
    assert sum(path["bytes_sent"] for path in paths) > 1_000_000
    assert min(path["bytes_sent"] for path in paths) > 50_000
    server = last_json(tmp_path / "server.out", "server")
    assert (server["multipath"], server["subflows"][0]["remote"]) == (False, "10.3.1.2")
    # The client is connected to the proxy before the server, which is farther, could know of it.
    assert result.details["connect_s"] < 0.04
    assert result.details["handshake_s"] > 0.06


@pytest.mark.alone
def test_a_dead_first_leg_costs_the_delay_of_the_next_attempt(tmp_path: Path) -> None:
    result = atsss(tmp_path, DEAD, paths={"attempt_delay_ms": 250})
    assert [path["leg"] for path in result.details["paths"]] == [2]
    assert 0.25 < result.details["handshake_s"] < 1
