"""The option for a path schedule."""

from __future__ import annotations

import argparse

from minitopo_dc.settings import PathSchedule, parse_path_words
from minitopo_dc.settings.paths import ACTIONS


def add_paths_option(parser: argparse.ArgumentParser) -> None:
    """When the paths of mode `multipath` are opened, abandoned and ranked."""
    parser.add_argument(
        "--paths",
        nargs="+",
        metavar=("LEGS", "SECONDS:ACTION:LEG"),
        help="path schedule of mode multipath: the legs with a path at first (1,2), then changes "
        f"(2.5:open:2); actions: {', '.join(ACTIONS)} (all legs from beginning to end)",
    )


def path_schedule(arguments: argparse.Namespace) -> PathSchedule | None:
    """That of `--paths`.

    Raises:
        SettingsError: a word is wrong, with what is allowed.
    """
    return None if arguments.paths is None else parse_path_words(arguments.paths, "--paths")
