"""The page of `minitopo-dc explore` in a browser: time from a move to the picture, and memory."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from examples.page_load.__main__ import PROGRAMS
from minitopo_dc.cli.explore import free_port

MOVES, SHORT_MOVES = 50, 500
PATIENCE_MS = 120_000
SETTLED_S = 3.0
"""How long the processes are left alone before their memory is read."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the numbers of moves."""
    parser.add_argument("--moves", type=int, default=MOVES, help="whose time is taken")
    parser.add_argument(
        "--short-moves", type=int, default=SHORT_MOVES, help="of 0.1 MB, for the memory"
    )


def measure(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure moves of a slider of the default network, and memory over many short ones."""
    command = [sys.executable, "-m", "minitopo_dc.cli", "explore", "--no-browser"]
    server = subprocess.Popen(
        [*command, f"--port={free_port()}"], stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout is not None
        try:
            return _measured(server.stdout.readline().strip(), server.pid, chosen)
        finally:
            server.send_signal(signal.SIGINT)


def _measured(address: str, pid: int, chosen: argparse.Namespace) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (of development only)

    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        begin = time.monotonic()
        page.goto(address)
        page.get_by_text("from the change to the picture").wait_for()
        opened_s = time.monotonic() - begin
        times = [_moved(page, number) for number in range(chosen.moves)]
        field = page.locator(".size input[type=text]")
        field.fill("0.1")
        field.press("Enter")
        before = _memory_mb(pid)
        for number in range(chosen.short_moves):
            _moved(page, number)
        after = _memory_mb(pid)
        browser.close()
    known = np.array(times)
    return {
        "opened_s": round(opened_s, 2),
        "moves": len(times),
        "move_median_s": round(float(np.median(known)), 2) if times else None,
        "move_p95_s": round(float(np.quantile(known, 0.95)), 2) if times else None,
        "load_1_min": round(os.getloadavg()[0], 1),
        "short_moves": chosen.short_moves,
        "memory_before_mb": before,
        "memory_after_mb": after,
    }


def _moved(page: Any, number: int) -> float:
    """Move a slider to and fro; return the time in s until another picture is there."""
    picture = "img[src^='data:image']"
    before = page.locator(picture).first.get_attribute("src")
    page.locator(".legs-2 .noUi-handle").focus()
    begin = time.monotonic()
    page.keyboard.press("ArrowRight" if number % 2 == 0 else "ArrowLeft")
    image = page.locator(picture).first
    while image.get_attribute("src") == before:
        page.wait_for_timeout(5)
        if time.monotonic() - begin > PATIENCE_MS / 1000:
            raise TimeoutError("no picture after a move")
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
