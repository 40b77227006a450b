"""Page loads: the site, the browser, its protocol, its times, the two legs that carry it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from examples.page_load.__main__ import PageError, check_multipath, page_load, since
from examples.page_load.server import site_key, site_key_hash
from examples.page_load.site import MEAN_BYTES, MEDIA_TYPES, Site, object_bytes
from minitopo_dc.real.machine import probe_kernel
from minitopo_dc.runners.addresses import is_port_bound
from tests.page_load.programs import PAGE_LOAD, SERVER, need_chromium


def body(site: Site, path: str) -> tuple[bytes, str]:
    content = site.find(path)
    assert content is not None
    whole = b"".join(content.pieces)
    assert len(whole) == content.size_bytes
    return whole, dict(content.headers)[b"content-type"].decode()


def test_the_document_names_every_object_once_and_asks_for_no_icon() -> None:
    site = Site()
    document, media_type = body(site, "/")
    assert media_type.startswith("text/html")
    named = re.findall(r'(?:src|href)="(/[^"]*)"', document.decode())
    assert sorted(named) == sorted(site.paths) and len(named) == 40
    assert b'href="data:,"' in document
    assert len(document) == 18_000


@pytest.mark.parametrize("objects", [1, 2, 3, 4, 40, 400])
def test_every_object_has_the_size_and_the_media_type_of_its_name(objects: int) -> None:
    site = Site(objects=objects)
    assert len(set(site.paths)) == objects
    for path in site.paths:
        content, media_type = body(site, path)
        assert len(content) == object_bytes(path)
        assert media_type == MEDIA_TYPES[path.rpartition(".")[2]]
        if path.endswith("bmp"):
            height = int.from_bytes(content[22:26], "little", signed=True)
            assert content[:2] == b"BM" and height >= 1
            assert 54 + 128 * height <= len(content) < 54 + 128 * (height + 1)


def test_kinds_and_sizes_are_those_of_the_median_page_in_an_order_of_the_seed() -> None:
    kinds = [path.rpartition(".")[2] for path in Site().paths]
    assert [kinds.count(kind) for kind in ("css", "js", "bmp")] == [4, 12, 24]
    sizes = Site(objects=10_000).sizes
    assert mean(sizes) == pytest.approx(MEAN_BYTES, rel=0.01)
    one, other = Site(seed=1).sizes, Site(seed=2).sizes
    assert one != other
    assert sorted(one) == sorted(other)


@pytest.mark.parametrize("path", ["/favicon.ico", "/object-1-5.js", "", "/object-1"])
def test_nothing_else_is_there(path: str) -> None:
    assert Site().find(path) is None


def test_the_key_is_the_same_everywhere() -> None:
    assert site_key().private_numbers() == site_key().private_numbers()
    assert len(site_key_hash()) == 44


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
        deadline = time.monotonic() + START_S
        while list(Path(made).iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.02)


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
            assert report["bytes"] == sum(resource["bytes"] for resource in report["resources"])


@pytest.mark.long
def test_a_page_that_is_not_as_asked_for_is_a_failure_without_a_number(
    tmp_path: Path, temporary: Path
) -> None:
    need_chromium()
    with site("2", tmp_path) as url:
        lacking = load(url, "2", temporary, objects=5)
        output, errors = lacking.communicate()
    assert (lacking.returncode, output) == (1, "")
    assert errors == "page load failed: 4 objects beside the document, not 5\n"
    gone = load(url, "2", temporary)
    output, errors = gone.communicate()
    assert (gone.returncode, output) == (1, "")
    assert re.match(r"page load failed: .*net::ERR_CONNECTION_REFUSED", errors)


@pytest.mark.long
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
    assert (process.returncode, output) == (-signal.SIGTERM, "")
    deadline = time.monotonic() + START_S
    while [line for line in command_lines() if os.fsencode(temporary) in line]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def command_lines() -> Iterator[bytes]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield entry.read_bytes()


def test_no_browser_is_an_error_that_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    output, errors = load("https://127.0.0.1:9/", "2", tmp_path).communicate()
    assert output == ""
    assert (
        errors
        == "page load failed: no chromium on this machine (Debian: apt-get install chromium)\n"
    )


def entry(path: str, size: int, **more: Any) -> dict[str, Any]:
    return {
        "name": f"https://10.0.0.2:4433{path}",
        "nextHopProtocol": "h2",
        "responseStatus": 200,
        "encodedBodySize": size,
        "startTime": 10.0,
        "responseEnd": 40.30000001,
        **more,
    }


GOOD = entry("/object-1-500.js", 500)
DOCUMENT = entry("/", 18_000, domContentLoadedEventEnd=60.0, loadEventEnd=80.1)


def test_times_bytes_and_objects_are_those_of_the_browser() -> None:
    loaded = page_load([DOCUMENT, GOOD], "h2", 1)
    times = [loaded[f"{name}_ms"] for name in ("response_end", "dom_content_loaded", "page_load")]
    assert times == [40.3, 60.0, 80.1]
    assert (loaded["objects"], loaded["bytes"], loaded["protocol"]) == (1, 18_500, "h2")
    assert [resource["path"] for resource in loaded["resources"]] == ["/", "/object-1-500.js"]


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ({"nextHopProtocol": "http/1.1"}, "/object-1-500.js came by http/1.1, not h2"),
        ({"nextHopProtocol": ""}, "came by none, not h2"),
        ({"responseStatus": 404}, r"was not loaded \(status 404\)"),
        ({"encodedBodySize": 499}, "499 bytes, not 500"),
        (entry("/logo.png", 0), "0 bytes, not more than none"),
    ],
)
def test_an_object_that_is_not_as_asked_for_is_an_error(
    spoilt: dict[str, Any], reason: str
) -> None:
    with pytest.raises(PageError, match=reason):
        page_load([DOCUMENT, {**GOOD, **spoilt}], "h2", 1)


BOTH = {"client-lan1": 700_000, "client-lan2": 700_000}
MPTCP = {"connections": 1, "fallbacks": 0, "joined": 1}


def test_bytes_on_both_legs_are_what_was_asked_for() -> None:
    before = {"client-lan1": 5, "client-lan2": 9_999}
    received = since(before, {"client-lan1": 700_005, "client-lan2": 20_000})
    assert received == {"client-lan1": 700_000, "client-lan2": 10_001}
    check_multipath(received, MPTCP, 1_000_000)


@pytest.mark.parametrize(
    ("received", "mptcp", "reason"),
    [
        (BOTH, {**MPTCP, "connections": 0}, "no MPTCP connection"),
        (BOTH, {**MPTCP, "fallbacks": 1}, "1 connections fell back to TCP"),
        ({**BOTH, "client-lan2": 9_999}, MPTCP, "client-lan2 carried 9999 of the page's 1000000"),
    ],
)
def test_one_leg_or_plain_tcp_is_an_error(
    received: dict[str, int], mptcp: dict[str, int], reason: str
) -> None:
    with pytest.raises(PageError, match=reason):
        check_multipath(received, mptcp, 1_000_000)


@pytest.mark.root
@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "words", "protocol"),
    [
        ("multipath", ["--http", "2", "--mptcp"], "h2"),
        ("dc", ["--http", "3"], "h3"),
    ],
)
def test_both_legs_carry_a_page(mode: str, words: list[str], protocol: str, tmp_path: Path) -> None:
    need_chromium()
    if mode == "multipath" and (reason := probe_kernel()["MPTCP"]):
        pytest.skip(f"this kernel has no MPTCP: {reason}")
    command = [
        *(sys.executable, "-m", "minitopo_dc.cli", "exec", "--legs", "20", "20", "--mode", mode),
        *("--output", str(tmp_path / "out"), "--server-ready", "4433", "--server"),
        *(shlex.join([*SERVER, *words, "--objects", "4"]), "--"),
        *(*PAGE_LOAD, *words, "--objects", "4"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["protocol"], report["objects"]) == (protocol, 4)
    assert mode == "dc" or (report["mptcp"]["connections"], report["mptcp"]["fallbacks"]) >= (1, 0)
    legs = json.loads((tmp_path / "out" / "exec.json").read_text())["legs"]
    carried = [leg["downlink"]["bytes"] for leg in legs]
    assert min(carried) > 0.01 * report["bytes"] and sum(carried) > report["bytes"]
