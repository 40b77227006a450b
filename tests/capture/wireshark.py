"""Wireshark on the command line, as docs/element.md uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None and not os.environ.get("CI"),  # CI may skip nothing in silence
    reason="needs tshark: apt-get install tshark",
)
PDCP = (
    *("--enable-heuristic", "pdcp_nr_udp"),
    *("-o", "pdcp-nr.check_sequence_numbers:Only-PDCP-frames"),
    *("-o", "ip.check_checksum:TRUE"),
    # A client's port may by chance be that of a protocol, which its bytes are then no packets of.
    *("-d", "tcp.port==1-65535,data"),
)


def fields(capture: Path, *names: str, only: str = "") -> list[tuple[str, ...]]:
    """These fields of each packet that the filter `only` lets through."""
    wanted = [argument for name in names for argument in ("-e", name)]
    command = ["tshark", "-r", str(capture), *PDCP, "-Y", only, "-T", "fields", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


def troubles(capture: Path) -> list[tuple[str, ...]]:
    """What Wireshark finds wrong with the bytes, though not with the order, of any packet."""
    wrong = "_ws.malformed || _ws.expert.group == Malformed || ip.checksum.status == Bad"
    return fields(capture, "frame.number", "_ws.expert.message", only=wrong)
