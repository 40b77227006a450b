"""Several clients behind the same legs; each has a network a leg, as the first one has.

    server ---- gnb ===leg 1=== ue ---- client
                    ===leg 2===    ----
                                   ---- client2
                                   ----

Client `k` (2, 3, ...) has the addresses 10.(100+k).leg.2, and what it sends from one, or what is
sent to it, takes that leg. With `ip=6` it has fd00:10:(100+k):leg::2 beside them.

    mn --custom topologies/many_clients.py --topo many_clients,3,2 --test pingall
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

if __package__:
    from minitopo_dc.topologies.host import Command
    from minitopo_dc.topologies.parameter_values import whole
    from minitopo_dc.topologies.two_path import End, TwoPath, table_of_leg
else:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path((lambda: 0).__code__.co_filename).resolve().parent))
    from host import Command  # type: ignore[import-not-found, no-redef]
    from parameter_values import whole  # type: ignore[import-not-found, no-redef]
    from two_path import End, TwoPath, table_of_leg  # type: ignore[import-not-found, no-redef]


class ManyClients(TwoPath):
    """A topology of `clients` clients, and `legs` legs that they share."""

    def build(  # type: ignore[override]
        self, clients: int = 2, legs: int = 2, ip: int = 4
    ) -> None:
        """Add hosts and links.

        Args:
            clients: 1 to 99.
            legs: 1 to 250.
            ip: 4, or 6 for IPv6 beside IPv4.
        """
        clients = whole("clients", clients, 2, range(1, 100))
        legs = whole("legs", legs, 2, range(1, 251))
        super().build(legs, ip=ip)
        self.nodeInfo("ue")["commands"].append(_local_rule("10.2.0.0/16"))
        for client in range(2, clients + 1):
            self._add_client(client, range(1, legs + 1))

    def _add_client(self, client: int, legs: range) -> None:
        name = f"client{client}"
        routes = [route for leg in legs for route in _client_routes(client, leg)]
        default = ("route", "add", "default", "via", f"{_network(client, 1)}.1")
        self._host(name, False, [*routes, default])
        self.nodeInfo("ue")["commands"].append(_local_rule(f"10.{100 + client}.0.0/16"))
        for leg in legs:
            lan = f"{_network(client, leg)}.0/24"
            to_client = ("route", "add", lan, "via", f"10.1.{leg}.2")
            by_leg = ("rule", "add", "from", lan, "table", table_of_leg(leg), "priority", "200")
            self.nodeInfo("gnb")["commands"].append(to_client)
            self.nodeInfo("ue")["commands"].append(by_leg)
            router = End("ue", f"c{client}lan{leg}", f"{_network(client, leg)}.1")
            self._link(router, End(name, f"lan{leg}", f"{_network(client, leg)}.2"))


def _network(client: int, leg: int) -> str:
    return f"10.{100 + client}.{leg}"


def _local_rule(network: str) -> Command:
    """Return the rule by which packets between clients do not take a leg."""
    return ("rule", "add", "to", network, "table", "main", "priority", "190")


def _client_routes(client: int, leg: int) -> Iterator[Command]:
    network, table = _network(client, leg), table_of_leg(leg)
    interface = f"client{client}-lan{leg}"
    yield ("route", "add", "default", "via", f"{network}.1", "dev", interface, "table", table)
    yield ("rule", "add", "from", f"{network}.2", "table", table, "priority", "200")


topos = {"many_clients": ManyClients}
