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
from pathlib import Path

if not __package__:  # mn runs this file outside its package, and compiles it by its name
    sys.path.append(str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))
    __package__ = "topologies"

from .host import Command, words
from .parameter_values import whole
from .two_path import LinkEnd, TwoPath, table_of_leg


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
        name, network = f"client{client}", f"10.{100 + client}"
        routes = []
        for leg in legs:
            table, lan = table_of_leg(leg), f"{network}.{leg}"
            device = f"dev {name}-lan{leg}"
            routes.append(words(f"route add default via {lan}.1 {device} table {table}"))
            routes.append(words(f"rule add from {lan}.2 table {table} priority 200"))
        self._host(name, False, [*routes, words(f"route add default via {network}.1.1")])
        self.nodeInfo("ue")["commands"].append(_local_rule(f"{network}.0.0/16"))
        for leg in legs:
            lan = f"{network}.{leg}"
            to_client = words(f"route add {lan}.0/24 via 10.1.{leg}.2")
            by_leg = words(f"rule add from {lan}.0/24 table {table_of_leg(leg)} priority 200")
            self.nodeInfo("gnb")["commands"].append(to_client)
            self.nodeInfo("ue")["commands"].append(by_leg)
            router = LinkEnd("ue", f"c{client}lan{leg}", f"{lan}.1")
            self._link(router, LinkEnd(name, f"lan{leg}", f"{lan}.2"))


def _local_rule(network: str) -> Command:
    """Return the rule by which packets between clients do not take a leg."""
    return words(f"rule add to {network} table main priority 190")


topos = {"many_clients": ManyClients}
