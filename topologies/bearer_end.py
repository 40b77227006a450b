"""One end of a split bearer on a Mininet host: the host's set-up, and its element's settings.

The bearer is an interface of the host, `dc`: what the host routes there, its own packets and those
of others, comes out of `dc-in` again, where the element takes it, numbers it and marks it for a
leg. So routes alone say what is split, and no rule names an address of the user's. That packets of
the host itself make this turn also lets TCP go on: held where they are sent, they would stop it
(docs/mininet.md, TCP small queues).

Legs get addresses of their own, out of what RFC 2544 set aside for tests of network devices; they
have no neighbours to find.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mininet.link import Intf
from mininet.node import Node, Switch

from .host import Command, words

Role = Literal["gnb", "ue"]
LEG_NETWORK = "198.18.0.0/15"
"""RFC 2544, appendix C.2.2: addresses that no network has."""
LOOP, LOOP_IN = "dc", "dc-in"
LOOP_GATEWAY, LOOP_LINK_LAYER = "198.19.255.1", "02:00:00:00:00:01"
"""Of `dc-in`, as `dc` knows it. A locally administered address (IEEE 802), inside one host only."""
LEG_MTU = 1600
"""Bytes: room for a 1,500-byte SDU and its PDCP header (TS 38.323, 6.2.2), unfragmented."""
BEARER_TABLE, REST_TABLE, FIRST_TABLE = 1000, 999, 1000
"""Routing tables: what takes the bearer; what else the terminal sends; of leg `i`: plus `i`."""
MARKED, TO_BEARER, THE_REST = "50", "60", "33000"
"""Priorities of the rules: before and behind the main table's 32766 (ip-rule(8))."""
LEG_MARK_MASK = 0xFF
"""An element marks a packet with its leg's number in the lowest byte."""
REPORT_PORT = 49152
"""Reports of bearer `i` go to this port plus `i`: the first of the dynamic ports (RFC 6335)."""
ECHO_PORT = 55000
"""Echoes over the legs of bearer `i` go to this port plus `i`."""
MAX_LEGS = 250


class LegInterfaces(NamedTuple):
    """One leg: its interfaces, and the settings of each direction; None: as the link is."""

    number: int
    gnb: Intf
    ue: Intf
    downlink: Mapping[str, Any] | None
    uplink: Mapping[str, Any] | None


class Bearers(NamedTuple):
    """Settings of the two bearers, which both elements are told."""

    downlink: Mapping[str, Any]
    """Fields of PDCP (docs/scenarios.md)."""
    uplink: Mapping[str, Any]
    plugins: Sequence[str] = ()
    seed: Any = 1


@dataclass(frozen=True)
class BearerEnd:
    """The end of both bearers on `node`; `other` is the other end's host."""

    role: Role
    node: Node
    other: Node
    legs: Sequence[LegInterfaces]
    planned: bool = False
    """Mininet is still configuring hosts: addresses are those that they will have."""

    @property
    def interfaces(self) -> list[Intf]:
        """Return this end's interface of each leg."""
        return [self._near_interface(leg) for leg in self.legs]

    def commands(self) -> Iterator[Command]:
        """Yield the commands to run on the host before its element starts."""
        yield from self._devices()
        for leg in self.legs:
            yield from self._leg(leg)
        yield from self._routes()

    def settings(self, directory: Path, bearers: Bearers) -> dict[str, Any]:
        """Return the settings of this end's element (docs/element.md)."""
        down, up = self._bearer(1, bearers.downlink), self._bearer(2, bearers.uplink)
        sent, received = (down, up) if self.role == "gnb" else (up, down)
        direction = "downlink" if self.role == "gnb" else "uplink"
        entries = [
            (
                leg,
                {"leg": leg.number, "interface": str(self._near_interface(leg))},
                leg.downlink if self.role == "gnb" else leg.uplink,
            )
            for leg in self.legs
        ]
        return {
            "host": self.role,
            "directory": str(directory),
            "plugins": list(bearers.plugins),
            "legs": [
                entry | {"radio": dict(radio), "seed": f"{bearers.seed}/{leg.number}/{direction}"}
                for leg, entry, radio in entries
                if radio is not None
            ],
            "wires": [entry for _, entry, radio in entries if radio is None],
            "next_hops": [
                {
                    "leg": leg.number,
                    "gateway": _address("ue" if self.role == "gnb" else "gnb", leg),
                    "link_layer": _link_layer(self._far_interface(leg)),
                    "table": FIRST_TABLE + leg.number,
                }
                for leg in self.legs
            ],
            "transmit": [{**sent, "interface": LOOP_IN}],
            "receive": [received],
        }

    def far(self) -> list[str]:
        """Return the addresses reached over the bearer: the other end's, and those behind it."""
        near = self._hosts_behind(self.node)
        hosts = (self.other, *(far for far in self._hosts_behind(self.other) if far not in near))
        return sorted({own for host in hosts for own in addresses(host, planned=self.planned)})

    def near(self) -> dict[str, Intf]:
        """Return the addresses on this end's other links, each with its interface here."""
        return {
            host: interface
            for interface in self._others()
            for far in neighbours(interface)
            if far.node is not self.other
            if (host := address(far, planned=self.planned)) is not None
        }

    def _devices(self) -> Iterator[Command]:
        """Yield commands for interfaces that send packets unchanged, and for forwarding."""
        yield words(f"ip link add {LOOP} type veth peer name {LOOP_IN}")
        yield words(f"ip link set dev {LOOP_IN} address {LOOP_LINK_LAYER}")
        ours = [LOOP, LOOP_IN, *(str(interface) for interface in self.interfaces)]
        others = [str(interface) for interface in self._others()]
        quiet = (f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ours)
        yield ("sysctl", "-eqw", *quiet)  # a kernel that was booted without IPv6 has no such key
        for name in ours:
            # What is longer than the MTU or lacks its checksum is no packet of a leg.
            yield words(f"ethtool -K {name} tso off gso off gro off tx off")
        for name in (LOOP, LOOP_IN):
            yield words(f"ip link set dev {name} up")
        unfiltered = (f"net.ipv4.conf.{name}.rp_filter=0" for name in (*ours, *others, "all"))
        accepting = f"net.ipv4.conf.{LOOP_IN}.accept_local=1"  # this host's own come by here, too
        yield ("sysctl", "-qw", "net.ipv4.ip_forward=1", *unfiltered, accepting)
        for name in others:
            # Hosts that share a network with hosts across the bearer ask here for their addresses.
            yield words(f"sysctl -qw net.ipv4.conf.{name}.proxy_arp=1")
            yield words(f"sysctl -qw net.ipv4.neigh.{name}.proxy_delay=0")

    def _leg(self, leg: LegInterfaces) -> Iterator[Command]:
        name, table = self._near_interface(leg), FIRST_TABLE + leg.number
        yield words(f"ip address replace {_address(self.role, leg)}/30 dev {name} scope link")
        mark = f"{leg.number}/{LEG_MARK_MASK:#x}"
        yield words(f"ip rule add fwmark {mark} table {table} priority {MARKED}")
        # After the route that the element makes, which goes when the interface goes down.
        yield words(f"ip route add blackhole default metric 1000 table {table}")
        # A PDU is what the other end's host sends to this one, but for the reports.
        for other in (
            f"-s {LEG_NETWORK}",
            f"-m mac ! --mac-source {_link_layer(self._far_interface(leg))}",
            "-m pkttype ! --pkt-type unicast",
        ):
            yield words(f"iptables -w -t mangle -A PREROUTING -i {name} {other} -j ACCEPT")

    def _routes(self) -> Iterator[Command]:
        gateway = f"via {LOOP_GATEWAY} dev {LOOP} onlink {self._source()}"
        yield words(
            f"ip neighbour replace {LOOP_GATEWAY} lladdr {LOOP_LINK_LAYER} dev {LOOP} nud permanent"
        )
        far = self.far()
        for host in far:
            yield words(f"ip route replace {host} {gateway} table {BEARER_TABLE}")
        for host, interface in self.near().items():
            if host not in far:
                way = f"dev {interface} {self._source(interface)}"
                yield words(f"ip route replace {host} {way} table {BEARER_TABLE}")
        yield words(f"ip rule add table {BEARER_TABLE} priority {TO_BEARER}")
        if self.role == "ue":
            yield words(f"ip route replace default {gateway} table {REST_TABLE}")
            yield words(f"ip rule add table {REST_TABLE} priority {THE_REST}")

    def _source(self, interface: Intf | None = None) -> str:
        """Return the route option for the source address of this host's own packets."""
        first = None if interface is None else address(interface, planned=self.planned)
        own = first or next(addresses(self.node, planned=self.planned), None)
        return f"src {own}" if own else ""

    def _bearer(self, number: int, pdcp: Mapping[str, Any]) -> dict[str, Any]:
        """Return a bearer's settings, with the ways of reports and echoes, which there may be."""
        sender: Role = "gnb" if number == 1 else "ue"
        receiver: Role = "ue" if number == 1 else "gnb"
        path = [
            {
                "leg": leg.number,
                "source": _address(receiver, leg),
                "destination": _address(sender, leg),
            }
            for leg in self.legs
        ]
        return {
            "bearer": number,
            "legs": [leg.number for leg in self.legs],
            "pdcp": dict(pdcp),
            "report": {"legs": path, "port": REPORT_PORT + number},
            "echo": {"legs": path, "port": ECHO_PORT + number},
        }

    def _near_interface(self, leg: LegInterfaces) -> Intf:
        return leg.gnb if self.role == "gnb" else leg.ue

    def _far_interface(self, leg: LegInterfaces) -> Intf:
        return leg.ue if self.role == "gnb" else leg.gnb

    def _others(self) -> list[Intf]:
        """Return this host's interfaces that are no legs."""
        legs = self.interfaces
        return [end for end in self.node.intfList() if end not in legs and end.name != "lo"]

    def _hosts_behind(self, node: Node) -> list[Node]:
        """Return the hosts behind one end, as seen without the legs."""
        legs = [end for leg in self.legs for end in (leg.gnb, leg.ue)]
        return behind(node, legs, self.other if node is self.node else self.node)


def _address(role: Role, leg: LegInterfaces) -> str:
    return f"198.18.{leg.number}.{1 if role == 'gnb' else 2}"


def _link_layer(interface: Intf) -> str:
    return str(interface.MAC() or interface.updateMAC())


def neighbours(interface: Intf) -> Iterator[Intf]:
    """Return the hosts' interfaces that frames from `interface` reach by its link and switches."""
    return (end for end in segment(interface) if not isinstance(end.node, Switch))


def segment(interface: Intf) -> Iterator[Intf]:
    """Yield all interfaces that frames from `interface` reach, those of switches too."""
    seen, waiting = {interface}, [interface]
    while waiting:
        near = waiting.pop()
        if near.link is None:
            continue
        far = near.link.intf2 if near.link.intf1 is near else near.link.intf1
        ports = far.node.intfList() if isinstance(far.node, Switch) else [far]
        for port in ports:
            if port not in seen and port.name != "lo":
                seen.add(port)
                yield port
                if port is not far:
                    waiting.append(port)


def behind(node: Node, without: Collection[Intf], stop: Node) -> list[Node]:
    """Return the hosts that `node` reaches, over any number of others, but not by some interfaces.

    Args:
        node: the first one, which is not among them.
        without: the interfaces of `node` that do not count.
        stop: a host that is not passed, nor among them.
    """
    hosts: list[Node] = []
    waiting = [end for end in node.intfList() if end not in without]
    while waiting:
        for far in neighbours(waiting.pop()):
            if far.node not in (node, stop, *hosts):
                hosts.append(far.node)
                waiting += [end for end in far.node.intfList() if end is not far]
    return hosts


def address(interface: Intf, *, planned: bool = False) -> str | None:
    """Return the IPv4 address of an interface, None if it has none.

    Args:
        interface: of a host.
        planned: Mininet is still configuring hosts. A host's own `ip` will go to its first
            interface, in place of what the link gave that one.
    """
    node = interface.node
    own = node.params.get("ip") if planned and interface is node.defaultIntf() else None
    given = own or interface.ip
    return str(given).split("/")[0] if given else None


def addresses(node: Node, *, planned: bool = False) -> Iterator[str]:
    """Return an iterator over all IPv4 addresses of a host's interfaces."""
    own = (address(interface, planned=planned) for interface in node.intfList())
    return (one for one in own if one is not None)
