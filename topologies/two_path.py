"""Two (or n) radio legs between two routers: server - gnb = leg 1, leg 2 = ue - client.

    server ---- gnb ===leg 1=== ue ---- client
                    ===leg 2===    ----

The same hosts serve Dual Connectivity and transport multipath. For multipath the client has one
address a leg, and what it sends from that address, or what is sent to it, takes that leg. For Dual
Connectivity an element on gnb and ue overrides the leg by firewall mark (its lowest byte is the
leg's number).

Only Mininet is imported, so that this also runs with Mininet's own command:

    mn --custom topologies/two_path.py --topo two_path,2 --test pingall
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mininet.node import Node
from mininet.topo import Topo

LEG_MTU = 1600
"""Bytes: room for a 1,500-byte SDU and its PDCP header (TS 38.323, 6.2.2), unfragmented."""
SERVER_ADDRESS = "10.0.0.2"
FIRST_TABLE = 100
"""Routing table of leg ``i`` is this plus ``i``."""
LEG_MARK_MASK = 0xFF

Command = Sequence[str]


class End(NamedTuple):
    """One end of a link; its interface is called after the host and the network."""

    host: str
    network: str
    address: str

    @property
    def interface(self) -> str:
        """The interface's name."""
        return f"{self.host}-{self.network}"


def client_address(leg: int) -> str:
    """The client's address whose traffic takes leg ``leg`` (1, 2, ...)."""
    return f"10.2.{leg}.2"


class TestbedHost(Node):  # type: ignore[misc]
    """A host that sends what it means to: no offloads, no reverse-path filter, its own routes."""

    __test__ = False  # not a test class

    def config(
        self,
        forward: bool = False,
        mtu: dict[str, int] | None = None,
        commands: Iterable[Command] = (),
        **parameters: Any,
    ) -> Any:
        """Configure addresses as Mininet does, then everything else.

        Args:
            forward: whether this host is a router.
            mtu: bytes for each interface that does not have the usual 1,500.
            commands: ``ip`` arguments to run once all interfaces are up.
            parameters: Mininet's own.
        """
        configured = super().config(**parameters)
        # IPv6 would add router solicitations and duplicate address detection to every leg.
        self._sysctl("net.ipv6.conf.all.disable_ipv6=1", f"net.ipv4.ip_forward={int(forward)}")
        for name in self.nameToIntf:
            self._sysctl(f"net.ipv4.conf.{name}.rp_filter=0")
            # What is longer than the MTU or lacks its checksum is no packet of a leg.
            self.run("ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off", "tx", "off")
            self.run("ip", "link", "set", "dev", name, "mtu", str((mtu or {}).get(name, 1500)))
        for command in commands:
            self.run("ip", *command)
        return configured

    def run(self, *command: str) -> None:
        """Run a command on this host; RuntimeError with its words when it fails."""
        out, err, code = self.pexec(list(command))
        if code:
            raise RuntimeError(f"{self.name}: {' '.join(command)}: {(err or out).strip()}")

    def _sysctl(self, *settings: str) -> None:
        # rp_filter of an interface is the larger of its own and "all" (ip-sysctl).
        self.run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", *settings)


class TwoPath(Topo):  # type: ignore[misc]
    """server, gnb, ue and client with ``legs`` legs."""

    def build(self, legs: int = 2) -> None:
        """Add hosts and links; ``legs`` is 1 to 250."""
        legs = int(legs)
        if not 1 <= legs <= 250:
            raise ValueError(f"legs={legs}: allowed are 1 to 250")
        numbers = range(1, legs + 1)
        self._add_hosts(numbers)
        self._link(End("server", "core", SERVER_ADDRESS), End("gnb", "core", "10.0.0.1"))
        for leg in numbers:
            name = f"leg{leg}"
            self._link(End("gnb", name, f"10.1.{leg}.1"), End("ue", name, f"10.1.{leg}.2"))
        for leg in numbers:
            name = f"lan{leg}"
            self._link(End("ue", name, f"10.2.{leg}.1"), End("client", name, client_address(leg)))

    def _add_hosts(self, legs: range) -> None:
        server = [("route", "add", "default", "via", "10.0.0.1")]
        gnb = [command for leg in legs for command in _gnb_routes(leg)]
        ue = [command for leg in legs for command in _ue_routes(leg)]
        client = [command for leg in legs for command in _client_routes(leg)]
        self._host("server", False, server)
        self._host("gnb", True, gnb, {f"gnb-leg{leg}": LEG_MTU for leg in legs})
        self._host(
            "ue",
            True,
            [*ue, ("route", "add", "default", "via", "10.1.1.1")],
            {f"ue-leg{leg}": LEG_MTU for leg in legs},
        )
        self._host("client", False, [*client, ("route", "add", "default", "via", "10.2.1.1")])

    def _host(
        self,
        name: str,
        forward: bool,
        commands: Sequence[Command],
        mtu: dict[str, int] | None = None,
    ) -> None:
        # ip=None: addresses are given with the links, and Mininet must not invent one.
        self.addHost(name, cls=TestbedHost, ip=None, forward=forward, mtu=mtu, commands=commands)

    def _link(self, left: End, right: End) -> None:
        self.addLink(
            left.host,
            right.host,
            intfName1=left.interface,
            params1={"ip": f"{left.address}/24"},
            intfName2=right.interface,
            params2={"ip": f"{right.address}/24"},
        )


def _table(leg: int) -> str:
    return str(FIRST_TABLE + leg)


def _marked(leg: int) -> Command:
    """What the element marked for a leg takes that leg, whatever its addresses."""
    return (
        "rule",
        "add",
        "fwmark",
        f"{leg}/{LEG_MARK_MASK:#x}",
        "table",
        _table(leg),
        "priority",
        "100",
    )


def _gnb_routes(leg: int) -> Iterable[Command]:
    yield ("route", "add", f"10.2.{leg}.0/24", "via", f"10.1.{leg}.2")
    yield (
        "route",
        "add",
        "default",
        "via",
        f"10.1.{leg}.2",
        "dev",
        f"gnb-leg{leg}",
        "table",
        _table(leg),
    )
    yield _marked(leg)


def _ue_routes(leg: int) -> Iterable[Command]:
    yield (
        "route",
        "add",
        "default",
        "via",
        f"10.1.{leg}.1",
        "dev",
        f"ue-leg{leg}",
        "table",
        _table(leg),
    )
    yield _marked(leg)
    yield ("rule", "add", "from", f"10.2.{leg}.0/24", "table", _table(leg), "priority", "200")


def _client_routes(leg: int) -> Iterable[Command]:
    yield (
        "route",
        "add",
        "default",
        "via",
        f"10.2.{leg}.1",
        "dev",
        f"client-lan{leg}",
        "table",
        _table(leg),
    )
    yield ("rule", "add", "from", client_address(leg), "table", _table(leg), "priority", "200")


topos = {"two_path": TwoPath}
