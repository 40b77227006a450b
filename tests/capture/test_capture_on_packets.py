"""`--pcap` on real packets, read by Wireshark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import cli
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address, server_address
from tests import long
from tests.capture.wireshark import fields, needs_tshark, troubles
from tests.native.extension import needs_native

pytestmark = [pytest.mark.root, needs_tshark]
BATCH = 20
CORES = (
    long("python"),
    pytest.param("native", marks=needs_native),
)
HOSTS = ("gnb", "ue")
LEG = {
    "downlink": {"rate_mbps": 50, "delay_ms": 2, "jitter_ms": 0, "queue_packets": 10_000},
    "uplink": {"rate_mbps": 50, "delay_ms": 2},
}


@pytest.fixture(scope="module", params=CORES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One short Dual Connectivity transfer."""
    return captured(tmp_path_factory.mktemp("pcap"), request.param)


def captured(directory: Path, core: str, **more: Any) -> Path:
    values: dict[str, Any] = {
        "transport": "tcp",
        "mode": "dc",
        "legs": [LEG, LEG],
        "workload": {"size_mb": 1},
        "real": {"core": core},
    }
    wanted = Scenario.check(values | {"pdcp": {"batch": 2 * BATCH}} | more, "test")
    wanted.save(directory / "scenario.yaml")
    result = directory / "result"
    arguments = ["run", str(directory / "scenario.yaml"), "--pcap", "--output", str(result)]
    assert cli.main(arguments) == 0
    ran = [json.loads((result / f"{host}-summary.json").read_text())["core"] for host in HOSTS]
    assert ran == [core, core]
    return result


def numbers(capture: Path) -> list[int]:
    return [int(sn) for (sn,) in fields(capture, "pdcp-nr.seq-num", only="pdcp-nr")]


def test_a_leg_s_capture_has_the_numbers_of_its_batches_in_order_and_what_the_server_sent(
    run: Path,
) -> None:
    for leg in (1, 2):
        found = numbers(run / f"gnb-leg{leg}.pcap")
        assert found == [sn for sn in range(found[-1] + 1) if sn // BATCH % 2 == leg - 1]
        assert len(found) > 300
        assert numbers(run / f"ue-leg{leg}.pcap") == found
    inner = fields(run / "gnb-leg1.pcap", "ip.dst", "ip.proto", only="pdcp-nr")
    assert set(inner) == {(f"192.0.2.2,{client_address(1)}", "17,6")}
    for path in run.glob("*.pcap"):
        assert not troubles(path)


@pytest.mark.long
@pytest.mark.parametrize("core", CORES)
def test_with_ipv6_the_inner_packets_are_of_ipv6(core: str, tmp_path: Path) -> None:
    result = captured(tmp_path, core, ip_version=6)
    for leg in (1, 2):
        path = result / f"gnb-leg{leg}.pcap"
        found = fields(path, "ip.dst", "ipv6.src", "ipv6.dst", only="pdcp-nr")
        assert set(found) == {("192.0.2.2", server_address(1, 6), client_address(1, 6))}
        assert len(numbers(path)) > 300
        assert not troubles(path)
    uplink = fields(result / "ue-leg1.pcap", "ipv6.dst", only="!pdcp-nr")
    assert set(uplink) == {(server_address(1, 6),)}


def test_the_uplink_is_captured_where_it_leaves_without_a_bearer(run: Path) -> None:
    destinations = fields(run / "ue-leg1.pcap", "ip.dst", only="!pdcp-nr")
    summary = json.loads((run / "ue-summary.json").read_text())
    assert len(destinations) == summary["legs"]["1"]["delivered_packets"] > 0
    assert {address for (address,) in destinations} == {"10.0.0.2"}


def test_times_agree_with_the_element_s_clock(run: Path) -> None:
    summary = json.loads((run / "gnb-summary.json").read_text())
    start = summary["start_ns"] + summary["wall_clock_offset_ns"]
    first, *_ = fields(run / "gnb-leg1.pcap", "frame.time_epoch")
    assert 0 <= float(first[0]) - start / 1e9 < 5
