"""The page of `minitopo-dc explore` in a browser: time from a move to the picture, and memory.

Where that time goes is measured without a browser, as time of the processor: it says the same on a
machine that has other work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from examples.page_load.__main__ import PROGRAMS
from minitopo_dc.campaign.executors import perform
from minitopo_dc.cli.explore import free_port
from minitopo_dc.cli.explore.answer import Tab, comparisons, svg_of
from minitopo_dc.cli.explore.form import Form
from minitopo_dc.cli.screen import progress
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scratch import scratch

MOVES, SHORT_MOVES, TABS, ANSWERS = 50, 500, 10, 10
RUNNING, PICTURE, ALL_SEEDS = "running", "from the change to the picture", "s to that of 3 seeds"
"""What the page says after a move, with the picture of the first seed, and with that of all."""
PATIENCE_MS = 120_000
LOT, READ_EVERY = 25, 50
SETTLED_S = 3.0
"""How long the processes are left alone before their memory is read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the numbers of moves."""
    parser.add_argument(
        "--moves", type=int, default=MOVES, help="whose times are taken: one seed, all"
    )
    parser.add_argument(
        "--short-moves", type=int, default=SHORT_MOVES, help="of 0.1 MB, for the memory"
    )
    parser.add_argument("--tabs", type=int, default=TABS, help="that move at once")
    parser.add_argument("--answers", type=int, default=ANSWERS, help="whose parts are measured")


def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure moves of a slider of the default network, its parts, tabs at once, and memory.

    Raises:
        KeyboardInterrupt: with what had been measured then.
    """
    command = [sys.executable, "-m", "minitopo_dc.cli", "explore", "--no-browser"]
    server = subprocess.Popen(
        [*command, f"--port={free_port()}"], stdout=subprocess.PIPE, text=True
    )
    measured = Measured()
    with server:
        assert server.stdout is not None
        try:
            _measure(server.stdout.readline().strip(), server.pid, chosen, measured)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(measured.figures()) from None
        finally:
            server.send_signal(signal.SIGINT)
    return measured.figures() | ({"cpu_ms": cpu_ms(chosen.answers)} if chosen.answers else {})


@dataclass
class Measured:
    """Times in s, in the order in which they are taken, and memory."""

    opened_s: float | None = None
    moves: list[float] = field(default_factory=list)
    all_seeds: list[float] = field(default_factory=list)
    short_moves: list[float] = field(default_factory=list)
    memory_mb: list[dict[str, int]] = field(default_factory=list)
    tabs: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Return what is printed of them."""
        return {
            "opened_s": self.opened_s,
            "moves": len(self.moves),
            **_quantiles("move", self.moves),
            **_quantiles("all_seeds", self.all_seeds),
            "load_1_min": round(os.getloadavg()[0], 1),
            "short_moves": len(self.short_moves),
            f"memory_mb_every_{READ_EVERY}": self.memory_mb,
            "tabs_s": sorted(round(value, 2) for value in self.tabs),
        }


def cpu_ms(answers: int) -> dict[str, float]:
    """Return the median time of the processor (ms) that each part of a first picture takes.

    Runs are in several processes at once, the picture is in another one; all else is the server's.
    """
    known = [_parts(Form.of_values(None, {"seed": seed})) for seed in range(1, answers + 2)][1:]
    return {name: round(float(np.median([one[name] for one in known]))) for name in known[0]}


def _parts(form: Form) -> dict[str, float]:
    """Return the time of the processor of the parts of a form's answer by their names (ms)."""
    times = [("", time.process_time())]

    def mark(name: str) -> None:
        times.append((name, time.process_time()))

    tab = Tab(print)
    with scratch() as place, tab.turn():
        ways = form.ways()
        _ = form.query(), form.command(), form.python(), form.yaml()
        mark("words")
        for name, scenario in ways.items():
            perform(scenario, place / name, Retries())
        mark("runs")
        made = next(comparisons(ways, form.seeds()[:1], place / "runs", tab))
        mark("table")
        _ = made.sentence
        mark("verdict")
        svg_of(made)
        mark("picture")
    return {name: 1000 * (end - begin) for (_, begin), (name, end) in pairwise(times)}


def _measure(address: str, pid: int, chosen: argparse.Namespace, measured: Measured) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of development only)

    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE_MS)
        begin = time.monotonic()
        page.goto(address)
        page.get_by_text(PICTURE).wait_for()
        measured.opened_s = round(time.monotonic() - begin, 2)
        for number in _shown(chosen.moves, "move"):
            measured.moves.append(_moved(page, number))
        for number in _shown(chosen.moves, "whole move"):
            measured.all_seeds.append(_moved_to_all_seeds(page, number))
        size = page.locator(".size input[type=text]")
        size.fill("0.1")
        size.press("Enter")
        measured.memory_mb.append(_memory_mb(pid))
        for number in _shown(chosen.short_moves, "short move"):
            measured.short_moves.append(_moved(page, number))
            if (number + 1) % READ_EVERY == 0:
                measured.memory_mb.append(_memory_mb(pid))
        if chosen.tabs:
            measured.tabs += _together(page, address, chosen.tabs)
        browser.close()


def _quantiles(name: str, times: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times (s); of no times nothing."""
    parts = {"median": 0.5, "p95": 0.95} if times else {}
    return {f"{name}_{part}_s": round(float(np.quantile(times, q)), 2) for part, q in parts.items()}


def _shown(moves: int, what: str) -> Iterator[int]:
    """Yield the numbers of moves, and show after every `LOT` how many are made."""
    lots = [range(begin, min(begin + LOT, moves)) for begin in range(0, moves, LOT)]
    for lot in progress(lots, lambda lot: f"{what} {lot.start}"):
        yield from lot


def _together(page: Any, address: str, number: int) -> list[float]:
    """Return the times in s in which tabs that move at once have their pictures."""
    tabs = [page.context.new_page() for _ in range(number)]
    for tab in tabs:
        tab.set_default_timeout(PATIENCE_MS)
        tab.goto(address)
        tab.get_by_text(PICTURE).wait_for()
    time.sleep(SETTLED_S)
    moves = [_move(tab, 0) for tab in tabs]
    times: dict[int, float] = {}
    while len(times) < number:
        for place, move in enumerate(moves):
            if place not in times and (passed_s := next(move)):
                times[place] = passed_s
    return [*times.values()]


def _move(page: Any, number: int) -> Iterator[float]:
    """Move a slider to or fro; yield 0 until there is its picture, then the time it took in s.

    Raises:
        TimeoutError: there is none after long.
    """
    page.locator(".legs-2 .noUi-handle").focus()
    said = page.locator(".time div").first
    before, begin, has_begun = said.inner_text(), time.monotonic(), False
    page.keyboard.press("ArrowRight" if number % 2 == 0 else "ArrowLeft")
    while PICTURE not in (words := said.inner_text()) or not has_begun:
        # Of several tabs, one may have its picture before it is looked at again.
        has_begun = has_begun or RUNNING in words or not words.startswith(before)
        if time.monotonic() - begin > PATIENCE_MS / 1000:
            raise TimeoutError("no picture after a move")
        yield 0.0
    yield time.monotonic() - begin


def _moved(page: Any, number: int) -> float:
    """Move a slider to or fro; return the time in s until its picture is there."""
    return next(filter(None, _move(page, number)))


def _moved_to_all_seeds(page: Any, number: int) -> float:
    """Move a slider to or fro; return the time in s until the picture of all seeds is there."""
    begin = time.monotonic()
    _moved(page, number)
    while ALL_SEEDS not in page.locator(".time div").first.inner_text():
        page.wait_for_timeout(5)
    return time.monotonic() - begin


def _memory_mb(pid: int) -> dict[str, int]:
    """Return the resident memory of the server, and of the processes that it started (MB)."""
    time.sleep(SETTLED_S)
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return {"server": _resident_mb(pid), "runs": sum(map(_resident_mb, map(int, children)))}


def _resident_mb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) // 1024
