"""Results and captures that examples of the pages read, by the name in their mark."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.pdcp import append_trailer, sn_format
from tests import REPOSITORY
from tests.capture.packets import datagram

A_MINUTE = 60


def a_capture(directory: Path) -> None:
    """Two PDUs as an element captures them."""
    framing = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=18)
    capture = CaptureFile(directory / "gnb-leg1.pcap", offset=0)
    for sn in (0, 1):
        capture.write(sn, framing(append_trailer(datagram(), sn_format(18).encode(sn))))
    capture.close()


def a_comparison(directory: Path, results: str = "compare-20250102-030405") -> None:
    """What a comparison leaves, from the virtual clock."""
    command = (
        f"-m minitopo_dc.cli compare --output results/{results} --clock virtual "
        "--transports quic --modes dc --size 0.2 --repetitions 1 --jobs 1"
    )
    python(command.split(), directory)


SWEEP = """
title: A sweep
clock: virtual
repetitions: 2
base:
  transport: quic
  mode: dc
  workload.size_mb: 0.2
  legs: [{downlink: {rate_mbps: 20}}, {downlink: {rate_mbps: 10, delay_ms: 25}}]
configurations: {alternating: {}, least-delay: {pdcp.split: least-delay}}
experiments:
  reordering: {title: Goodput, grid: {pdcp.t_reordering_ms: [20, 200]}}
"""


def results_of_both(directory: Path) -> None:
    """A comparison of three rows with three seeds, and a campaign."""
    shutil.copytree(made_once(), directory / "results")


@cache
def made_once() -> Path:
    """Several blocks read it, and none writes to it."""
    place = Path(tempfile.mkdtemp(prefix="minitopo-dc-docs-"))
    atexit.register(shutil.rmtree, place)
    command = (
        "-m minitopo_dc.cli compare --output results/compare-20250102-030405 --clock virtual "
        "--transports quic --modes sc dc --size 0.2 --repetitions 3 --jobs 1"
    )
    python(command.split(), place)
    (place / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    command = "-m minitopo_dc.cli campaign run sweep.yaml --output results/sweep --jobs 1"
    python(command.split(), place)
    return place / "results"


def two_comparisons(directory: Path) -> None:
    """The same comparison twice, which is enough to print them side by side."""
    a_comparison(directory)
    results = directory / "results"
    shutil.copytree(results / "compare-20250102-030405", results / "compare-20250102-040506")


WITH: dict[str, Callable[[Path], None]] = {
    "a capture": a_capture,
    "a comparison's results": a_comparison,
    "a comparison's and a campaign's results": results_of_both,
    "two comparisons": two_comparisons,
    "runs in results/road": partial(a_comparison, results="road"),
}


def python(arguments: list[str], directory: Path) -> None:
    """A process of its own, as examples register classes; it must end with 0."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=A_MINUTE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
