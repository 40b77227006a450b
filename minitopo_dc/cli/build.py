"""Build the parts that are not Python, or remove what killed runs left (`build`, `clean`)."""

from __future__ import annotations

import argparse
from functools import partial

from minitopo_dc.cli.screen import note
from minitopo_dc.errors import did_you_mean
from minitopo_dc.extension.make import BuildError
from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.linux_guest.build import build as build_linux
from minitopo_dc.linux_guest.build import build_agent
from minitopo_dc.native.library import build as build_native
from minitopo_dc.quic.noq import build as build_noq
from minitopo_dc.quic.picoquic import build as build_picoquic
from minitopo_dc.real.run_registry import clean
from minitopo_dc.runners.base import Builder, all_runners
from minitopo_dc.scratch import remove_abandoned

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


def execute(arguments: argparse.Namespace) -> int:
    """Return 0 when the target is built, or all is clean, 1 when it could not be built."""
    if arguments.command == "clean":
        return _clean()
    if arguments.target not in (known := targets()):
        allowed = f"{', '.join(known)}; {did_you_mean(arguments.target, known)}".rstrip("; ")
        raise SettingsError(f"build: {quoted(arguments.target)}; allowed: {allowed}")
    target = known[arguments.target]
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


def _clean() -> int:
    """Remove what killed runs left, and say what was removed; runs under way are left alone."""
    removed = clean()
    for run, processes in removed.items():
        print(f"run {run}: ended {len(processes)} processes and removed its hosts")  # noqa: T201
    for place in (places := remove_abandoned()):
        print(f"removed {place}")  # noqa: T201
    if not removed and not places:
        print("nothing to clean")  # noqa: T201
    return 0
