"""The page in a real browser: `minitopo-dc explore` serves it, Chromium moves its sliders."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from examples.page_load.__main__ import PROGRAMS
from tests.page_load.programs import need_chromium
from tests.quic.extension import needs_picoquic

pytestmark = [pytest.mark.slow, pytest.mark.long, needs_picoquic]
START_S, PATIENCE_S = 120, 30
"""Until the first picture, with the start of all processes, and for what follows a change."""
ANSWER_S = 3.0
"""The most time from a change to its picture, the best of some, where each process has a core."""
SCREENSHOT = os.environ.get("MINITOPO_DC_SCREENSHOT")
"""Where to write the pages' docs/images/explore.png anew, if it is wanted."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`minitopo-dc explore` and the page's address."""
    need_chromium()
    command = [sys.executable, "-m", "minitopo_dc.cli", "explore", "--no-browser"]
    server = subprocess.Popen(
        [*command, f"--port={free_port()}"], stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout is not None
        yield server, server.stdout.readline().strip()
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_S) == 128 + signal.SIGINT


@pytest.fixture(scope="module")
def page(server: tuple[subprocess.Popen[str], str]) -> Iterator[Page]:
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1080, "height": 930})
        page.set_default_timeout(1000 * PATIENCE_S)
        page.goto(server[1], timeout=1000 * START_S)
        expect(page.get_by_text("from the change to the picture")).to_be_visible(
            timeout=1000 * START_S
        )
        yield page
        browser.close()


def picture(page: Page) -> str | None:
    return page.locator("img.widget-image").get_attribute("src")


def rate_of_leg(page: Page, leg: int) -> Any:
    """Return the handle of the slider for a leg's rate: of the first that each leg has."""
    columns = page.locator(".widget-vbox", has=page.get_by_text(f"leg {leg}", exact=True))
    return columns.last.locator(".noUi-handle").first


def move(page: Page, handle: Any, key: str) -> None:
    """Press a key on a slider's handle, and wait for the picture that follows."""
    before = picture(page)
    handle.focus()
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.querySelector('img.widget-image').src !== before", arg=before
    )


def test_a_moved_rate_changes_picture_and_words_within_seconds(page: Page) -> None:
    expect(page.locator("pre").first).to_contain_text("rate_mbps: 80")
    answers = []
    for rate in (100, 150, 200):
        move(page, rate_of_leg(page, 2), "ArrowRight")
        expect(page.locator("pre").first).to_contain_text(f"rate_mbps: {rate}")
        corner = page.get_by_text("from the change to the picture").inner_text()
        answers.append(float(re.sub(" s .*", "", corner)))
        if SCREENSHOT and answers[-1] == min(answers):
            page.screenshot(path=SCREENSHOT)
    load_per_core = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    assert min(answers) < ANSWER_S * max(1.0, load_per_core), answers


def test_a_page_is_for_who_has_its_token(page: Page, server: Any) -> None:
    address = server[1].partition("?")[0]
    context = page.context.browser.new_context()  # type: ignore[union-attr]
    answer = context.new_page().goto(address)
    assert answer is not None
    assert "leg 2" not in answer.text()
    context.close()
