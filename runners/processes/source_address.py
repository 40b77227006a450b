"""The source address of a program that lets the kernel choose it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any

from minitopo_dc.runners.addresses import ip_version
from minitopo_dc.runners.base import Host, TransferFailed
from minitopo_dc.runners.processes.process import run

TABLE = 4433
"""A table of its own: the topologies have 101 to 350 (one per leg), Linux 253 to 255."""
FIRST_USER, USERS = 20_000, 10_000
"""Of programs that have an address each, whose tables have the same numbers. Machines seldom have
so many users, and containers know these numbers (they have 65,536)."""
PRIORITY = "300"
"""After rules for what has a source address already (the topologies: 200), which thus keeps its
way; before the main table (32766)."""


@contextmanager
def source_address(
    host: Host, source: str, destination: str, user: int | None = None
) -> Iterator[None]:
    """Let programs that ask for a route to `destination` use `source`, for a block.

    There is one source address for a destination and a user at a time: only by its user can the
    kernel tell a program from another one here. None: all users have it.

    Raises:
        TransferFailed: on entering, when the host has no such address or route, or uses another
            source address for this destination already.
    """
    ip = ["ip", f"-{ip_version((source, destination))}"]
    way = _lookup(host, [*ip, "-json", "route", "get", destination, "from", source])
    if way.get("type") == "local":  # it reaches itself from the address that it reaches
        yield
        return
    gateway = ["via", way["gateway"]] if "gateway" in way else []
    table = str(TABLE if user is None else user)
    route = [destination, *gateway, "dev", way["dev"], "src", source, "table", table]
    whose = [] if user is None else ["uidrange", f"{user}-{user}"]
    rule = ["to", destination, *whose, "table", table, "priority", PRIORITY]
    with _added(host, [*ip, "route"], route), _added(host, [*ip, "rule"], rule):
        asking = [] if user is None else ["uid", str(user)]
        chosen = _lookup(host, [*ip, "-json", "route", "get", destination, *asking]).get("prefsrc")
        if chosen != source:
            raise TransferFailed(f"{host.name} would send to {destination} from {chosen}")
        yield


def user_of(address: str) -> int:
    """Return a user for programs with a source address; it differs between a run's addresses.

    Those of two legs differ by the number of the leg times a power of two, which is no multiple of
    `USERS` for 624 legs.
    """
    return FIRST_USER + int(ip_address(address)) % USERS


def _lookup(host: Host, command: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(host, command))[0]
    return found


@contextmanager
def _added(host: Host, kind: list[str], what: list[str]) -> Iterator[None]:
    """Add a route or a rule for a block."""
    run(host, [*kind, "add", *what])
    try:
        yield
    finally:
        run(host, [*kind, "delete", *what])
