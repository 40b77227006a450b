"""The browser's timing of a page load (W3C Navigation Timing 2, Resource Timing), checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from examples.page_load.site import object_bytes
from minitopo_dc.errors import MinitopoDcError

ENTRIES = (
    "JSON.stringify(['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))"
    ".filter(entry => !entry.name.startsWith('data:')))"
)
"""JavaScript for the entries of the page and of its objects."""
STATUS_OK = 200

Entry = Mapping[str, Any]


class PageError(MinitopoDcError):
    """Error: the page was not loaded as asked for; the text says why."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The document or an object of the page; times in ms since the navigation began."""

    path: str
    protocol: str  # `h2`, `h3`: its ALPN name (RFC 7301)
    bytes: int  # of the body
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class PageLoad:
    """A page load; times in ms since the navigation began."""

    page_load_ms: float
    """The end of the load event (loadEventEnd): everything is there."""
    dom_content_loaded_ms: float
    """The end of DOMContentLoaded: document, style sheets and scripts are there."""
    response_end_ms: float
    """The document's last byte (responseEnd)."""
    protocol: str
    objects: int
    """Number of objects beside the document."""
    bytes: int
    """Bytes of all bodies together."""
    resources: tuple[Resource, ...]
    """The document, then its objects as the browser found them."""


def page_load(entries: Sequence[Entry], protocol: str, objects: int) -> PageLoad:
    """Return a page load, checked to be as asked for.

    Args:
        entries: of the navigation and of all resources.
        protocol: by which everything has to be loaded.
        objects: how many there have to be beside the document.

    Raises:
        PageError: the load event did not end; an object is missing, not whole, or was loaded by
            another protocol.
    """
    document, *others = entries
    if not document["loadEventEnd"]:
        raise PageError("the load event has not ended")
    resources = tuple(_resource(entry, protocol) for entry in entries)
    if len(others) != objects:
        raise PageError(f"{len(others)} objects beside the document, not {objects}")
    return PageLoad(
        page_load_ms=round(document["loadEventEnd"], 3),
        dom_content_loaded_ms=round(document["domContentLoadedEventEnd"], 3),
        response_end_ms=round(document["responseEnd"], 3),
        protocol=protocol,
        objects=len(others),
        bytes=sum(resource.bytes for resource in resources),
        resources=resources,
    )


def _resource(entry: Entry, protocol: str) -> Resource:
    path = urlsplit(entry["name"]).path
    if entry["responseStatus"] != STATUS_OK:
        raise PageError(f"{path} was not loaded (status {entry['responseStatus']})")
    if entry["nextHopProtocol"] != protocol:
        raise PageError(f"{path} came by {entry['nextHopProtocol'] or 'none'}, not {protocol}")
    size = entry["encodedBodySize"]
    if size != (object_bytes(path) or size) or not size:
        raise PageError(f"{path}: {size} bytes, not {object_bytes(path) or 'more than none'}")
    start, end = round(entry["startTime"], 3), round(entry["responseEnd"], 3)
    return Resource(path, entry["nextHopProtocol"], size, start, end)


RUN_WITH_MPTCP = ("mptcpize", "run")
MIN_SHARE = 0.01
"""Of the page's bytes that each leg must have carried: more than the subflow's handshake."""
NETWORK = Path("/proc/net")
"""Of the process's own network namespace (proc(5))."""
MPTCP_COUNTERS = {
    "connections": "MPCapableSYNACKRX",
    "fallbacks": "MPCapableFallbackSYNACK",
    "joined": "MPJoinSynAckRx",
}
"""linux/net/mptcp/mib.c: connections that the server accepted as MPTCP, and as TCP only; further
subflows that it accepted."""


def check_multipath(counted: Counters, page_bytes: int) -> None:
    """Refuse a page load that did not use MPTCP over all legs.

    Raises:
        PageError: it was not.
    """
    if not counted.mptcp["connections"]:
        raise PageError("no MPTCP connection: the browser's sockets are plain TCP")
    if counted.mptcp["fallbacks"]:
        raise PageError(f"{counted.mptcp['fallbacks']} connections fell back to TCP (RFC 8684)")
    for name, received in counted.received_bytes.items():
        if received < MIN_SHARE * page_bytes:
            raise PageError(f"{name} carried {received} of the page's {page_bytes} bytes")


@dataclass(frozen=True, slots=True)
class Counters:
    """Counters of a host since it was made, or since other counters."""

    received_bytes: dict[str, int]
    """By interface: whole frames."""
    mptcp: dict[str, int]

    def since(self, before: Counters) -> Counters:
        """Return the difference to earlier counters."""
        return Counters(
            _minus(self.received_bytes, before.received_bytes), _minus(self.mptcp, before.mptcp)
        )


def host_counters(network: Path = NETWORK) -> Counters:
    """Return the counters of now, of all interfaces but the loopback."""
    rows = [line.replace(":", " ").split() for line in _lines(network / "dev")[2:]]
    received = {row[0]: int(row[1]) for row in rows if row[0] != "lo"}
    counted = _mptcp_counters(_lines(network / "netstat"))
    return Counters(received, {name: counted.get(key, 0) for name, key in MPTCP_COUNTERS.items()})


def _mptcp_counters(lines: list[str]) -> dict[str, int]:
    """Return the counters of a line of names and one of values, none without MPTCP."""
    rows = [line.split()[1:] for line in lines if line.startswith("MPTcpExt:")]
    return {name: int(value) for name, value in zip(*rows, strict=True)} if rows else {}


def _minus(later: dict[str, int], earlier: dict[str, int]) -> dict[str, int]:
    return {name: count - earlier.get(name, 0) for name, count in later.items()}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").splitlines()
