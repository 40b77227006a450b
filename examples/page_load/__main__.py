"""Load a page in headless Chromium: `python -m examples.page_load --http 2`.

Prints one JSON object. When the page was not loaded as asked for it prints why on standard error,
nothing on standard output, and ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from types import FrameType
from typing import Any, NoReturn
from urllib.parse import urlsplit

from examples.page_load.chromium import BrowserError, DevTools, chromium
from examples.page_load.server import PORT, site_key_hash
from examples.page_load.site import OBJECTS
from examples.page_load.timing import (
    ENTRIES,
    RUN_WITH_MPTCP,
    PageError,
    PageLoad,
    check_multipath,
    host_counters,
    page_load,
)
from minitopo_dc.interruption import heed

SETTLE_S = 1.0
"""For how long to wait after the browser's start: what it then does would take the page's time."""
LOADED_S = 0.02
"""The load event's own message comes before it has ended: how long to wait between two looks."""


def main() -> int:
    """Load the page and print the report; return the exit status."""
    options = _options()
    heed(_end, signal.SIGTERM, signal.SIGHUP)
    try:
        report = _load(options)
    except (BrowserError, PageError) as error:
        print(f"page load failed: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report))
    return 0


def _load(options: argparse.Namespace) -> dict[str, Any]:
    before = RUN_WITH_MPTCP if options.mptcp else ()
    with chromium(_browser_options(options), options.timeout, before) as browser:
        version = browser.call("Browser.getVersion")["product"]
        session = _open_tab(browser)
        counters = host_counters()
        loaded = _navigate(browser, session, options)
        counted = host_counters().since(counters)
    if options.mptcp:
        check_multipath(counted, loaded.bytes)
    return {
        **{name: value for name, value in asdict(loaded).items() if name != "resources"},
        "received_bytes": counted.received_bytes,
        "mptcp": counted.mptcp if options.mptcp else None,
        "browser": version,
        "resources": [asdict(resource) for resource in loaded.resources],
    }


def _browser_options(options: argparse.Namespace) -> list[str]:
    trusted = [f"--ignore-certificate-errors-spki-list={site_key_hash()}"]
    if options.http == "2":
        return [*trusted, "--disable-quic"]
    where = urlsplit(options.url)
    return [*trusted, "--enable-quic", f"--origin-to-force-quic-on={where.netloc}"]


def _open_tab(browser: DevTools) -> str:
    """Return the session of an empty tab, when the browser has come to rest."""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
    session = str(attached["sessionId"])
    browser.call("Page.enable", session)
    time.sleep(SETTLE_S)
    return session


def _navigate(browser: DevTools, session: str, options: argparse.Namespace) -> PageLoad:
    answer = browser.call("Page.navigate", session, url=options.url)
    if "errorText" in answer:
        raise PageError(f"{options.url}: {answer['errorText']}")
    browser.wait_for("Page.loadEventFired")
    while not (entries := _entries(browser, session))[0]["loadEventEnd"]:
        time.sleep(LOADED_S)
    return page_load(entries, f"h{options.http}", options.objects)


def _entries(browser: DevTools, session: str) -> list[dict[str, Any]]:
    evaluated = browser.call("Runtime.evaluate", session, expression=ENTRIES, returnByValue=True)
    return list(json.loads(evaluated["result"]["value"]))


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """Exit on a signal, so that the browser is ended and its files are removed."""
    raise SystemExit(128 + number)


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


def _options() -> argparse.Namespace:
    options = parser().parse_args()
    if options.mptcp and options.http == "3":
        parser().error("--mptcp: only with --http 2")
    return options


if __name__ == "__main__":
    sys.exit(main())
