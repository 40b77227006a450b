"""Build the parts that are not Python, as an ordinary user (`minitopo-dc build`).

`picoquic`: for the transports quic-picoquic and mpquic-picoquic, on both clocks. pip downloads the
sources. The build needs a C compiler and the headers of Python and OpenSSL, and prints the path of
the extension. A change of the sources leads to a new build.

`native`: the native core, by which runs on the virtual clock are faster (docs/virtual-clock.md).
The build needs a C compiler and Python's headers, and no network.

`noq`: for the transports quic-noq and mpquic-noq, on both clocks. cargo fetches the crates. The
build needs Rust 1.88 or newer and a C compiler, and takes 2 minutes.

`aioquic-2020`: aioquic 0.8.7, for the transport quic-aioquic-2020, on both clocks. pip downloads
it; nothing is compiled.

`linux`: a Linux kernel as a process, for tcp and mptcp on the virtual clock. The sources are those
of the distribution's package linux-source-6.12, or what `--source` names. The build needs flex,
bison, bc and a C compiler, and takes 5 minutes of a processor. An interrupted build goes on.

`proxy`: the MPTCP proxy of `mode: atsss` on the real clock. The build needs a C compiler.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from minitopo_dc.cli.screen import note
from minitopo_dc.extension.make import BuildError
from minitopo_dc.fields import SettingsError
from minitopo_dc.linux_guest.build import SERIES, build_agent
from minitopo_dc.linux_guest.build import build as build_linux
from minitopo_dc.native.library import build as build_native
from minitopo_dc.quic.noq import build as build_noq
from minitopo_dc.quic.picoquic import build as build_picoquic
from minitopo_dc.runners.base import Builder, all_runners

HELP = "build the native core, picoquic, noq, the Linux guest, or a proxy, or get aioquic of 2020"

TARGETS: dict[str, Builder] = {
    "picoquic": build_picoquic,
    "native": build_native,
    "noq": build_noq,
    "linux": build_linux,
    "proxy": build_agent,
}


def targets() -> dict[str, Builder]:
    """Return what can be built, by name: `TARGETS`, and what runners need."""
    return TARGETS | {name: made for kind in all_runners() for name, made in kind.builds.items()}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's argument and its option."""
    names = targets()
    parser.add_argument(
        "target", choices=names, metavar="TARGET", help=f"one of {', '.join(names)}"
    )
    parser.add_argument(
        "--source",
        type=Path,
        metavar="PATH",
        help=f"sources for linux: a tree or an archive of Linux {SERIES} (default: those of the "
        f"package linux-source-{SERIES})",
    )


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the target is built, 1 when it could not be."""
    target = targets()[arguments.target]
    if arguments.source is not None:
        if arguments.target != "linux":
            raise SettingsError("--source: only linux is built from sources that one names")
        target = partial(build_linux, source=arguments.source)
    try:
        made = target(note)
    except BuildError as error:
        note(str(error))
        return 1
    print(made)  # noqa: T201
    return 0
