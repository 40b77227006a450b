"""The browser's timing of a page load (W3C Navigation Timing 2, Resource Timing), checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.page_load.site import object_bytes

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
