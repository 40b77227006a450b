"""ngtcp2's programs in a guest: transport `quic-ngtcp2` on the virtual clock."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from tests.linux_guest.guests import needs_guest, run, scenario

NO_TOOLS = get_runner("quic-ngtcp2").missing() or ""
pytestmark = [
    needs_guest,
    pytest.mark.skipif(bool(NO_TOOLS) and not os.environ.get("CI"), reason=NO_TOOLS),
]
DUAL: dict[str, Any] = {"mode": "dc", "pdcp": {"batch": 10, "ratio": [1, 1]}}


def ngtcp2(legs: int = 1, **fields: Any) -> Scenario:
    return scenario(legs, transport="quic-ngtcp2", **fields)


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("control", ["reno", "cubic", "bbr"])
def test_a_download_over_a_bearer_is_measured_by_the_client_s_qlog(
    tmp_path: Path, ip_version: int, control: str
) -> None:
    fields = {"ip_version": ip_version, "congestion_control": control, "workload": {"size_mb": 1}}
    result = run(ngtcp2(2, **DUAL, **fields), tmp_path)
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 450_000
    assert result.completion_s is not None
    assert 0.2 < result.completion_s < 1
    assert result.details["first_byte_s"] == pytest.approx(0.044, abs=0.004)
    assert result.details["receive_buffer_bytes"] == 33_554_432
    assert not {"www", "download", "qlog"} & {path.name for path in tmp_path.iterdir()}


def test_the_same_seed_gives_the_same_packets_in_another_directory(tmp_path: Path) -> None:
    for name in ("a", "b/in/another"):
        run(ngtcp2(2, **DUAL, virtual={"packet_trace": True}), tmp_path / name)
    first, second = (tmp_path / name / "packets.csv" for name in ("a", "b/in/another"))
    assert len(first.read_bytes()) > 10_000
    assert first.read_bytes() == second.read_bytes()


def test_a_download_for_a_time_ends_then(tmp_path: Path) -> None:
    result = run(ngtcp2(workload={"duration_s": 2}), tmp_path)
    assert result.completion_s == pytest.approx(2, abs=1e-4)
    assert 15 < (result.goodput_mbps or 0) < 20


def test_flows_at_once_have_the_address_of_each_leg(tmp_path: Path) -> None:
    flows = [DUAL, {"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
    fields = {"congestion_control": "reno", "workload": {"duration_s": 2}}
    result = run(ngtcp2(2, mode="flows", flows=flows, **fields), tmp_path)
    used = [flow["local_address"] for flow in result.details["flows"]]
    assert used[0] == used[1] != used[2]
    assert result.details["jain_index"] > 0.5


def test_the_server_is_ended_in_order_and_so_its_log_is_whole(tmp_path: Path) -> None:
    run(ngtcp2(options={"qlog": True, "max_datagram_bytes": 1280}), tmp_path)
    (log,) = (tmp_path / "qlog" / "server").iterdir()
    records = [json.loads(record) for record in log.read_text().split("\x1e")[1:]]
    sent = [each for each in records if each.get("name") == "transport:packet_sent"]
    assert max(each["data"]["raw"]["length"] for each in sent) == 1280
    assert sum(each["data"]["raw"]["length"] for each in sent) > 300_000
