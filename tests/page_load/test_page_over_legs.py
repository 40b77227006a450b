"""A page load over two legs: both carry it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.machine import probe_kernel
from tests.page_load.programs import PAGE_LOAD, SERVER, need_chromium

pytestmark = pytest.mark.root


def page_load(directory: Path, mode: str, *words: str) -> tuple[dict[str, Any], list[int]]:
    """The report of a page of 4 objects, and the bytes of each downlink leg."""
    kept = directory / "out"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "minitopo_dc.cli", "exec", "--legs", "20", "20"),
            *("--mode", mode, "--output", str(kept), "--server-ready", "4433", "--server"),
            *(shlex.join([*SERVER, *words, "--objects", "4"]), "--"),
            *(*PAGE_LOAD, *words, "--objects", "4"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    legs = json.loads((kept / "exec.json").read_text())["legs"]
    return json.loads(done.stdout), [leg["downlink"]["bytes"] for leg in legs]


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
    report, carried = page_load(tmp_path, mode, *words)
    assert (report["protocol"], report["objects"]) == (protocol, 4)
    assert mode == "dc" or (report["mptcp"]["connections"], report["mptcp"]["fallbacks"]) >= (1, 0)
    assert min(carried) > 0.01 * report["bytes"] and sum(carried) > report["bytes"]
