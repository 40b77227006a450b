"""Runs on the virtual clock, over IPv6 and from Minitopo's files, too."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6

from minitopo_dc import cli
from minitopo_dc.capture import read_capture
from minitopo_dc.fields import IpVersion
from minitopo_dc.results import path_rates
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.scenario.element import Match
from minitopo_dc.virtual.network import START_NS, Flow
from minitopo_dc.virtual.run import one_processor, run_virtual
from tests.native.extension import needs_native
from tests.quic.extension import needs_picoquic
from tests.studies.digests import module
from tests.studies.test_quic_of_2020 import needs_it
from tests.virtual.scenarios import leg, rows, scenario


def run(directory: Path, **fields: Any) -> RunResult:
    """Run a scenario that must succeed."""
    result = run_virtual(scenario(**fields), directory / "run")
    assert result.status == "ok", result.reason
    return result


MPQUIC = {"transport": "mpquic-picoquic", "mode": "multipath"}
AGAIN: dict[str, dict[str, Any]] = {
    "losses": {"legs": [leg(loss_percent=0.3), leg(burst_loss={"p": 0.001, "r": 0.3})]},
    "duplicates": {
        "mode": "dc-duplicate",
        "virtual": {"cpu_us_per_packet": 100, "udp_memory": "linux-4.15"},
    },
    "paths": {**MPQUIC, "legs": [leg(loss_percent=0.3), leg(outages=[[0.3, 0.6]])]},
    "flows": {
        **MPQUIC,
        "mode": "flows",
        "flows": [{"mode": "multipath"}, {"mode": "dc", "transport": "quic-picoquic"}],
    },
}


@needs_picoquic
def test_the_same_scenarios_give_the_same_files_to_the_byte(tmp_path: Path) -> None:
    traced = {
        name: fields | {"virtual": {"packet_trace": True} | fields.get("virtual", {})}
        for name, fields in AGAIN.items()
    }
    first, second = (in_a_process(tmp_path / seed, seed, traced) for seed in ("1", "2"))
    names = {"result.json", "packets.csv"}
    assert {f"{run}/{name}" for run in AGAIN for name in names} <= first.keys()
    assert {"losses/connections.csv", "losses/ue-receive.csv", "paths/paths.csv"} <= first.keys()
    assert [name for name in first if first[name] != second.get(name)] == []


def test_goodput_stays_below_the_legs_capacity_and_near_it(tmp_path: Path) -> None:
    one = run(tmp_path / "sc", mode="sc", workload={"size_mb": 4})
    both = run(tmp_path / "dc", mode="dc", workload={"size_mb": 4})
    assert one.goodput_mbps is not None
    assert both.goodput_mbps is not None
    assert one.leg_bytes is not None
    assert (one.leg_bytes[0] > 0, one.leg_bytes[1]) == (True, 0)
    assert 0.8 * 20 < one.goodput_mbps < 20
    assert 0.6 * 40 < both.goodput_mbps < 40


def test_the_uplink_takes_leg_1_with_its_own_delay(tmp_path: Path) -> None:
    slow = leg() | {"uplink": {"rate_mbps": 20, "delay_ms": 500, "jitter_ms": 0}}
    result = run(tmp_path, workload={"size_mb": 0.01}, legs=[slow, leg()])
    assert result.details["handshake_s"] > 0.5
    assert (
        run(tmp_path / "2", workload={"size_mb": 0.01}, legs=[leg(), slow]).details["handshake_s"]
        < 0.1
    )


DOWN = leg(outages=[[0.001, 1000]])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"timeout_s": 0.2}, r"did not finish within 0\.2 s: .*of 1000000 bytes"),
        ({"workload": {"duration_s": 0.001}}, r"client received nothing in 0\.001 s"),
        ({"legs": [DOWN, DOWN], "timeout_s": 100}, "Idle timeout"),
    ],
)
def test_what_did_not_arrive_is_a_failure(
    fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    result = run_virtual(scenario(**fields), tmp_path / "run")
    assert (result.status, result.goodput_mbps) == ("failed", None)
    assert re.search(reason, result.reason)


def test_over_ipv6_a_full_packet_has_20_bytes_more_at_the_hosts_and_on_the_legs(
    tmp_path: Path,
) -> None:
    def largest(version: int) -> tuple[int, int]:
        directory = tmp_path / str(version)
        result = run(directory, ip_version=version, virtual={"packet_trace": True})
        total = sum(result.leg_bytes or ())
        summary = json.loads((directory / "run" / "gnb-summary.json").read_text())
        carried = sum(leg["delivered_packets"] for leg in summary["legs"].values())
        trace = [
            each for each in rows(directory / "run" / "packets.csv") if each["event"] == "sent"
        ]
        downlink = [int(each["bytes"]) for each in trace if each["direction"] == "downlink"]
        dropped = [leg["dropped_queue"] for leg in summary["legs"].values()]
        assert len(downlink) == carried + sum(dropped)
        assert total > 0.9 * carried * (max(downlink) + 3)
        return max(downlink), total // carried

    (host_4, leg_4), (host_6, leg_6) = largest(4), largest(6)
    assert (host_4, host_6) == (1228, 1248)
    assert leg_6 - leg_4 == pytest.approx(20, abs=2)


@needs_picoquic
def test_flows_share_the_legs(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
    fields = {"workload": {"duration_s": 5}, "congestion_control": "reno"}  # the papers'
    fields["transport"] = "quic-picoquic"
    result = run(tmp_path, mode="flows", flows=flows, **fields)
    goodputs = [each["goodput_mbps"] for each in result.details["flows"]]
    assert result.goodput_mbps == pytest.approx(sum(goodputs))
    assert 30 < sum(goodputs) < 40
    assert result.details["jain_index"] > 0.9
    bearers = {row["bearer"] for row in rows(tmp_path / "run/ue-receive.csv")}
    assert bearers == {"1", "3", "5"}


def test_each_flow_has_its_own_congestion_control_and_qlogs(tmp_path: Path) -> None:
    flows = [{"mode": "sc", "leg": leg, "congestion_control": "cubic"} for leg in (1, 2)]
    flows[0]["congestion_control"] = "reno"
    fields: dict[str, Any] = {"workload": {"duration_s": 1}, "options": {"qlog": True}}
    result = run(tmp_path, mode="flows", flows=flows, **fields)
    reno, cubic = (flow["goodput_mbps"] for flow in result.details["flows"])
    assert [flow["congestion_control"] for flow in result.details["flows"]] == ["reno", "cubic"]
    assert reno != cubic
    for place in ("flow-1/qlog/client", "flow-2/qlog/client", "flow-2/qlog/server"):
        assert (tmp_path / "run" / place / "1.qlog").exists()
    assert not (tmp_path / "run/qlog").exists()
    assert len(module("thesis", "recovery").server_recovery(tmp_path / "run").window) > 1


def test_a_duration_gives_what_arrived_in_it(tmp_path: Path) -> None:
    result = run(tmp_path, workload={"duration_s": 0.5}, timeout_s=0.4)
    assert result.completion_s == 0.5
    assert result.goodput_mbps == pytest.approx(result.size_bytes * 8 / 0.5 / 1e6)


def test_cpu_time_limits_goodput(tmp_path: Path) -> None:
    result = run(tmp_path, virtual={"cpu_us_per_packet": 1000})
    assert result.goodput_mbps is not None
    assert result.goodput_mbps < 1200 * 8 / 1000  # a packet a ms


@pytest.mark.parametrize("version", [4, 6])
def test_captures_of_end_hosts_have_the_packets_of_the_trace(tmp_path: Path, version: int) -> None:
    virtual = {"packet_trace": True, "capture": ["client", "server"]}
    legs, workload = [leg(loss_percent=1), leg()], {"size_mb": 0.1}
    run(tmp_path, virtual=virtual, ip_version=version, legs=legs, workload=workload)
    trace = rows(tmp_path / "run/packets.csv")
    for host, sends in (("client", "uplink"), ("server", "downlink")):
        with (tmp_path / f"run/{host}.pcap").open("rb") as file:
            seen = [(time - START_NS, packet) for time, packet in read_capture(file)]
        mine = [row for row in trace if (row["event"] == "sent") == (row["direction"] == sends)]
        sizes = [(time, len(packet)) for time, packet in seen]
        assert sizes == [(int(row["time_ns"]), int(row["bytes"])) for row in mine]
        layer, mark = (IP, "chksum") if version == 4 else (IPv6, "hlim")
        packet = layer(seen[0][1])
        checksum = packet[UDP].chksum
        packet[UDP].chksum = None
        assert getattr(layer(bytes(packet)), mark) == getattr(packet, mark)
        assert layer(bytes(packet))[UDP].chksum == checksum


@pytest.mark.parametrize("core", ["python", pytest.param("native", marks=needs_native)])
def test_a_packet_has_the_same_number_where_it_is_sent_and_received(
    tmp_path: Path, core: str
) -> None:
    legs = [leg(loss_percent=1), leg(jitter_ms=2, reorder=True)]
    run(tmp_path, virtual={"packet_trace": True, "core": core}, legs=legs)
    places: dict[str, dict[tuple[str, ...], dict[str, str]]] = {"sent": {}, "received": {}}
    for row in rows(tmp_path / "run/packets.csv"):
        known = places[row["event"]]
        packet = (row["flow"], row["direction"], row["packet"])
        assert known.setdefault(packet, row) is row
    sent, received = places["sent"], places["received"]
    for direction in ("downlink", "uplink"):
        numbers = [int(number) for _, way, number in sent if way == direction]
        assert numbers == list(range(1, len(numbers) + 1))
    assert received.keys() < sent.keys()
    assert all(row["bytes"] == sent[packet]["bytes"] for packet, row in received.items())
    delays = [int(row["time_ns"]) - int(sent[key]["time_ns"]) for key, row in received.items()]
    assert min(delays) > 0


def test_qlogs_of_both_ends_and_recorded_windows_are_in_virtual_time(tmp_path: Path) -> None:
    result = run(tmp_path, statistics_ms=10, options={"qlog": True})
    series = rows(tmp_path / "run/connections.csv")
    assert max(int(row["cwnd_bytes"]) for row in series if row["cwnd_bytes"]) > 10 * 1200
    assert float(series[1]["time_s"]) == 0.01
    for role in ("client", "server"):
        log = json.loads((tmp_path / f"run/qlog/{role}/1.qlog").read_text())
        [trace] = log["traces"]
        assert trace["vantage_point"]["type"] == role
        times = [event["time"] for event in trace["events"]]
        assert times[0] >= 1000
        assert times[-1] < 1000 * (1 + (result.completion_s or 0) + 5)


@needs_it
def test_the_qlogs_of_aioquic_of_2020_say_what_those_of_today_say(tmp_path: Path) -> None:
    transport = "quic-aioquic-2020"
    run(tmp_path, transport=transport, congestion_control="reno", options={"qlog": True})
    log = module("mesh", "connection").connection_log(tmp_path / "run")
    recovery = module("thesis", "recovery").server_recovery(tmp_path / "run")
    delay_s = log.packets["received_s"] - log.packets["sent_s"]
    assert delay_s.min() >= 0.005  # of 10 ms, less the jitter
    assert log.packets["bytes"].max() == 1280
    assert recovery.rtt_ms >= 20
    assert recovery.window["cwnd_bytes"].is_monotonic_increasing or recovery.drop_occasions > 0


def test_a_run_with_a_guest_keeps_to_one_processor_and_gives_the_others_back() -> None:
    before = os.sched_getaffinity(0)
    with one_processor():
        during = os.sched_getaffinity(0)
    assert len(during) == 1
    assert during <= before
    assert os.sched_getaffinity(0) == before


def downlink(version: IpVersion) -> Flow:
    return Flow((server_address(1, version), 4433), (client_address(1, version), 50_000))


@pytest.mark.parametrize(
    ("match", "versions"),
    [
        ({}, {4, 6}),
        ({"protocol": "udp", "source_port": 4433}, {4, 6}),
        ({"source": "10.0.0.0/16"}, {4}),
        ({"source": "fd00:10::2", "destination": "fd00:10:2:1::2"}, {6}),
        ({"destination": "fd00:10:2:2::2"}, set()),
    ],
)
def test_a_filter_takes_the_packets_of_its_networks_only(
    match: dict[str, Any], versions: set[int]
) -> None:
    both: tuple[IpVersion, ...] = (4, 6)
    wanted = Match.check(match, "test")
    assert {version for version in both if downlink(version).belongs_to(wanted)} == versions


def run_files(directory: Path, name: str, *values: str, **experiment: str) -> Path:
    """Render a topology and a download over it, and run them; where the results are."""
    given = {"type": "mpquic-picoquic", "clock": "virtual"} | experiment
    words = [f"{key}={value}" for key, value in given.items()]
    topo, xp = (str(directory / file) for file in ("topo", "xp"))
    results = directory / "results" / "-".join([name, *values])
    assert cli.main(["template", "render", name, *values, "-o", topo]) == 0
    assert cli.main(["template", "render", "download.xp", *words, "-o", xp]) == 0
    assert cli.main(["run", "-t", topo, "-x", xp, "--output", str(results)]) == 0
    return results


@needs_picoquic
def test_figure_6_as_minitopo_files(tmp_path: Path) -> None:
    """Electronics 11 (2022) 1492, figure 6: 8 Mbit/s from 2 to 4 s and from 6 to 8 s beside 4."""
    results = run_files(tmp_path, "reachable.topo", duration="8")
    rates = path_rates(results, 1.0).groupby("time_s")["rate_mbps"].sum()
    for second, capacity in ((1, 4), (3, 12), (5, 4), (7, 12)):
        assert rates[second] >= 0.85 * capacity
    paths = json.loads((results / "result.json").read_text())["details"]["paths"]
    (revived,) = (path for path in paths if path["leg"] == 2)
    assert 2 < revived["opened_s"] < 2.2
    assert revived["closed_s"] is None


RUN = """
from pathlib import Path
from minitopo_dc.clocks import run_scenario
from minitopo_dc.scenario import Scenario
for path in Path().glob("*.yaml"):
    run_scenario(Scenario.load(path), Path(path.stem))
"""


def in_a_process(
    directory: Path, seed_of_hashes: str, scenarios: dict[str, dict[str, Any]]
) -> dict[str, bytes]:
    """The files of runs in a process of their own, by the run's name and theirs."""
    directory.mkdir()
    for name, fields in scenarios.items():
        scenario(**fields).save(directory / f"{name}.yaml")
    environment = os.environ | {"PYTHONHASHSEED": seed_of_hashes}
    subprocess.run([sys.executable, "-c", RUN], cwd=directory, env=environment, check=True)
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name in scenarios
        for path in (directory / name).iterdir()
    }
