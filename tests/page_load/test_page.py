"""Page loads: the site, the browser, its protocol, its times."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from examples.page_load.chromium import DevTools, DevToolsError
from examples.page_load.server import site_key, site_key_hash
from examples.page_load.site import MEAN_BYTES, MEDIA_TYPES, Site, object_bytes
from examples.page_load.timing import PageError, PageLoad, page_load
from minitopo_dc.runners.addresses import is_port_bound
from tests.page_load.programs import PAGE_LOAD, SERVER, need_chromium


def body(site: Site, path: str) -> tuple[bytes, str]:
    found = site.find(path)
    assert found is not None
    whole = b"".join(found.pieces)
    assert len(whole) == found.size_bytes
    return whole, dict(found.headers)[b"content-type"].decode()


def test_the_document_names_every_object_once_and_asks_for_no_icon() -> None:
    site = Site()
    document, media_type = body(site, "/")
    assert media_type.startswith("text/html")
    named = re.findall(r'(?:src|href)="(/[^"]*)"', document.decode())
    assert sorted(named) == sorted(site.paths) and len(named) == 40
    assert b'href="data:,"' in document
    assert len(document) == 18_000


def test_every_object_has_the_size_and_the_media_type_of_its_name() -> None:
    site = Site()
    for path in site.paths:
        content, media_type = body(site, path)
        assert len(content) == object_bytes(path)
        assert media_type == MEDIA_TYPES[path.rpartition(".")[2]]


def test_kinds_have_about_the_shares_of_the_median_page() -> None:
    kinds = [path.rpartition(".")[2] for path in Site().paths]
    assert [kinds.count(kind) for kind in ("css", "js", "bmp")] == [4, 12, 24]


@pytest.mark.parametrize("objects", [1, 2, 3, 4, 400])
def test_a_page_of_any_number_of_objects_has_them_all(objects: int) -> None:
    site = Site(objects=objects)
    assert len(set(site.paths)) == objects
    assert all(len(body(site, path)[0]) == object_bytes(path) for path in site.paths)


def test_sizes_are_log_normal_around_the_mean_of_the_median_page() -> None:
    sizes = Site(objects=10_000).sizes
    assert mean(sizes) == pytest.approx(MEAN_BYTES, rel=0.01)
    assert sorted(sizes)[5000] == pytest.approx(MEAN_BYTES / (1 + (25_032 / 10_710) ** 2) ** 0.5, 2)


def test_a_seed_changes_the_order_of_sizes_and_nothing_else() -> None:
    one, other = Site(seed=1).sizes, Site(seed=2).sizes
    assert one != other
    assert sorted(one) == sorted(other)
    assert one == Site(seed=1).sizes


def test_an_image_is_a_bitmap_of_at_least_a_row() -> None:
    site = Site()
    for path in site.paths:
        if path.endswith("bmp"):
            content = body(site, path)[0]
            height = int.from_bytes(content[22:26], "little", signed=True)
            assert content[:2] == b"BM" and height >= 1
            assert 54 + 128 * height <= len(content) < 54 + 128 * (height + 1)


@pytest.mark.parametrize("path", ["/favicon.ico", "/object-1-5.js", "", "/object-1"])
def test_nothing_else_is_found(path: str) -> None:
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


@pytest.mark.long
def test_objects_that_are_not_there_are_a_failure_without_a_number(
    tmp_path: Path, temporary: Path
) -> None:
    need_chromium()
    with site("2", tmp_path) as url:
        process = load(url, "2", temporary, objects=5)
        output, errors = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert errors == "page load failed: 4 objects beside the document, not 5\n"


@pytest.mark.long
def test_a_server_that_is_not_there_is_a_failure(temporary: Path) -> None:
    need_chromium()
    process = load("https://127.0.0.1:9/", "2", temporary)
    output, errors = process.communicate()
    assert (process.returncode, output) == (1, "")
    assert errors.startswith("page load failed: https://127.0.0.1:9/: net::ERR_")


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
    assert (process.returncode, output) == (128 + signal.SIGTERM, "")
    assert not [line for line in command_lines() if os.fsencode(temporary) in line]


def command_lines() -> Iterator[bytes]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            yield entry.read_bytes()


PATIENCE_S = 5.0


class Browser:
    """The other ends of the pipes; it writes these bytes as soon as it was asked something."""

    def __init__(self, *answers: bytes) -> None:
        self.from_us, send = os.pipe()
        receive, self.to_us = os.pipe()
        self.asked: list[dict[str, Any]] = []
        self.ends = [self.from_us, send, receive, self.to_us]
        self.devtools = DevTools(send, receive, time.monotonic() + PATIENCE_S)
        self.thread = threading.Thread(target=self._answer, args=(answers,))
        self.thread.start()

    def _answer(self, answers: tuple[bytes, ...]) -> None:
        self.asked.append(json.loads(os.read(self.from_us, 65_536).rstrip(b"\0")))
        for each in answers:
            os.write(self.to_us, each)
        os.close(self.to_us)
        self.ends.remove(self.to_us)


@pytest.fixture
def browser() -> Iterator[Callable[..., Browser]]:
    made = []

    def make(*answers: bytes) -> Browser:
        made.append(Browser(*answers))
        return made[-1]

    yield make
    for each in made:
        each.thread.join()
        for end in each.ends:
            os.close(end)


def test_a_command_has_its_result_whatever_comes_before_it(
    browser: Callable[..., Browser],
) -> None:
    made = browser(b'{"method": "An.event"}\0{"id": 1, "res', b'ult": {"x": 2}}\0')
    assert made.devtools.call("A.command", "session", url="u") == {"x": 2}
    made.devtools.wait_for("An.event")
    assert made.asked == [
        {"id": 1, "method": "A.command", "params": {"url": "u"}, "sessionId": "session"}
    ]


def test_an_error_is_told(browser: Callable[..., Browser]) -> None:
    made = browser(b'{"id": 1, "error": {"code": -1, "message": "no such thing"}}\0')
    with pytest.raises(DevToolsError, match=r"A\.command: no such thing"):
        made.devtools.call("A.command")


def test_a_browser_that_ends_is_an_error(browser: Callable[..., Browser]) -> None:
    with pytest.raises(DevToolsError, match=r"ended before A\.command"):
        browser(b'{"method": "An.event"}\0').devtools.call("A.command")


def test_a_browser_that_is_silent_is_an_error_at_the_deadline() -> None:
    receive, send = os.pipe()
    try:
        devtools = DevTools(send, receive, time.monotonic() + 0.05)
        with pytest.raises(DevToolsError, match=r"no An\.event in time"):
            devtools.wait_for("An.event")
    finally:
        os.close(receive)
        os.close(send)


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


def entries(*objects: dict[str, Any], **document: Any) -> list[dict[str, Any]]:
    times = {"domContentLoadedEventEnd": 60.0, "loadEventEnd": 80.1, **document}
    return [entry("/", 18_000, **times), *objects]


GOOD = entry("/object-1-500.js", 500)


def judged(*objects: dict[str, Any], expected: int = 1, **document: Any) -> PageLoad:
    return page_load(entries(*objects, **document), "h2", expected)


def test_times_bytes_and_objects_are_those_of_the_browser() -> None:
    found = judged(GOOD)
    times = (found.response_end_ms, found.dom_content_loaded_ms, found.page_load_ms)
    assert times == (40.3, 60.0, 80.1)
    assert (found.objects, found.bytes, found.protocol) == (1, 18_500, "h2")
    assert [resource.path for resource in found.resources] == ["/", "/object-1-500.js"]


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ({"nextHopProtocol": "http/1.1"}, "/object-1-500.js came by http/1.1, not h2"),
        ({"nextHopProtocol": ""}, "came by none, not h2"),
        ({"responseStatus": 404}, r"was not loaded \(status 404\)"),
        ({"encodedBodySize": 499}, "499 bytes, not 500"),
    ],
)
def test_an_object_that_is_not_as_asked_for_is_an_error(
    spoilt: dict[str, Any], reason: str
) -> None:
    with pytest.raises(PageError, match=reason):
        judged({**GOOD, **spoilt})


def test_an_object_of_another_site_must_not_be_empty() -> None:
    with pytest.raises(PageError, match="0 bytes, not more than none"):
        judged(entry("/logo.png", 0))
    assert judged(entry("/logo.png", 7)).objects == 1


def test_a_missing_object_is_an_error() -> None:
    with pytest.raises(PageError, match="1 objects beside the document, not 40"):
        judged(GOOD, expected=40)


def test_a_page_without_an_end_of_its_load_event_is_an_error() -> None:
    with pytest.raises(PageError, match="the load event has not ended"):
        judged(GOOD, loadEventEnd=0)
