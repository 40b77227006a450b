"""The source address of a program that lets the kernel choose it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitopo_dc.runners.addresses import ip_version
from minitopo_dc.runners.base import Host, TransferFailed
from minitopo_dc.runners.processes.process import run

TABLE = "4433"
"""A table of its own: the topologies have 101 to 350 (one per leg), Linux 253 to 255."""
PRIORITY = "300"
"""After rules for what has a source address already (the topologies: 200), which thus keeps its
way; before the main table (32766)."""


@contextmanager
def source_address(host: Host, source: str, destination: str) -> Iterator[None]:
    """Let programs that ask for a route to `destination` use `source`, for a block.

    There is one source address for a destination at a time: the kernel cannot tell two programs
    apart here.

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
    route = [destination, *gateway, "dev", way["dev"], "src", source, "table", TABLE]
    rule = ["to", destination, "table", TABLE, "priority", PRIORITY]
    with _added(host, [*ip, "route"], route), _added(host, [*ip, "rule"], rule):
        chosen = _lookup(host, [*ip, "-json", "route", "get", destination]).get("prefsrc")
        if chosen != source:
            raise TransferFailed(f"{host.name} would send to {destination} from {chosen}")
        yield


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
