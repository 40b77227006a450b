"""The DevTools protocol over pipes, with a browser of a thread."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from examples.page_load.chromium import DevTools, DevToolsError

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
