"""What Dual Connectivity makes of a user's network, and backhaul, without root."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import IpVersion, SettingsError
from minitopo_dc.runs.check import check_fields
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario, addresses
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.topologies import two_path
from minitopo_dc.topologies.bearer_end import BearerEnd, Bearers
from minitopo_dc.topologies.dual_connectivity import DualConnectivity, find_legs, make_legs
from minitopo_dc.topologies.element_process import TopologyError
from minitopo_dc.topologies.radio_link import in_json
from minitopo_dc.topologies.two_path import ManyClients, TwoPath

BATCH = Bearers({"split": "batch"}, {"split": "batch"})


class Host:
    """A Mininet node without a process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params: dict[str, Any] = {}
        self.interfaces: list[Interface] = []

    def intfList(self) -> list[Interface]:  # noqa: N802
        return self.interfaces

    def defaultIntf(self) -> Interface:  # noqa: N802
        return self.interfaces[0]


class Interface:
    """A Mininet interface that nothing is behind."""

    def __init__(self, node: Host, ip: str | None) -> None:
        self.node, self.ip = node, ip
        self.name = f"{node.name}-eth{len(node.interfaces)}"
        self.link: Any = None
        node.interfaces.append(self)

    def MAC(self) -> str:  # noqa: N802
        return "02:00:00:00:01:00"

    def __str__(self) -> str:
        return self.name


def link(left: Host, right: Host, left_ip: str | None = None, right_ip: str | None = None) -> None:
    ends = Interface(left, left_ip), Interface(right, right_ip)
    for each in ends:
        each.link = SimpleNamespace(intf1=ends[0], intf2=ends[1])


def network(legs: int = 2) -> dict[str, Host]:
    """server - gnb = ue - client, with Mininet's default addresses."""
    hosts = {name: Host(name) for name in ("server", "gnb", "ue", "client")}
    link(hosts["server"], hosts["gnb"], "10.0.0.1", "10.0.0.2")
    for leg in range(legs):
        link(hosts["gnb"], hosts["ue"], None, "10.0.0.3" if leg == 0 else None)
    link(hosts["ue"], hosts["client"], None, "10.0.0.4")
    return hosts


def end(role: Any, hosts: dict[str, Host], given: Any = None) -> BearerEnd:
    gnb: Any = hosts["gnb"]
    ue: Any = hosts["ue"]
    legs = make_legs(find_legs(gnb, ue), given)
    return BearerEnd(role, gnb if role == "gnb" else ue, ue if role == "gnb" else gnb, legs)


def test_what_is_behind_the_other_end_takes_the_bearer() -> None:
    hosts = network()
    assert end("gnb", hosts).far() == ["10.0.0.3", "10.0.0.4"]
    assert end("ue", hosts).far() == ["10.0.0.1", "10.0.0.2"]
    assert list(end("gnb", hosts).near()) == ["10.0.0.1"]


def test_a_host_that_both_ends_reach_otherwise_keeps_its_routes() -> None:
    hosts = network()
    link(hosts["server"], hosts["client"], "10.9.0.1", "10.9.0.2")
    assert end("gnb", hosts).far() == ["10.0.0.3"]


def test_links_without_parameters_are_wires_and_others_are_the_element_s() -> None:
    made = end("gnb", network(), [{"bw": 20, "uplink": {"bw": 5}}, None])
    settings = ElementSettings.check(made.settings(Path(), BATCH), "test")
    assert [leg.radio.rate_mbps for leg in settings.legs] == [20]
    assert [wire.interface for wire in settings.wires] == ["gnb-eth2"]
    back = end("ue", network(), [{"bw": 20, "uplink": {"bw": 5}}, None])
    assert back.settings(Path(), BATCH)["legs"][0]["radio"]["rate_mbps"] == 5
    assert [hop.table for hop in settings.next_hops] == [1001, 1002]


def test_what_looks_into_legs_needs_legs_of_the_element_s_own() -> None:
    bearers = Bearers({"split": "least-delay"}, {})
    wires, own = (end("gnb", network(), given) for given in (None, [{"bw": 20}] * 2))
    with pytest.raises(SettingsError, match="least-delay"):
        ElementSettings.check(wires.settings(Path(), bearers), "test")
    assert ElementSettings.check(own.settings(Path(), bearers), "test").wires == ()


def test_reports_go_back_between_the_legs_own_addresses() -> None:
    bearers = Bearers({"report_ms": 20}, {})
    made = end("ue", network()).settings(Path(), bearers)
    settings = ElementSettings.check(made, "test")
    report = settings.receive[0].report
    assert report is not None
    assert [str(leg.destination) for leg in report.legs] == ["198.18.1.1", "198.18.2.1"]


def test_each_mark_has_a_rule_and_the_terminal_a_last_resort() -> None:
    rules = [each for each in end("ue", network()).commands() if each[:3] == ("ip", "rule", "add")]
    assert [each[4] for each in rules if "fwmark" in each] == ["1/0xff", "2/0xff"]
    assert rules[-1][-1] == "33000"
    assert not any("33000" in each for each in end("gnb", network()).commands())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"bw": 20}], "legs: 1 for 2 links"),
        ([{"delay": 5}, None], "leg 1: delay=5: allowed are times"),
        ([None, {"band": 3}], "leg 2: unknown parameter 'band'"),
        ({"bw": 20}, "legs={'bw': 20}: allowed are lists"),
        ([None, 20], "leg 2: 20: allowed are dictionaries"),
        ([{"uplink": 5}, None], "leg 1: 5: allowed are dictionaries"),
    ],
)
def test_a_wrong_leg_is_one_clear_error(given: Any, words: str) -> None:
    with pytest.raises(TopologyError, match=words):
        end("gnb", network(), given)


def test_mn_words_become_legs_and_options() -> None:
    topology = TwoPath(mode="dc", bw="20:10", delay="10ms", ratio="2:1")
    wanted = topology.nodeInfo("ue")["dual_connectivity"]
    assert wanted["legs"] == [{"bw": "20", "delay": "10ms"}, {"bw": "10", "delay": "10ms"}]
    assert wanted["ratio"] == [2.0, 1.0]
    assert TwoPath(mode="dc").nodeInfo("ue")["dual_connectivity"]["legs"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "multipath"}, "mode=multipath: allowed is dc"),
        ({"bw": 20}, "bw: needs mode=dc"),
        ({"mode": "dc", "ip": 6}, "mode=dc: needs ip=4"),
        ({"ip": 5}, "ip=5: allowed are 4 and 6"),
        ({"mode": "dc", "bw": "1:2:3"}, "bw: 3 values; allowed are 1 and 2"),
        ({"mode": "dc", "ratio": "2:x"}, "ratio='2:x': allowed are numbers from 0"),
        ({"mode": "dc", "split_uplink": "perhaps"}, "split_uplink='perhaps': allowed are True and"),
    ],
)
def test_mn_words_that_do_not_fit_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TwoPath(**options)


def test_fields_of_pdcp_reach_an_element_s_file_or_are_refused_by_name() -> None:
    assert json.dumps(in_json({"batch": numpy.int64(4), "ratio": numpy.array([2, 1])})) == (
        '{"batch": 4, "ratio": [2, 1]}'
    )
    assert in_json({"report_ms": None}) == {"report_ms": None}
    with pytest.raises(TopologyError, match=r"batch=<object"):
        in_json({"batch": object()})
    number: Any = 5
    with pytest.raises(TopologyError, match="uplink_pdcp=5: "):
        DualConnectivity(Host("gnb"), Host("ue"), uplink_pdcp=number)


ANY_VALUE = st.one_of(
    *(st.floats(), st.booleans(), st.none(), st.integers(), st.text(max_size=4)),
    *(st.binary(max_size=2), st.lists(st.integers(), max_size=2), st.floats().map(numpy.float64)),
)


@pytest.mark.parametrize(
    ("topology", "name"), [(TwoPath, "legs"), (TwoPath, "backhaul"), (ManyClients, "ip")]
)
@given(value=ANY_VALUE)
def test_any_count_of_a_topology_is_read_or_refused_by_name(
    topology: Any, name: str, value: Any
) -> None:
    try:
        topology(**{name: value})
    except ValueError as error:
        assert str(error).startswith(f"{name}=")
        assert ": allowed are " in str(error)


@pytest.mark.parametrize("count", [3, 3.0, "3", "3.0", numpy.int64(3), numpy.float64(3)])
def test_a_count_of_another_type_is_read_as_the_number_that_it_is(count: Any) -> None:
    assert sorted(ManyClients(clients=count).hosts()) == sorted(ManyClients(clients=3).hosts())


@pytest.mark.parametrize("count", [2.5, True, "x", "1_0", float("nan"), float("inf"), [1, 2], 100])
def test_a_count_that_is_none_is_refused_and_not_rounded(count: Any) -> None:
    with pytest.raises(ValueError, match=r"clients=.*1 to 99"):
        ManyClients(clients=count)


LINK = {"downlink": {"rate_mbps": 20}}
SCENARIO = {"transport": "tcp", "mode": "sc", "legs": [LINK], "real": {"backhaul": [LINK, LINK]}}


@pytest.mark.parametrize("version", [4, 6])
def test_the_server_s_addresses_are_those_of_the_topology(version: IpVersion) -> None:
    assert two_path.server_address() == two_path.server_address(1) == "10.0.0.2"
    for link in (1, 2, 250):
        expected = addresses.server_address(link, version)
        assert two_path.server_address(link, version) == expected


def test_each_direction_of_each_link_has_an_element_and_a_seed_of_its_own(tmp_path: Path) -> None:
    edge, agg = router_settings(Scenario.check(SCENARIO, "test"), tmp_path)[2:]
    assert [leg.interface for leg in (*edge.legs, *agg.legs)] == [
        *("edge-bh1", "edge-bh2", "agg-bh1", "agg-bh2")
    ]
    assert len({leg.seed for leg in (*edge.legs, *agg.legs)}) == 4


def test_the_virtual_clock_refuses_a_network_that_only_the_real_one_has() -> None:
    with pytest.raises(SettingsError, match=r"^real\.backhaul: .*clock: real"):
        check_fields(Scenario.check(SCENARIO | {"transport": "quic", "clock": "virtual"}, "test"))


@pytest.mark.parametrize("name", ["kernel.panic", "net.ipv4.x y", "-w"])
def test_only_settings_of_a_network_namespace_can_be_asked_for(name: str) -> None:
    with pytest.raises(SettingsError, match="sysctl"):
        Scenario.check(SCENARIO | {"real": {"sysctl": {name: "1"}}}, "test")
