"""The topology with links between gnb and the server."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.runs.check import check_virtual
from minitopo_dc.runs.routers import backhaul_settings
from minitopo_dc.scenario import Scenario, addresses
from minitopo_dc.topologies import two_path

LINK = {"downlink": {"rate_mbps": 20}}
SCENARIO = {"transport": "tcp", "mode": "sc", "legs": [LINK], "real": {"backhaul": [LINK, LINK]}}


@pytest.mark.parametrize("version", [4, 6])
def test_the_server_s_addresses_are_those_of_the_topology(version: IpVersion) -> None:
    assert two_path.server_address() == two_path.server_address(1) == "10.0.0.2"
    for link in (1, 2, 250):
        expected = addresses.server_address(link, version)
        assert two_path.server_address(link, version) == expected


def test_each_direction_of_each_link_has_an_element_and_a_seed_of_its_own(tmp_path: Path) -> None:
    edge, agg = backhaul_settings(Scenario.check(SCENARIO, "test"), tmp_path)
    assert [leg.interface for leg in (*edge.legs, *agg.legs)] == [
        *("edge-bh1", "edge-bh2", "agg-bh1", "agg-bh2")
    ]
    assert len({leg.seed for leg in (*edge.legs, *agg.legs)}) == 4


def test_the_virtual_clock_refuses_a_network_that_only_the_real_one_has() -> None:
    values = {"transport": "quic", "mode": "sc", "legs": [LINK], "real": {"backhaul": [LINK]}}
    with pytest.raises(SettingsError, match=r"^real\.backhaul: needs clock: real"):
        check_virtual(Scenario.check(values, "test"))


@pytest.mark.parametrize("name", ["kernel.panic", "net.ipv4.x y", "-w"])
def test_only_settings_of_a_network_namespace_can_be_asked_for(name: str) -> None:
    with pytest.raises(SettingsError, match="sysctl"):
        Scenario.check(SCENARIO | {"real": {"sysctl": {name: "1"}}}, "test")


@pytest.mark.root
@pytest.mark.skipif(shutil.which("mn") is None, reason="Mininet's command mn is not installed")
def test_every_host_reaches_every_other_with_mininet_s_own_command() -> None:
    command = ["mn", "--custom", two_path.__file__, "--topo", "two_path,2,2"]
    command += ["--controller", "none", "--test", "pingall"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "0% dropped (30/30 received)" in done.stdout + done.stderr
