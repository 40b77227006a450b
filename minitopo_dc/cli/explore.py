"""Open a page with sliders for two legs: DC and MP-QUIC answer each change at once.

The page is served by Voilà on this machine only, with a token in its address. Ctrl-C ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from minitopo_dc.exploration import INSTALL
from minitopo_dc.fields import SettingsError
from minitopo_dc.scratch import scratch

CELL = "import minitopo_dc as dc\n\ndc.explore()"
HOST = "127.0.0.1"
CHANNEL = "minitopo_dc.exploration.messages.MessageChannel"
END_S = 5.0
"""How long the server has to end when it is interrupted."""


def execute(arguments: argparse.Namespace) -> int:
    """Serve the page until it is interrupted; return the server's status if it ends itself."""
    _check_port(arguments.port)
    lacking = [name for name in ("voila", "ipywidgets", "ipykernel") if find_spec(name) is None]
    if lacking:
        raise SettingsError(f"explore needs {', '.join(lacking)}: {INSTALL}")
    with scratch() as place:
        cell = {"cell_type": "code", "source": CELL, "metadata": {}, "outputs": [], "id": "page"}
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        page = {
            **{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}},
            "cells": [cell | {"execution_count": None}],
        }
        notebook = place / "explore.ipynb"
        notebook.write_text(json.dumps(page), encoding="utf-8")
        return _serve(notebook, arguments.port, browser=not arguments.no_browser)


def _check_port(port: int) -> None:
    if not 1 <= port <= 65535:
        raise SettingsError(f"--port: {port}; allowed: 1 to 65535")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise SettingsError(f"--port: {port}: {error.strerror}; give another") from None


def _serve(notebook: Path, port: int, *, browser: bool) -> int:
    """Run Voilà in a process of its own until it or this one ends; then both have."""
    token = secrets.token_urlsafe()
    options = [f"--Voila.ip={HOST}", f"--port={port}", "--Voila.port_retries=0", "--token"]
    options += [f"--Voila.kernel_websocket_connection_class={CHANNEL}"]
    options += ["--no-browser", "--Voila.log_level=ERROR"]
    command = [sys.executable, "-P", "-m", "voila", str(notebook), *options]
    # Command lines are everybody's to read, so that the token is not there.
    # Its own files go with the notebook's folder, and it ends with this process, however that ends.
    environment = {"JUPYTER_TOKEN": token, "TMPDIR": str(notebook.parent)}
    ending = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
    server = subprocess.Popen([*ending, *command], env=os.environ | environment)
    try:
        while server.poll() is None and not _answers(port):
            time.sleep(0.1)
        if server.poll() is None:
            address = f"http://{HOST}:{port}/?token={token}"
            print(f"{address}\nCtrl-C ends it.", flush=True)  # noqa: T201
            if browser:
                webbrowser.open(address)
        return server.wait()
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the page is closed") from None
    finally:
        server.terminate()
        try:
            server.wait(END_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
