"""ATSSS by MPTCP on real packets: a proxy beside gnb, and attempts over one leg after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import build_missing
from minitopo_dc.real.run.real import run_real
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.scenario import Scenario

pytestmark = [pytest.mark.root, pytest.mark.alone]
LEG: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 10}
DEAD = {"rate_mbps": 10, "outages": [[0, 1000]]}


def run(directory: Path, **fields: Any) -> RunResult:
    if reason := get_runner("mptcp").unsupported("cubic"):
        pytest.skip(reason)
    values = {"transport": "mptcp", "mode": "atsss", "clock": "real", "workload": {"size_mb": 1}}
    scenario = Scenario.check(values | fields, "test")
    build_missing([scenario])
    result = run_real(scenario, directory)
    assert (result.status, result.reason) == ("ok", "")
    return result


def test_the_proxy_has_both_subflows_and_the_server_a_tcp_connection(tmp_path: Path) -> None:
    result = run(tmp_path, legs=[LEG, LEG], server_delay_ms=20)
    paths = result.details["paths"]
    assert [(path["leg"], path["local"]) for path in paths] == [(1, "10.4.0.1"), (2, "10.4.0.1")]
    assert sum(path["bytes_sent"] for path in paths) > 1_000_000
    assert min(path["bytes_sent"] for path in paths) > 50_000
    server = last_json(tmp_path / "server.out", "server")
    assert (server["multipath"], server["subflows"][0]["remote"]) == (False, "10.3.1.2")
    # The client is connected to the proxy before the server, which is farther, could know of it.
    assert result.details["connect_s"] < 0.04
    assert result.details["handshake_s"] > 0.06


def test_a_dead_first_leg_costs_the_delay_of_the_next_attempt(tmp_path: Path) -> None:
    paths = {"attempt_delay_ms": 250}
    result = run(tmp_path, legs=[DEAD, LEG], paths=paths)
    assert [path["leg"] for path in result.details["paths"]] == [2]
    assert 0.25 < result.details["handshake_s"] < 1
