"""IPv6 beside the IPv4 of a checkout's own topology: the same addresses, rules and routes.

10.0.1.2 becomes fd00:10:0:1::2, as on this project's hosts (`topologies.host`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.fields import SettingsError
from minitopo_dc.topologies.host import in_ipv6, run


def ipv6_of(address: str) -> str:
    """Return the IPv6 address, or network, of an IPv4 one; an IPv6 address stays as it is.

    Raises:
        SettingsError: the network does not end at a byte.
    """
    try:
        return in_ipv6(address)
    except ValueError as error:
        raise SettingsError(f"--ip 6: {error}") from None


def add_ipv6(node: Any, *, forward: bool) -> None:
    """Give a Mininet node, whose IPv4 is complete, the same addresses and routes in IPv6.

    Raises:
        RuntimeError: the node refused a command.
        SettingsError: see `ipv6_of`.
    """
    every = "net.ipv6.conf.all"
    # Each interface gets a link-local address, without which a router finds no neighbours (RFC
    # 4861). It gets it at once, as nobody else has it (accept_dad).
    quiet = (f"net.ipv6.conf.{name}.accept_dad=0" for name in node.nameToIntf)
    run(node, "sysctl", "-qw", f"{every}.disable_ipv6=1", *quiet)
    run(node, "sysctl", "-qw", f"{every}.disable_ipv6=0", f"{every}.forwarding={int(forward)}")
    for words in (
        *_addresses(_state(node, "address")),
        *_routes(_state(node, "route", "show", "table", "all")),
        *_rules(_state(node, "rule")),
    ):
        run(node, "ip", "-6", *words)


def _state(node: Any, *words: str) -> list[dict[str, Any]]:
    out, err, code = node.pexec(["ip", "-4", "-json", *words])
    if code:
        raise RuntimeError(f"{node.name}: ip -4 {' '.join(words)}: {(err or out).strip()}")
    return list(json.loads(out or "[]"))


def _addresses(interfaces: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for interface in interfaces:
        name = interface["ifname"]
        for own in interface["addr_info"] if name != "lo" else ():
            address = ipv6_of(f"{own['local']}/{own['prefixlen']}")
            yield ("address", "add", address, "dev", name, "nodad")


def _routes(routes: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    for route in routes:
        if route.get("protocol") == "kernel" or "dev" not in route:
            continue  # the kernel makes its own of IPv6's addresses
        target = route["dst"] if route["dst"] == "default" else ipv6_of(route["dst"])
        via = ("via", ipv6_of(route["gateway"])) if "gateway" in route else ()
        yield ("route", "add", target, *via, "dev", route["dev"], "table", _table(route))


def _rules(rules: Iterable[Mapping[str, Any]]) -> Iterator[Sequence[str]]:
    """Yield the `ip` commands for the routing rules by source address."""
    for rule in rules:
        if rule["src"] != "all":
            source = ipv6_of(rule["src"])
            priority = str(rule["priority"])
            yield ("rule", "add", "from", source, "table", _table(rule), "priority", priority)


def _table(route: Mapping[str, Any]) -> str:
    return str(route.get("table", "main"))
