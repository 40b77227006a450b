"""Open a page that answers which way is better over your legs, anew at each change.

It takes the options of `compare`, and begins with picoquic and 3 seeds. It is served on this
machine only, with a token in its address. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import webbrowser
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Any

from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError

if TYPE_CHECKING:
    from minitopo_dc.cli.explore.form import Form
    from minitopo_dc.cli.explore.page import Page
    from minitopo_dc.scenario import Leg, Scenario

INSTALL = 'pip install "minitopo-dc[notebooks]"'
HOST = "127.0.0.1"
UNUSED_MS = 5000
"""How long a page may wait for its browser, and work on when that has gone."""


def explore(legs: Sequence[Leg] | Scenario | None = None, **options: Any) -> Page:
    """Return a page that answers which way is better over some legs, anew at each change.

    >>> dc.explore()
    >>> dc.explore([dc.Leg(rate_mbps=20, delay_ms=30), dc.Leg(rate_mbps=80)], size=10)

    A change runs each leg alone, Dual Connectivity and MP-QUIC on the virtual clock. A notebook
    shows the page as the value of a cell, from a server of this process.

    Args:
        legs: two or more to begin with, or a scenario.
        options: those of `minitopo-dc compare`, `_` for `-`; several values as a list:
            `delay=[8, 35]`, `dc="papers"`, `repetitions=1`.

    Raises:
        InputError: there is no such option, a value is wrong, or what draws pages is not installed.
    """
    _check_installed()
    from minitopo_dc.cli.explore.form import Form  # noqa: PLC0415
    from minitopo_dc.cli.explore.page import Page  # noqa: PLC0415 (a second for who has no page)

    return Page(Form.of_values(legs, options))


def execute(arguments: argparse.Namespace) -> int:
    """Serve the page until it is interrupted.

    Raises:
        InputError: an option is wrong, the port is taken, or what draws pages is not installed.
    """
    port = free_port(arguments.port)
    _check_installed()
    from minitopo_dc.cli.explore.answer import warm_up  # noqa: PLC0415
    from minitopo_dc.cli.explore.form import Form  # noqa: PLC0415

    begin = Form.of(arguments)
    begin.ways()
    warm_up(begin)
    serve(lambda: _session(begin), port, shown=not arguments.no_browser)
    raise KeyboardInterrupt("the page is closed")


def _session(begin: Form) -> Any:
    """Return the page of one browser's tab, with what its address says."""
    import panel as pn  # noqa: PLC0415

    from minitopo_dc.cli.explore.form import Form  # noqa: PLC0415
    from minitopo_dc.cli.explore.page import Page  # noqa: PLC0415

    try:
        asked = Form.of_query(pn.state.location.search)
        page = Page(asked.changed(plugin=begin.words.get("plugin", ())) if asked else begin)
    except InputError as error:
        return pn.pane.Alert(str(error), alert_type="danger")
    # Not here: runs that are to end take a moment, in which no other tab would be answered.
    pn.state.on_session_destroyed(lambda _: Thread(target=page.close, daemon=True).start())
    return page.view


def serve(
    content: Callable[[], Any] | Any, port: int, *, shown: bool, threaded: bool = False
) -> str:
    """Serve a page on this machine at a path that nobody can guess; return its address.

    Args:
        content: a function that returns what a tab gets, or what all tabs share.
        port: of localhost.
        shown: whether a browser is opened.
        threaded: whether a thread serves, and this returns at once.
    """
    import panel as pn  # noqa: PLC0415

    token = secrets.token_urlsafe()
    address = f"http://{HOST}:{port}/{token}"
    if not threaded:
        print(f"{address}\nCtrl-C ends it.", flush=True)  # noqa: T201
    if shown:
        webbrowser.open(address)
    place: Any = {"port": port, "address": HOST, "websocket_origin": [f"{HOST}:{port}"]}
    place |= {"title": "minitopo-dc explore", "threaded": threaded}
    place |= dict.fromkeys(("show", "verbose", "use_index", "redirect_root"), False)
    unused = {"check_unused_sessions": 1000, "unused_session_lifetime": UNUSED_MS}
    pn.serve({token: content}, **place, **unused)
    return address


def _check_installed() -> None:
    if find_spec("panel") is None:
        raise SettingsError(f"explore needs panel: {INSTALL}")


def free_port(port: int = 0) -> int:
    """Return a port of localhost that nobody has: this one, or any for 0.

    Raises:
        SettingsError: there is no such port, or it is taken.
    """
    if not 0 <= port <= 65535:
        raise SettingsError(f"--port: {port}; allowed: 1 to 65535, or 0 for any")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SettingsError(f"--port: {port}: {error.strerror}; give another") from None
        return int(probe.getsockname()[1])
