"""ATSSS in whole runs on the virtual clock: which leg carries, what a wire and a proxy change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import linux_guest
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import leg, scenario

FAR = {"downlink": {"rate_mbps": 20, "delay_ms": 40}}
NO_JITTER = {"rate_mbps": 20, "jitter_ms": 0}


def run(directory: Path, **fields: Any) -> RunResult:
    given: dict[str, Any] = {"mode": "atsss", "workload": {"size_mb": 0.3}}
    result = run_virtual(scenario(**given | fields), directory)
    assert result.status == "ok", result.reason
    return result


def shares(result: RunResult) -> list[float]:
    assert result.leg_bytes
    return [carried / sum(result.leg_bytes) for carried in result.leg_bytes]


def test_smallest_delay_uses_the_near_leg_whatever_its_number(tmp_path: Path) -> None:
    assert shares(run(tmp_path, legs=[FAR, leg()]))[1] > 0.95


def test_active_standby_moves_on_a_second_after_its_leg_has_gone(tmp_path: Path) -> None:
    gone = {"downlink": {"rate_mbps": 20}, "outages": [[0.05, 1000]]}
    result = run(tmp_path, legs=[gone, leg()], pdcp={"split": "active-standby"})
    assert result.completion_s is not None
    assert 1 < result.completion_s < 5
    assert shares(result)[1] > 0.5


def test_a_wire_to_the_server_adds_its_delay_to_every_round_trip(tmp_path: Path) -> None:
    seconds = []
    for name, delay_ms in (("near", 0), ("far", 50)):
        fields: dict[str, Any] = {"mode": "sc", "legs": [{"downlink": NO_JITTER}] * 2}
        result = run(
            tmp_path / name, server_delay_ms=delay_ms, workload={"size_mb": 0.001}, **fields
        )
        assert result.completion_s is not None
        seconds.append(result.completion_s)
    trips = (seconds[1] - seconds[0]) / 0.1
    assert trips == pytest.approx(round(trips), abs=0.02)
    assert trips > 1


@pytest.mark.skipif(linux_guest.obstacle() is not None, reason=str(linux_guest.obstacle()))
def test_a_proxy_has_both_subflows_and_the_server_one_connection(tmp_path: Path) -> None:
    fields = {"transport": "mptcp", "options": {}, "legs": [leg(), leg()], "server_delay_ms": 20}
    result = run(tmp_path, workload={"size_mb": 1}, **fields)
    paths = result.details["paths"]
    assert [path["local"] for path in paths] == ["10.1.1.1", "10.1.1.1"]
    assert sum(path["bytes_sent"] for path in paths) > 1_000_000
    # The client is connected to the proxy before the server, which is farther, could know of it.
    assert result.details["connect_s"] < 0.04
    assert result.details["handshake_s"] > 0.06
