"""Several downloads at once on real packets, and downloads for a time."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.elements import Testbed
from minitopo_dc.real.run import run_real
from minitopo_dc.results.measures.utilisation import link_utilisation
from minitopo_dc.results.qlog import METRICS, qlog_events
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from tests.real.testbed import ok

pytestmark = pytest.mark.root

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 10}, "uplink": {"rate_mbps": 10}}
BUFFER = {"receive_buffer_bytes": 33_554_432}


def of_flows(*flows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    values: dict[str, Any] = {"transport": "quic", "mode": "flows", "legs": [LEG, LEG]}
    values |= {"flows": list(flows), "options": BUFFER, "workload": {"duration_s": 4}}
    return values | fields


def processes_of(directory: Path) -> Iterator[int]:
    """Processes whose command line names the run."""
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if str(directory).encode() in command:
            yield int(entry.name)


def bearer_series(run: Path) -> dict[int, list[dict[str, str]]]:
    with (run / "ue-receive.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        bearer: [row for row in rows if row["bearer"] == str(bearer)]
        for bearer in sorted({int(row["bearer"]) for row in rows})
    }


@pytest.mark.long
@pytest.mark.alone
def test_two_connections_on_one_leg_share_it(tmp_path: Path) -> None:
    qlog = BUFFER | {"qlog": True}
    result = ok(tmp_path, **of_flows({"mode": "sc"}, {"mode": "sc"}, options=qlog))
    flows = result.details["flows"]
    # Which of the two loses packets first is chance, and 4 s do not even it out: not 0.8, say.
    assert min(flow["bytes_received"] for flow in flows) > 0.1 * result.size_bytes
    assert 0.5 < result.details["jain_index"] <= 1
    assert sum(flow["bytes_received"] for flow in flows) == result.size_bytes
    assert result.goodput_mbps is not None
    assert 6 < result.goodput_mbps < 10
    assert result.leg_bytes is not None
    assert result.leg_bytes[0] > result.size_bytes > result.leg_bytes[1] == 0
    for number in (1, 2):
        assert (tmp_path / f"flow-{number}" / "client.out").exists()
    assert METRICS in {event["name"] for event in qlog_events(tmp_path, "server")}
    used, unused = link_utilisation(tmp_path)
    assert 0.7 < used <= 1
    assert unused == 0


def test_quic_beside_tcp_has_a_bearer_and_a_time_series_of_its_own(tmp_path: Path) -> None:
    tcp = {"mode": "sc", "leg": 1, "transport": "tcp"}
    fields = of_flows({"mode": "dc"}, tcp, workload={"duration_s": 3})
    flows = ok(tmp_path, **fields).details["flows"]
    series = bearer_series(tmp_path)
    assert list(series) == [1, 3]
    for flow, rows in zip(flows, series.values(), strict=True):
        delivered = int(rows[-1]["delivered_bytes"])
        assert flow["bytes_received"] < delivered < 1.3 * flow["bytes_received"]
    assert [flow["transport"] for flow in flows] == ["quic", "tcp"]
    assert min(flow["goodput_mbps"] for flow in flows) > 1
    # Acknowledgements of both take leg 1.
    summary = json.loads((tmp_path / "ue-summary.json").read_text(encoding="utf-8"))
    assert summary["legs"]["1"]["delivered_packets"] > 100
    assert summary["legs"]["2"]["delivered_packets"] == 0


def test_a_split_uplink_of_a_flow_on_leg_2_is_numbered_and_arrives_whole(tmp_path: Path) -> None:
    flow = {"mode": "sc", "leg": 2, "transport": "tcp"}
    ok(tmp_path, **of_flows(flow, split_uplink=True, workload={"size_mb": 1}))
    ue, gnb = (
        json.loads((tmp_path / f"{host}-summary.json").read_text(encoding="utf-8"))
        for host in ("ue", "gnb")
    )
    sent, received = ue["transmit"]["2"], gnb["receive"]["2"]
    assert sent["sdus"] == sent["pdus_2"] >= received["pdus_2"] == received["delivered"] > 100
    assert received["malformed"] == 0
    assert gnb["transmit"]["1"]["pdus_2"] >= ue["receive"]["1"]["pdus_2"] > 600


@pytest.mark.long
def test_mptcp_competes_without_a_bearer(tmp_path: Path) -> None:
    if reason := get_runner("mptcp").run_obstacle("reno"):
        pytest.skip(reason)
    several = [*[{"mode": "multipath"}] * 2, {"mode": "sc", "transport": "tcp"}]
    fields = of_flows(*several, transport="mptcp", options={})
    flows = ok(tmp_path, **fields).details["flows"]
    assert min(flow["goodput_mbps"] for flow in flows) > 0.5
    assert list(bearer_series(tmp_path)) == [5]


@pytest.mark.long
def test_flows_of_a_size_end_each_at_its_own_time(tmp_path: Path) -> None:
    flows = ({"mode": "sc", "leg": leg} for leg in (1, 2))
    legs = [LEG, {"downlink": {"rate_mbps": 2}}]
    result = ok(tmp_path, **of_flows(*flows, legs=legs, workload={"size_mb": 0.5}))
    fast_s, slow_s = (flow["completion_s"] for flow in result.details["flows"])
    assert fast_s < slow_s == result.completion_s
    assert result.size_bytes == 1_000_000


def test_a_server_that_dies_is_one_reason_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_and_kill(self: Testbed) -> None:
        start(self)
        (server,) = (
            pid
            for pid in processes_of(tmp_path)
            if b"flow-2/server.json" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        os.kill(server, signal.SIGKILL)

    start = Testbed.start
    monkeypatch.setattr(Testbed, "start", start_and_kill)
    fields = of_flows({"mode": "dc"}, {"mode": "sc"}, workload={"duration_s": 60})
    result = run_real(Scenario.check(fields, "test"), tmp_path)
    assert result.status == "failed"
    assert result.reason == "flow-2: server was ended by SIGKILL during the transfer"
    assert result.goodput_mbps is None
    assert list(processes_of(tmp_path)) == []
