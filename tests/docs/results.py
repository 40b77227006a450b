"""Results and captures that examples of the pages read, by the name in their mark."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from minitopo_dc.capture import CaptureFile, pdu_framing
from minitopo_dc.pdcp import append_trailer, sn_format
from tests import REPOSITORY
from tests.capture.packets import datagram
from tests.docs.pages import save_files

PATIENCE_S = 300
COMPARED = "compare-20250102-030405"
"""The directory of the comparison that the pages read."""
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["minitopo_dc.plots", "minitopo_dc.campaign.campaign"])


def a_capture(directory: Path) -> None:
    """Two PDUs as an element captures them."""
    framing = pdu_framing(leg=1, bearer=1, direction="downlink", sn_bits=18)
    capture = CaptureFile(directory / "gnb-leg1.pcap", offset=0)
    for sn in (0, 1):
        capture.write(sn, framing(append_trailer(datagram(), sn_format(18).encode(sn))))
    capture.close()


def comparisons(*names: str) -> Callable[[Path], None]:
    """What a comparison leaves, from the virtual clock, under one name or several."""

    def make(directory: Path) -> None:
        for name in names:
            shutil.copytree(made_once() / "compared", directory / "results" / name)

    return make


def results_of_both(directory: Path) -> None:
    """A comparison, and the campaign of the page on the first scenario."""
    comparisons(COMPARED)(directory)
    shutil.copytree(made_once() / "sweep", directory / "results" / "sweep")


@cache
def made_once() -> Path:
    """Several blocks read it, and none writes to it."""
    place = Path(tempfile.mkdtemp(prefix="minitopo-dc-docs-"))
    atexit.register(shutil.rmtree, place)
    command = (
        "-m minitopo_dc.cli compare --output compared --clock virtual "
        "--transports quic-picoquic --size 0.2 --repetitions 3"
    )
    python(command.split(), place)
    save_files(REPOSITORY / "docs" / "first-scenario.md", place)
    command = "-m minitopo_dc.cli campaign run sweep.py --output sweep --quick"
    python(command.split(), place)
    return place


WITH: dict[str, Callable[[Path], None]] = {
    "a capture": a_capture,
    "a comparison's results": comparisons(COMPARED),
    "a comparison's and a campaign's results": results_of_both,
    "two comparisons": comparisons(COMPARED, "compare-20250102-040506"),
    "runs in results/road": comparisons("road"),
}


def python(arguments: list[str], directory: Path) -> None:
    """A process of its own, as examples register classes; it must end with 0.

    It is forked from one that has imported what most of them need, which takes them 2 s.
    """
    said = directory.with_name(f"{directory.name}.log")
    process = SERVER.Process(target=_main, args=(arguments, directory, said))
    process.start()
    process.join(PATIENCE_S)
    process.kill()
    assert process.exitcode == 0, said.read_text(encoding="utf-8")


def _main(arguments: list[str], directory: Path, said: Path) -> None:
    """Be `python ARGUMENTS` in a directory, whose output is kept in a file."""
    os.chdir(directory)
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path.insert(0, str(directory))
        runpy.run_path(arguments[0], run_name="__main__")
