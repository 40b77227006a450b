"""The page in a real browser: open, move, type, share, copy, save, close."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

import minitopo_dc as dc
from examples.page_load.__main__ import PROGRAMS
from minitopo_dc.cli.explore import free_port
from tests.page_load.programs import need_chromium
from tests.quic.extension import needs_picoquic

pytestmark = [pytest.mark.slow, pytest.mark.long, needs_picoquic]
START_S, PATIENCE_S = 180, 60
"""Until the first picture, with the start of all processes, and for what follows a change."""
ANSWER_S = 2.0
"""The most time from a change to its picture, the best of some, where each process has a core."""
TIME = "from the change to the picture"
SCREENSHOT = os.environ.get("MINITOPO_DC_SCREENSHOT")
"""Where to write the pages' docs/images/explore.png anew, if it is wanted."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str, Path]]:
    """`minitopo-dc explore`, the page's address, and the directory that it works in."""
    need_chromium()
    place = tmp_path_factory.mktemp("explore")
    command = [sys.executable, "-m", "minitopo_dc.cli", "explore", "--no-browser"]
    command += [f"--port={free_port()}", *("--delay", "10", "40", "--legs", "40", "30")]
    environment = os.environ | {"PYTHONPATH": str(Path(dc.__file__).parents[1])}
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=place, env=environment
    )
    with server:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip(), place
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 128 + signal.SIGINT


@pytest.fixture(scope="module")
def page(server: tuple[Any, str, Path]) -> Iterator[Page]:
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1320, "height": 1200})
        page = context.new_page()
        expect.set_options(timeout=1000 * PATIENCE_S)
        page.set_default_timeout(1000 * PATIENCE_S)
        others: list[str] = []
        page.on("request", lambda request: others.append(request.url))
        page.goto(f"{server[1]}?size=5&legs=40,30&delay=10,40", timeout=1000 * START_S)
        expect(page.get_by_text(TIME)).to_be_visible(timeout=1000 * START_S)
        assert not [
            url
            for url in others
            if not url.startswith(("http://127.0.0.1", "blob:http://127.0.0.1", "data:"))
        ]
        yield page
        browser.close()


def answered(page: Page, words: str) -> float:
    """Wait until the address has some words and the picture is theirs; return its time in s."""
    page.wait_for_function("words => location.search.includes(words)", arg=words)
    page.wait_for_timeout(100)
    return float(page.get_by_text(TIME).inner_text().partition(" ")[0])


def test_a_moved_rate_is_answered_at_once_and_the_address_says_it(page: Page) -> None:
    answers = []
    for rate in (40, 50):
        page.locator(".legs-2 .noUi-handle").focus()
        page.keyboard.press("ArrowRight")
        answers.append(answered(page, f"legs=40,{rate}&"))
        expect(page.locator("textarea").first).to_have_value(re.compile(f"--legs 40 {rate} "))
        expect(page.get_by_text(re.compile("^(DC|MP-QUIC) .* Mbit/s: ")).first).to_be_visible()
    if SCREENSHOT:
        page.get_by_text("With leg 2 as the primary one").or_(
            page.get_by_text("Another primary leg")
        ).wait_for()
        page.screenshot(path=SCREENSHOT)
    load_per_core = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    assert min(answers) < ANSWER_S * max(1.0, load_per_core) ** 2, answers


def test_a_typed_number_has_a_unit_and_a_wrong_one_is_refused_beside_its_field(page: Page) -> None:
    field = page.locator(".delay-2 input[type=text]")
    field.fill("55ms")
    field.press("Enter")
    answered(page, "delay=10,55ms&")
    field.fill("-3")
    field.press("Enter")
    expect(page.get_by_text("delay_ms: -3; allowed: 0 to 3,600,000 ms").first).to_be_visible()
    field.fill("40")
    field.press("Enter")
    answered(page, "delay=10,40&")
    expect(page.get_by_text("delay_ms: -3")).to_have_count(0)


def test_an_address_opens_the_same_experiment_in_another_tab(page: Page) -> None:
    command = page.locator("textarea").first.input_value()
    other = page.context.new_page()
    other.goto(page.url, timeout=1000 * START_S)
    expect(other.locator("textarea").first).to_have_value(command, timeout=1000 * START_S)
    other.close()


def test_a_copy_is_on_the_clipboard(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="copy").first.click()
    page.wait_for_timeout(300)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("textarea").first.input_value()
    assert copied.startswith("minitopo-dc compare --clock virtual ")


def test_what_is_saved_is_a_directory_as_compare_has_it(page: Page, server: Any) -> None:
    page.get_by_role("button", name="save the results").click()
    expect(page.get_by_text("saved: ")).to_be_visible()
    [root] = (server[2] / "results").iterdir()
    assert {"DC (papers')", "MP-QUIC", "leg 1"} <= set(dc.load(root)["way"])


def test_a_page_is_for_who_has_its_token(page: Page, server: Any) -> None:
    address, _, token = server[1].rpartition("/")
    context = page.context.browser.new_context()  # type: ignore[union-attr]
    for path in ("/", "/x", "/x?size=5"):
        answer = context.new_page().goto(address + path)
        assert answer is not None
        assert token not in answer.text()
        assert "leg 2" not in answer.text()
    context.close()


def test_a_notebook_s_page_is_in_a_frame_and_its_object_is_what_the_frame_shows(page: Page) -> None:
    shared = dc.explore(size=0.3, repetitions=1, dc="papers")
    shared.settle()
    address = re.findall('src="(.*?)"', shared._repr_mimebundle_()["text/html"])[0]
    frame = page.context.new_page()
    frame.goto(address, timeout=1000 * START_S)
    frame.locator(".legs-1 input[type=text]").fill("25")
    frame.locator(".legs-1 input[type=text]").press("Enter")
    expect(frame.locator("textarea").first).to_have_value(re.compile("--legs 25 30 "))
    assert shared.form.words["legs"] == ("25", "30")
    frame.close()
    shared.close()


def test_the_files_of_a_closed_tab_are_removed(page: Page, server: Any) -> None:
    pid = server[0].pid
    mine = [*Path("/tmp").glob(f"minitopo-dc-*-{pid}-*")]
    assert mine
    page.close()
    end = time.monotonic() + PATIENCE_S
    while any(path.exists() for path in mine) and time.monotonic() < end:
        time.sleep(0.2)
    assert not [path for path in mine if path.exists()]
