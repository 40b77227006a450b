"""The IPv6 that topologies give their hosts beside IPv4."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from mininet.log import setLogLevel
from mininet.net import Mininet

from minitopo_dc.real.hosts import EmulatedHost, Network, network
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.topologies.host import in_ipv6, set_up
from minitopo_dc.topologies.two_path import ManyClients
from tests.real.testbed import output


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("10.2.1.2", "fd00:10:2:1::2"),
        ("10.0.0.2", "fd00:10::2"),
        ("10.2.250.0/24", "fd00:10:2:250::/64"),
        ("10.0.0.0/16", "fd00:10::/48"),
        ("10.102.3.1/24", "fd00:10:102:3::1/64"),
        ("default", "default"),
        ("gnb-leg1", "gnb-leg1"),
        ("1/0xff", "1/0xff"),
    ],
)
def test_words_for_ip_have_the_same_digits_in_ipv6(word: str, other: str) -> None:
    assert in_ipv6(word) == other


def test_a_kernel_without_ipv6_is_no_reason_to_fail() -> None:
    commands: list[list[str]] = []
    inputs: list[str] = []

    def popen(command: list[str], **_: Any) -> SimpleNamespace:
        """As sysctl(8) where there is no `net.ipv6`: an unknown key is an error, but with -e."""
        commands.append(command)
        unknown = any(word.startswith("net.ipv6") for word in command)
        refused = command[0] == "sysctl" and unknown and "e" not in command[1]

        def communicate(given: str) -> tuple[str, str]:
            inputs.append(given)
            return "", "cannot stat /proc/sys/net/ipv6: No such file or directory"

        return SimpleNamespace(communicate=communicate, returncode=int(refused))

    node = SimpleNamespace(name="gnb", nameToIntf={"gnb-leg1": None}, popen=popen)
    set_up(node, forward=True, mtu={}, commands=[("route", "add", "default", "via", "10.0.0.1")])
    (ipv6,) = (command for command in commands if any("ipv6" in word for word in command))
    assert ipv6[-1] == "net.ipv6.conf.all.disable_ipv6=1"
    filters = ("net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.gnb-leg1.rp_filter=0")
    assert ["sysctl", "-qw", *filters, "net.ipv4.ip_forward=1"] in commands
    batch = "link set dev gnb-leg1 mtu 1500\nroute add default via 10.0.0.1"
    assert (commands[-1], inputs[-1]) == (["ip", "-batch", "-"], batch)


def addresses(host: EmulatedHost) -> dict[str, list[dict[str, Any]]]:
    """The IPv6 addresses of each interface but lo."""
    links = json.loads(output(host, "ip", "-6", "-json", "address", "show") or "[]")
    return {link["ifname"]: link["addr_info"] for link in links if link and link["ifname"] != "lo"}


@pytest.fixture(scope="module")
def hosts() -> Iterator[Network]:
    """The testbed's hosts with IPv6, two legs and two backhaul links."""
    with network(2, backhaul=2, ip_version=6) as made:
        yield made


@pytest.mark.root
def test_addresses_are_there_at_once_and_for_good_and_no_router_is_asked(hosts: Network) -> None:
    of_client = addresses(hosts.client)
    for leg in (1, 2):
        (own,) = (entry for entry in of_client[f"client-lan{leg}"] if entry["scope"] == "global")
        assert (own["local"], own["prefixlen"]) == (client_address(leg, 6), 64)
        assert "tentative" not in own
        assert own["valid_life_time"] == 2**32 - 1
    names = ("accept_dad", "router_solicitations", "accept_ra", "autoconf", "forwarding")
    for host, forwards in (("client", "0"), ("ue", "1")):
        keys = [f"net.ipv6.conf.{host}-lan1.{name}" for name in names]
        assert output(hosts[host], "sysctl", "-n", *keys).split() == [*"0000", forwards]


@pytest.mark.root
def test_what_a_client_address_sends_takes_its_leg(hosts: Network) -> None:
    for leg in (1, 2):
        to = ("to", server_address(1, 6), "from", client_address(leg, 6))
        route = output(hosts.ue, "ip", "-6", "route", "get", *to, "iif", f"ue-lan{leg}")
        assert f"dev ue-leg{leg}" in route
        marked = ("mark", str(leg), "iif", "gnb-core", "from", server_address(1, 6))
        route = output(hosts.gnb, "ip", "-6", "route", "get", client_address(1, 6), *marked)
        assert f"dev gnb-leg{leg}" in route


@pytest.mark.root
def test_without_it_hosts_have_no_ipv6_at_all() -> None:
    with network(1) as hosts:
        assert addresses(hosts.client) == addresses(hosts.ue) == {}


@pytest.mark.long
@pytest.mark.root
def test_each_of_many_clients_reaches_the_server_from_each_of_its_addresses() -> None:
    setLogLevel("error")
    net = Mininet(topo=ManyClients(2, 2, ip=6), controller=None)
    try:
        for client, network, lan in (("client", 2, "lan"), ("client2", 102, "c2lan")):
            for leg in (1, 2):
                source = f"fd00:10:{network}:{leg}::2"
                words = ("ping", "-6", "-c", "1", "-W", "5", "-I", source, server_address(1, 6))
                assert ", 0% packet loss" in output(EmulatedHost(net[client]), *words)
                route = ("to", server_address(1, 6), "from", source, "iif", f"ue-{lan}{leg}")
                found = output(EmulatedHost(net["ue"]), "ip", "-6", "route", "get", *route)
                assert f"dev ue-leg{leg}" in found
    finally:
        net.stop()
