"""Two (or n) radio legs between two routers: server - gnb = leg 1, leg 2 = ue - client.

    server ---- gnb ===leg 1=== ue ---- client
                    ===leg 2===    ----

The same hosts serve Dual Connectivity and transport multipath. For multipath the client has one
address per leg, and what it sends from that address, or what is sent to it, takes that leg. For
Dual Connectivity an element on gnb and ue overrides the leg by firewall mark (its lowest byte is
the leg's number).

Only Mininet and this folder are imported, so that this also runs with Mininet's own command:

    mn --custom topologies/two_path.py --topo two_path,2 --test pingall

With `ip=6` (`--topo two_path,ip=6`) all hosts also have IPv6 addresses and routes, the same as
with IPv4 (`topologies.host`): the client has fd00:10:2:1::2 for 10.2.1.2. Without, IPv6 is off.

With `mode=dc` elements on gnb and ue split everything that passes (`topologies.dual_connectivity`):

    mn --custom topologies/two_path.py --topo two_path,mode=dc,bw=20:10,delay=10ms,split=least-delay

With backhaul links there are two routers more, for the elements at their ends, and the server has
one address per link (docs/minitopo.md):

    server ==srv 1== edge ==backhaul 1== agg ---- gnb
           ==srv 2==      ==backhaul 2==
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mininet.topo import Topo

if not __package__:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))
    __package__ = "topologies"

from .bearer_end import LEG_MARK_MASK, LEG_MTU
from .dual_connectivity import Gnb, Ue
from .host import Command, TestbedHost, in_ipv6, words
from .radio_link import number, plain

FIRST_TABLE = 100
"""Routing table of leg `i` is this plus `i`."""
LEG_PARAMETERS = ("bw", "delay", "jitter", "loss", "max_queue_size", "jitter_model", "trace", "end")
"""What `mn` may say of the legs, one value for all or `A:B` for each."""
TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def client_address(leg: int, ip: int = 4) -> str:
    """Return the client's address whose traffic takes leg `leg` (1, 2, ...)."""
    address = f"10.2.{leg}.2"
    return in_ipv6(address) if ip == 6 else address


def server_address(link: int = 1, ip: int = 4) -> str:
    """Return the server's address on backhaul link `link` (1, 2, ...); without backhaul link 1."""
    address = f"10.0.{link - 1}.2"
    return in_ipv6(address) if ip == 6 else address


class TwoPath(Topo):  # type: ignore[misc]
    """A topology of server, gnb, ue and client with `legs` legs."""

    def build(
        self, legs: int = 2, backhaul: int = 0, ip: int = 4, mode: str | None = None, **options: Any
    ) -> None:
        """Add hosts and links.

        Args:
            legs: 1 to 250.
            backhaul: 0 (a wire) to 250.
            ip: 4, or 6 for IPv6 beside IPv4.
            mode: `dc`: elements run on gnb and ue; None: none do.
            options: with `dc`: what the legs are like (`LEG_PARAMETERS`), `ratio` as A:B, and other
                arguments of `addDualConnectivity`.
        """
        legs = _whole("legs", legs, 2, range(1, 251))
        backhaul = _whole("backhaul", backhaul, 0, range(251))
        self._ip_version = _whole("ip", ip, 4, (4, 6))
        self._dual_connectivity = _mode(mode, legs, self._ip_version, options)
        numbers = range(1, legs + 1)
        gnb = [command for leg in numbers for command in _leg_routes("gnb", leg, far="2")]
        ue = [command for leg in numbers for command in _leg_routes("ue", leg, far="1")]
        if backhaul:
            gnb += [words(f"route add 10.{net}.0.0/16 via 10.4.0.1") for net in (0, 3)]
        self._host("gnb", True, gnb, {f"gnb-leg{leg}": LEG_MTU for leg in numbers})
        ue.append(_default("10.1.1.1"))
        self._host("ue", True, ue, {f"ue-leg{leg}": LEG_MTU for leg in numbers})
        if backhaul:
            self._add_backhaul(range(1, backhaul + 1))
        else:
            self._host("server", False, [_default("10.0.0.1")])
            self._link("core", ("server", server_address()), ("gnb", "10.0.0.1"))
        for leg in numbers:
            self._link(f"leg{leg}", ("gnb", f"10.1.{leg}.1"), ("ue", f"10.1.{leg}.2"))
        self._add_client("client", "10.2", numbers)

    def _add_client(self, name: str, network: str, legs: range, of_client: str = "") -> None:
        """Add a client with a network for each leg, and the routes to and from them."""
        gnb, ue = (self.nodeInfo(host)["commands"] for host in ("gnb", "ue"))
        routes: list[Command] = []
        for leg in legs:
            table, lan = table_of_leg(leg), f"{network}.{leg}"
            gnb.append(words(f"route add {lan}.0/24 via 10.1.{leg}.2"))
            ue.append(_from(f"{lan}.0/24", table))
            routes.append(words(f"route add default via {lan}.1 dev {name}-lan{leg} table {table}"))
            routes.append(_from(f"{lan}.2", table))
        self._host(name, False, [*routes, _default(f"{network}.1.1")])
        for leg in legs:
            ends = ("ue", f"{network}.{leg}.1"), (name, f"{network}.{leg}.2")
            self._link(f"lan{leg}", *ends, of_client=of_client)

    def _add_backhaul(self, links: range) -> None:
        """Add server, edge and agg, and gnb's link to agg."""
        server, edge = [], []
        for link in links:
            table, network = table_of_leg(link), f"10.0.{link - 1}.0/24"
            server.append(words(f"route add default via 10.0.{link - 1}.1 table {table}"))
            server.append(_from(server_address(link), table))
            edge.append(words(f"route add default via 10.3.{link}.2 table {table}"))
            # Before the main table, but not for what goes to the server itself.
            edge.append(_from(f"{network} to 10.0.0.0/16", "main", 190))
            edge.append(_from(network, table))
        agg = [words(f"route add 10.0.{link - 1}.0/24 via 10.3.{link}.1") for link in links]
        self._host("server", False, [*server, _default("10.0.0.1")])
        self._host("edge", True, [*edge, _default("10.3.1.2")])
        self._host("agg", True, [*agg, _default("10.4.0.2")])
        for link in links:
            near, far = f"10.0.{link - 1}.1", f"10.3.{link}.2"
            self._link(f"srv{link}", ("server", server_address(link)), ("edge", near))
            self._link(f"bh{link}", ("edge", f"10.3.{link}.1"), ("agg", far))
        self._link("core", ("agg", "10.4.0.1"), ("gnb", "10.4.0.2"))

    def _host(
        self,
        name: str,
        forward: bool,
        commands: Sequence[Command],
        mtu: dict[str, int] | None = None,
    ) -> None:
        kind, more = TestbedHost, {}
        if self._dual_connectivity is not None and name in ("gnb", "ue"):
            kind = Gnb if name == "gnb" else Ue
            more = {"dual_connectivity": self._dual_connectivity}
        self.addHost(
            name,
            cls=kind,
            **more,
            ip=None,  # addresses are given with the links, and Mininet must not invent one
            ip_version=self._ip_version,
            forward=forward,
            mtu=mtu,
            commands=commands,
        )

    def _link(
        self, network: str, left: tuple[str, str], right: tuple[str, str], of_client: str = ""
    ) -> None:
        """Add a link between two hosts with their addresses.

        Interfaces are called after host and network, the left one also after a further client.
        """
        self.addLink(
            left[0],
            right[0],
            intfName1=f"{left[0]}-{of_client}{network}",
            params1={"ip": f"{left[1]}/24"},
            intfName2=f"{right[0]}-{network}",
            params2={"ip": f"{right[1]}/24"},
        )


def _mode(mode: str | None, legs: int, ip: int, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of Dual Connectivity from the words of `mn`, None without it.

    Raises:
        ValueError: they do not go together.
    """
    if mode not in (None, "dc"):
        raise ValueError(f"mode={mode}: allowed is dc")
    if mode is None:
        if unused := [name for name, value in options.items() if value is not None]:
            raise ValueError(f"{', '.join(unused)}: needs mode=dc")
        return None
    if ip != 4 or legs < 2:
        raise ValueError("mode=dc: needs ip=4 and at least two legs")
    parameters: list[dict[str, Any]] = [{} for _ in range(legs)]
    for name in LEG_PARAMETERS:
        values = _values(options.pop(name, None))
        if len(values) not in (0, 1, legs):
            raise ValueError(f"{name}: {len(values)} values; allowed are 1 and {legs}")
        for leg, value in zip(parameters, values * legs):  # noqa: B905 - the first of them
            leg[name] = value
    if (ratio := options.get("ratio")) is not None:
        options["ratio"] = [number(share) for share in _values(ratio)]
        if not all(0 <= share < math.inf for share in options["ratio"]):
            raise ValueError(f"ratio={ratio!r:.80}: allowed are numbers from 0, as A:B")
    if (given := options.pop("split_uplink", None)) is not None:
        word = str(given).strip().lower()
        if word not in TRUTHS:
            raise ValueError(f"split_uplink={given!r:.80}: allowed are True and False")
        options["split_uplink"] = TRUTHS[word]
    return {"legs": parameters if any(parameters) else None, **options}


def _whole(name: str, value: Any, default: int, allowed: Sequence[int]) -> int:
    """Return a whole number, also one that is a float (2.0) or text; None is the default.

    Raises:
        ValueError: it is none of the allowed ones.
    """
    read = default if value is None else number(value)
    if read not in allowed:
        words = " and ".join(str(one) for one in allowed)
        if isinstance(allowed, range):
            words = f"{allowed[0]} to {allowed[-1]}"
        raise ValueError(f"{name}={value!r:.80}: allowed are {words}")
    return int(read)


def _values(given: Any) -> list[Any]:
    """Return the values of A:B, of a list or of one; none for None."""
    given = plain(given)
    if isinstance(given, str):
        return given.split(":")
    return list(given) if isinstance(given, (list, tuple)) else [] if given is None else [given]


def table_of_leg(leg: int) -> str:
    """Return the routing table of traffic that takes leg `leg`."""
    return str(FIRST_TABLE + leg)


def _default(gateway: str) -> Command:
    return words(f"route add default via {gateway}")


def _from(source: str, table: str, priority: int = 200) -> Command:
    return words(f"rule add from {source} table {table} priority {priority}")


def _leg_routes(host: str, leg: int, far: str) -> Iterable[Command]:
    """Yield the routes of a router over a leg, whose other end has the address `far` there.

    What is marked for a leg goes over it, whatever its addresses.
    """
    gateway, table = f"10.1.{leg}.{far} dev {host}-leg{leg}", table_of_leg(leg)
    yield words(f"route add default via {gateway} table {table}")
    mark = f"{leg}/{LEG_MARK_MASK:#x}"
    yield words(f"rule add fwmark {mark} table {table} priority 100")


class ManyClients(TwoPath):
    """Several clients behind the same legs; each has a network a leg, as the first one has.

        server ---- gnb ===leg 1=== ue ---- client
                        ===leg 2===    ----
                                       ---- client2
                                       ----

    Client `k` (2, 3, ...) has the addresses 10.(100+k).leg.2, and what it sends from one, or what
    is sent to it, takes that leg. With `ip=6` it has fd00:10:(100+k):leg::2 beside them.

        mn --custom topologies/two_path.py --topo many_clients,3,2 --test pingall
    """

    def build(  # type: ignore[override]
        self, clients: int = 2, legs: int = 2, ip: int = 4
    ) -> None:
        """Add hosts and links.

        Args:
            clients: 1 to 99.
            legs: 1 to 250.
            ip: 4, or 6 for IPv6 beside IPv4.
        """
        clients = _whole("clients", clients, 2, range(1, 100))
        legs = _whole("legs", legs, 2, range(1, 251))
        super().build(legs, ip=ip)
        networks = {1: "10.2"} | {k: f"10.{100 + k}" for k in range(2, clients + 1)}
        for client, network in networks.items():
            if client > 1:
                self._add_client(f"client{client}", network, range(1, legs + 1), f"c{client}")
            # Packets between clients do not take a leg.
            local = words(f"rule add to {network}.0.0/16 table main priority 190")
            self.nodeInfo("ue")["commands"].append(local)


topos = {"two_path": TwoPath, "many_clients": ManyClients}
