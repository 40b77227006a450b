"""Load a page in headless Chromium: `python -m examples.page_load --http 2`.

Prints one JSON object. When the page was not loaded as asked for it prints why on standard error,
nothing on standard output, and ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

from examples.page_load.server import PORT, site_key_hash
from examples.page_load.site import OBJECTS, object_bytes
from minitopo_dc.errors import MinitopoDcError

PROGRAMS = ("chromium", "google-chrome")
"""As Debian and Google call it; the first that there is."""
SETTLE_S = 1.0
"""For how long to wait after the browser's start: what it then does would take the page's time."""
ENTRIES = """
() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
    .filter(entry => !entry.name.startsWith('data:')).map(entry => entry.toJSON())
"""
"""JavaScript for the browser's timing of the page and of its objects (W3C Navigation Timing 2,
Resource Timing)."""
LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
STATUS_OK = 200
MIN_SHARE = 0.01
"""Of the page's bytes that each leg must have carried: more than the subflow's handshake."""
MPTCP_COUNTERS = {
    "connections": "MPTcpExtMPCapableSYNACKRX",
    "fallbacks": "MPTcpExtMPCapableFallbackSYNACK",
    "joined": "MPTcpExtMPJoinSynAckRx",
}
"""linux/net/mptcp/mib.c: connections that the server accepted as MPTCP, and as TCP only; further
subflows that it accepted."""
Counters = Mapping[str, int]
Entry = Mapping[str, Any]


class PageError(MinitopoDcError):
    """Error: the page was not loaded as asked for; the text says why."""


def main() -> int:
    """Load the page and print the report; return the exit status."""
    options = parser().parse_args()
    if options.mptcp and options.http == "3":
        parser().error("--mptcp: only with --http 2")
    try:
        report = load(options)
    except (BrowserError, PageError) as error:
        print(f"page load failed: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


def load(options: argparse.Namespace) -> dict[str, Any]:
    """Return the report of a page load in a browser with a new, empty profile.

    Raises:
        BrowserError: the browser did not start or end, or could not navigate.
        PageError: there is no browser, or the page was not loaded as asked for.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise PageError("no chromium on this machine (Debian: apt-get install chromium)")
    environment = os.environ | (_mptcpize() if options.mptcp else {})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=_arguments(options), env=dict(environment)
        )
        page = browser.new_page()
        page.set_default_timeout(1000 * options.timeout)
        time.sleep(SETTLE_S)
        received, mptcp = _received_bytes(), _mptcp_counters()
        page.goto(options.url)
        page.wait_for_function(LOADED)
        received = since(received, _received_bytes())
        mptcp = since(mptcp, _mptcp_counters())
        loaded = page_load(page.evaluate(ENTRIES), f"h{options.http}", options.objects)
        version = f"{browser.browser_type.name} {browser.version}"
        browser.close()
    if options.mptcp:
        check_multipath(received, mptcp, loaded["bytes"])
    resources = loaded.pop("resources")
    more = {"received_bytes": received, "mptcp": mptcp if options.mptcp else None}
    return loaded | more | {"browser": version, "resources": resources}


def _arguments(options: argparse.Namespace) -> list[str]:
    trusted = f"--ignore-certificate-errors-spki-list={site_key_hash()}"
    if options.http == "2":
        return [trusted, "--disable-quic"]
    where = urlsplit(options.url).netloc
    return [trusted, "--enable-quic", f"--origin-to-force-quic-on={where}"]


def _mptcpize() -> dict[str, str]:
    """Return the environment with which `mptcpize run` makes a program's sockets MPTCP's."""
    name = "LD_PRELOAD"
    try:
        return {name: _output("mptcpize", "run", "printenv", name).strip()}
    except FileNotFoundError:
        raise PageError("no mptcpize on this machine (Debian's package of this name)") from None


def page_load(entries: Sequence[Entry], protocol: str, objects: int) -> dict[str, Any]:
    """Return a page load, checked to be as asked for; times in ms since the navigation began.

    `page_load_ms` is the end of the load event, `dom_content_loaded_ms` that of DOMContentLoaded
    (document, style sheets and scripts are there), `response_end_ms` the document's last byte;
    `bytes` are those of all bodies.

    Args:
        entries: of the navigation and of all resources.
        protocol: by which everything has to be loaded: `h2`, `h3` (ALPN, RFC 7301).
        objects: how many there have to be beside the document.

    Raises:
        PageError: an object is missing, not whole, or was loaded by another protocol.
    """
    document, *others = entries
    resources = [_resource(entry, protocol) for entry in entries]
    if len(others) != objects:
        raise PageError(f"{len(others)} objects beside the document, not {objects}")
    return {
        "page_load_ms": round(document["loadEventEnd"], 3),
        "dom_content_loaded_ms": round(document["domContentLoadedEventEnd"], 3),
        "response_end_ms": round(document["responseEnd"], 3),
        "protocol": protocol,
        "objects": len(others),
        "bytes": sum(resource["bytes"] for resource in resources),
        "resources": resources,
    }


def _resource(entry: Entry, protocol: str) -> dict[str, Any]:
    path, size = urlsplit(entry["name"]).path, entry["encodedBodySize"]
    if entry["responseStatus"] != STATUS_OK:
        raise PageError(f"{path} was not loaded (status {entry['responseStatus']})")
    if entry["nextHopProtocol"] != protocol:
        raise PageError(f"{path} came by {entry['nextHopProtocol'] or 'none'}, not {protocol}")
    if size != (object_bytes(path) or size) or not size:
        raise PageError(f"{path}: {size} bytes, not {object_bytes(path) or 'more than none'}")
    return {
        "path": path,
        "protocol": protocol,
        "bytes": size,
        "start_ms": round(entry["startTime"], 3),
        "end_ms": round(entry["responseEnd"], 3),
    }


def check_multipath(received: Counters, mptcp: Counters, page_bytes: int) -> None:
    """Refuse a page load that did not use MPTCP over all legs.

    Raises:
        PageError: it was not.
    """
    if not mptcp["connections"]:
        raise PageError("no MPTCP connection: the browser's sockets are plain TCP")
    if mptcp["fallbacks"]:
        raise PageError(f"{mptcp['fallbacks']} connections fell back to TCP (RFC 8684)")
    for name, carried in received.items():
        if carried < MIN_SHARE * page_bytes:
            raise PageError(f"{name} carried {carried} of the page's {page_bytes} bytes")


def since(before: Counters, after: Counters) -> dict[str, int]:
    """Return by how much counters have grown."""
    return {name: count - before.get(name, 0) for name, count in after.items()}


def _received_bytes() -> Counters:
    """Return the bytes of whole frames that each interface but the loopback has received."""
    links = json.loads(_output("ip", "-json", "-statistics", "link"))
    return {
        link["ifname"]: link["stats64"]["rx"]["bytes"] for link in links if link["ifname"] != "lo"
    }


def _mptcp_counters() -> Counters:
    """Return the host's counters; a kernel without MPTCP counts none."""
    known = json.loads(_output("nstat", "--json", "--noupdate", "--ignore", "--zeros"))["kernel"]
    return {name: known.get(key, 0) for name, key in MPTCP_COUNTERS.items()}


def _output(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def parser() -> argparse.ArgumentParser:
    """Return the parser of the program's options."""
    made = argparse.ArgumentParser(prog="python -m examples.page_load", description=__doc__)
    server = os.environ.get("MINITOPO_DC_SERVER", "127.0.0.1")
    site = f"https://{f'[{server}]' if ':' in server else server}:{PORT}/"
    made.add_argument("url", nargs="?", default=site, help="%(default)s")
    made.add_argument("--http", choices=("2", "3"), required=True, help="version")
    made.add_argument("--mptcp", action="store_true", help="over all legs, with HTTP/2")
    made.add_argument("--objects", type=int, default=OBJECTS, help="the page's (%(default)s)")
    made.add_argument("--timeout", type=float, default=60.0, help="s (%(default)g)")
    return made


if __name__ == "__main__":
    sys.exit(main())
