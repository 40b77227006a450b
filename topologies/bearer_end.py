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

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mininet.link import Intf
from mininet.node import Node

if __package__:
    from minitopo_dc.topologies.reach import address, addresses, behind, neighbours
else:  # mn reads the files of this folder outside their package
    sys.path.append(str(Path((lambda: 0).__code__.co_filename).resolve().parent))
    from reach import (  # type: ignore[import-not-found, no-redef]
        address,
        addresses,
        behind,
        neighbours,
    )

Command = tuple[str, ...]
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
MAX_LEGS = 250


class Leg(NamedTuple):
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
    legs: Sequence[Leg]
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
        return {
            "host": self.role,
            "directory": str(directory),
            "plugins": list(bearers.plugins),
            "legs": [
                {
                    **_leg_entry(leg, self._near_interface(leg)),
                    "radio": dict(radio),
                    "seed": self._seed(leg, bearers),
                }
                for leg in self.legs
                if (radio := self._radio(leg)) is not None
            ],
            "wires": [
                _leg_entry(leg, self._near_interface(leg))
                for leg in self.legs
                if self._radio(leg) is None
            ],
            "next_hops": [self._next_hop(leg) for leg in self.legs],
            "transmit": [{**sent, "interface": LOOP_IN}],
            "receive": [received],
        }

    def far(self) -> list[str]:
        """Return the addresses reached over the bearer: the other end's, and those behind it."""
        hosts = self._hosts_behind(self.other)
        own = self._hosts_behind(self.node)
        found = (self.other, *(host for host in hosts if host not in own))
        return sorted({each for host in found for each in addresses(host, planned=self.planned)})

    def near(self) -> dict[str, Intf]:
        """Return the addresses on this end's other links, each with its interface here."""
        return {
            found: interface
            for interface in self._others()
            for far in neighbours(interface)
            if far.node is not self.other
            if (found := address(far, planned=self.planned)) is not None
        }

    def _devices(self) -> Iterator[Command]:
        """Yield commands for interfaces that send packets unchanged, and for forwarding."""
        yield (*("ip", "link", "add", LOOP, "type", "veth", "peer", "name", LOOP_IN),)
        yield ("ip", "link", "set", "dev", LOOP_IN, "address", LOOP_LINK_LAYER)
        ours = [LOOP, LOOP_IN, *(str(each) for each in self.interfaces)]
        quiet = (f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ours)
        yield ("sysctl", "-eqw", *quiet)  # a kernel that was booted without IPv6 has no such key
        for name in ours:
            # What is longer than the MTU or lacks its checksum is no packet of a leg.
            yield ("ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off", "tx", "off")
        for name in (LOOP, LOOP_IN):
            yield ("ip", "link", "set", "dev", name, "up")
        names = (*ours, *(str(each) for each in self._others()), "all")
        unfiltered = (f"net.ipv4.conf.{name}.rp_filter=0" for name in names)
        accepting = f"net.ipv4.conf.{LOOP_IN}.accept_local=1"  # this host's own come by here, too
        yield ("sysctl", "-qw", "net.ipv4.ip_forward=1", *unfiltered, accepting)
        for each in self._others():
            # Hosts that share a network with hosts across the bearer ask here for their addresses.
            yield ("sysctl", "-qw", f"net.ipv4.conf.{each}.proxy_arp=1")
            yield ("sysctl", "-qw", f"net.ipv4.neigh.{each}.proxy_delay=0")

    def _leg(self, leg: Leg) -> Iterator[Command]:
        name, far, table = (
            str(self._near_interface(leg)),
            self._far_interface(leg),
            str(FIRST_TABLE + leg.number),
        )
        own = f"{_address(self.role, leg)}/30"
        yield ("ip", "address", "replace", own, "dev", name, "scope", "link")
        mark = f"{leg.number}/{LEG_MARK_MASK:#x}"
        yield ("ip", "rule", "add", "fwmark", mark, "table", table, "priority", MARKED)
        # After the route that the element makes, which goes when the interface goes down.
        yield ("ip", "route", "add", "blackhole", "default", "metric", "1000", "table", table)
        # A PDU is what the other end's host sends to this one, but for the reports.
        for other in (
            ("-s", LEG_NETWORK),
            ("-m", "mac", "!", "--mac-source", _link_layer(far)),
            ("-m", "pkttype", "!", "--pkt-type", "unicast"),
        ):
            yield (*_PREROUTING, "-i", name, *other, "-j", "ACCEPT")

    def _routes(self) -> Iterator[Command]:
        gateway = ("via", LOOP_GATEWAY, "dev", LOOP, "onlink", *self._source())
        link_layer = ("lladdr", LOOP_LINK_LAYER, "dev", LOOP, "nud", "permanent")
        yield ("ip", "neighbour", "replace", LOOP_GATEWAY, *link_layer)
        table = ("table", str(BEARER_TABLE))
        far = self.far()
        for each in far:
            yield ("ip", "route", "replace", each, *gateway, *table)
        for each, interface in self.near().items():
            if each not in far:
                source = self._source(interface)
                yield ("ip", "route", "replace", each, "dev", str(interface), *source, *table)
        yield ("ip", "rule", "add", *table, "priority", TO_BEARER)
        if self.role == "ue":
            rest = ("table", str(REST_TABLE))
            yield ("ip", "route", "replace", "default", *gateway, *rest)
            yield ("ip", "rule", "add", *rest, "priority", THE_REST)

    def _source(self, interface: Intf | None = None) -> Command:
        """Return the route option for the source address of this host's own packets."""
        first = None if interface is None else address(interface, planned=self.planned)
        own = first or next(addresses(self.node, planned=self.planned), None)
        return ("src", own) if own else ()

    def _bearer(self, number: int, pdcp: Mapping[str, Any]) -> dict[str, Any]:
        """Return a bearer's settings, with the way of its reports, of which there may be none."""
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
        }

    def _next_hop(self, leg: Leg) -> dict[str, Any]:
        return {
            "leg": leg.number,
            "gateway": _address("ue" if self.role == "gnb" else "gnb", leg),
            "link_layer": _link_layer(self._far_interface(leg)),
            "table": FIRST_TABLE + leg.number,
        }

    def _seed(self, leg: Leg, bearers: Bearers) -> str:
        return f"{bearers.seed}/{leg.number}/{'downlink' if self.role == 'gnb' else 'uplink'}"

    def _radio(self, leg: Leg) -> Mapping[str, Any] | None:
        return leg.downlink if self.role == "gnb" else leg.uplink

    def _near_interface(self, leg: Leg) -> Intf:
        return leg.gnb if self.role == "gnb" else leg.ue

    def _far_interface(self, leg: Leg) -> Intf:
        return leg.ue if self.role == "gnb" else leg.gnb

    def _others(self) -> list[Intf]:
        """Return this host's interfaces that are no legs."""
        legs = self.interfaces
        return [each for each in self.node.intfList() if each not in legs and each.name != "lo"]

    def _hosts_behind(self, node: Node) -> list[Node]:
        """Return the hosts behind one end, as seen without the legs."""
        legs = [each for leg in self.legs for each in (leg.gnb, leg.ue)]
        return behind(node, legs, self.other if node is self.node else self.node)


_PREROUTING = ("iptables", "-w", "-t", "mangle", "-A", "PREROUTING")


def _leg_entry(leg: Leg, interface: Intf) -> dict[str, Any]:
    return {"leg": leg.number, "interface": str(interface)}


def _address(role: Role, leg: Leg) -> str:
    return f"198.18.{leg.number}.{1 if role == 'gnb' else 2}"


def _link_layer(interface: Intf) -> str:
    found: str = interface.MAC() or interface.updateMAC()
    return found
