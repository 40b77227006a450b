"""`minitopo-dc build`: make what transports need that no package has, as an ordinary user.

`picoquic`: for the transports quic-picoquic and mpquic-picoquic, on both clocks. Sources come by
pip; a C compiler, Python's headers and OpenSSL's are needed. It is made once, and anew after a
change of what it is made of; its path is printed.
"""

from __future__ import annotations

import argparse
import sys

from minitopo_dc.picoquic.build import build
from minitopo_dc.picoquic.sources import BuildError

HELP = "make what a transport needs and no package has: picoquic"
TARGETS = {"picoquic": build}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's argument."""
    parser.add_argument("target", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when it is here, 1 when it could not be made."""
    try:
        made = TARGETS[arguments.target](_say)
    except BuildError as error:
        _say(str(error))
        return 1
    print(made)  # noqa: T201
    return 0


def _say(text: str) -> None:
    print(f"minitopo-dc: {text}", file=sys.stderr, flush=True)  # noqa: T201
