"""A page load on this machine: no root, no legs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from minitopo_dc.runners.addresses import is_port_bound
from tests.page_load.programs import PAGE_LOAD, SERVER, need_chromium

START_S = 20


@contextmanager
def site(http: str, directory: Path) -> Iterator[str]:
    """Serves a page of 4 objects at the URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--http", http, "--objects", "4", "--port", str(port)]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([*SERVER, *words], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_S
        while not is_port_bound(process.pid, port):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        yield f"https://127.0.0.1:{port}/"
    finally:
        process.terminate()
        ended = process.wait(START_S)
    assert ended == 0, (directory / "log").read_text()


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Where the program's files are; a short path, as browsers need it, and empty in the end."""
    with TemporaryDirectory() as made:
        yield Path(made)
        assert not list(Path(made).iterdir())


def load(url: str, http: str, temporary: Path, objects: int = 4) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PAGE_LOAD, url, "--http", http, "--objects", str(objects), "--timeout", "20"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_loads_by_http_3_are_whole_and_leave_nothing(tmp_path: Path, temporary: Path) -> None:
    need_chromium()
    with site("3", tmp_path) as url:
        for _ in range(2):  # the server takes one connection after the other
            output, errors = load(url, "3", temporary).communicate()
            report = json.loads(output)
            assert (report["protocol"], report["objects"], errors) == ("h3", 4, "")
            order = [report[f"{name}_ms"] for name in ("response_end", "dom_content_loaded")]
            assert 0 < order[0] < order[1] <= report["page_load_ms"]
            assert report["bytes"] == sum(each["bytes"] for each in report["resources"])


def test_objects_that_are_not_there_are_a_failure_without_a_number(
    tmp_path: Path, temporary: Path
) -> None:
    need_chromium()
    with site("2", tmp_path) as url:
        process = load(url, "2", temporary, objects=5)
        output, errors = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert errors == "page load failed: 4 objects beside the document, not 5\n"


def test_a_server_that_is_not_there_is_a_failure(temporary: Path) -> None:
    need_chromium()
    process = load("https://127.0.0.1:9/", "2", temporary)
    output, errors = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert errors.startswith("page load failed: https://127.0.0.1:9/: net::ERR_")


def test_sigterm_ends_the_browser_and_removes_its_files(temporary: Path) -> None:
    need_chromium()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        process = load(f"https://127.0.0.1:{silent.getsockname()[1]}/", "2", temporary)
        silent.settimeout(START_S)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=START_S)
    assert (process.returncode, output) == (128 + signal.SIGTERM, "")
    assert not [line for line in command_lines() if os.fsencode(temporary) in line]


def command_lines() -> Iterator[bytes]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield entry.read_bytes()
