"""The papers' page and the condensed results that it is made from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.commands.options.scenario import add_plugin_option
from minitopo_dc.commands.owner import drop_privileges
from minitopo_dc.plugins import load_plugins
from minitopo_dc.settings import SettingsError


def add(actions: Any) -> None:
    """Add the actions `condense` and `papers` to those of `campaign`."""
    condense = actions.add_parser(
        "condense", help="write what `papers` needs of a campaign as two small files"
    )
    condense.add_argument(
        "directory", type=Path, metavar="DIR", help="results directory of campaign run"
    )
    condense.add_argument(
        "target", type=Path, metavar="TARGET", help="directory to write, new or to be replaced"
    )
    add_plugin_option(condense)
    papers = actions.add_parser(
        "papers", help="list the published tables that these results reproduce"
    )
    papers.add_argument(
        "directories",
        type=Path,
        nargs="*",
        metavar="DIR",
        help="results directories of campaign run or campaign condense (default: the condensed "
        "results that come with the package)",
    )
    add_plugin_option(papers)


def _condense(arguments: argparse.Namespace) -> int:
    # Not above, here and below: SciPy takes a second.
    from minitopo_dc.campaign.condensed.condense import condense  # noqa: PLC0415

    load_plugins(arguments.plugins)
    drop_privileges([arguments.directory])
    done = condense(Store(arguments.directory), arguments.target)
    if done.stale:
        _tell_stale(arguments.directory, done.stale)
    size = f"{done.runs} runs, {done.measures} measures, {done.bytes:,} bytes"
    print(f"{arguments.target}: {size}")  # noqa: T201
    return 0


def _papers(arguments: argparse.Namespace) -> int:
    from minitopo_dc.campaign.condensed.load import shipped_results  # noqa: PLC0415
    from minitopo_dc.campaign.report.evaluation import load_sources  # noqa: PLC0415
    from minitopo_dc.campaign.report.papers import papers_page  # noqa: PLC0415

    load_plugins(arguments.plugins)
    directories = arguments.directories or shipped_results()
    if not directories:
        raise SettingsError("no condensed results come with this package; give directories")
    drop_privileges(directories)
    sources = load_sources(directories)
    for each in filter(None, (source.condensed for source in sources)):
        for directory, runs in each.stale.items():
            _tell_stale(directory, runs)
    print(papers_page(sources), end="")  # noqa: T201
    return 0


def _tell_stale(directory: Path, runs: int) -> None:
    words = f"{runs} runs are of an earlier file of the campaign, and left out; run it again"
    print(f"minitopo-dc: {directory}: {words}", file=sys.stderr)  # noqa: T201


ACTIONS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "condense": _condense,
    "papers": _papers,
}
