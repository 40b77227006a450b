"""IPv6 on the virtual clock: sizes, bearers' filters, whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.scenario.element import Match
from minitopo_dc.virtual.packet import Flow, Packet
from minitopo_dc.virtual.run import run_virtual
from tests.virtual.scenarios import scenario


def downlink(version: IpVersion) -> Flow:
    return Flow((server_address(1, version), 4433), (client_address(1, version), 50_000))


@pytest.mark.parametrize(("version", "size"), [(4, 1228), (6, 1248)])
def test_a_packet_is_as_long_as_its_version_makes_it(version: IpVersion, size: int) -> None:
    assert Packet(downlink(version), bytes(1200)).size == size


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


@pytest.mark.parametrize("mode", ["sc", "dc", "dc-duplicate"])
def test_a_download_takes_the_legs_of_its_mode(mode: str, tmp_path: Path) -> None:
    result = run_virtual(scenario(mode=mode, ip_version=6), tmp_path)
    assert (result.status, result.reason) == ("ok", "")
    assert result.leg_bytes is not None
    used = {"sc": (True, False), "dc": (True, True), "dc-duplicate": (True, True)}[mode]
    assert tuple(each > 0 for each in result.leg_bytes) == used


def test_flows_have_a_bearer_each(tmp_path: Path) -> None:
    flows = [{"mode": "dc"}, {"mode": "sc", "leg": 2}]
    result = run_virtual(scenario(mode="flows", flows=flows, ip_version=6), tmp_path)
    assert (result.status, result.reason) == ("ok", "")
    assert [flow["bytes_received"] for flow in result.details["flows"]] == [10**6, 10**6]
