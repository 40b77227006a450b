"""What commands share: directories of results, what they print, and the line of a Ctrl-C.

A command that reads results as root becomes their owner: what somebody else has made is then read
and written with no more rights than theirs, whatever it contains, and whatever becomes of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from pwd import getpwuid
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic
from rich.console import Console

from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import replacing, write_whole
from minitopo_dc.numbers import duration
from minitopo_dc.workloads import get_workload

if TYPE_CHECKING:
    import pandas as pd

    from minitopo_dc.ways import Comparison

Step = TypeVar("Step")
MAX_PER_SECOND = 100
"""The most commands that begin in the same second."""


def progress(steps: Sequence[Step], words: Callable[[Step], str] = str) -> Iterator[Step]:
    """Yield steps of some seconds; show on standard error which is under way, and the time left.

    Args:
        steps: what is done one after the other.
        words: says what a step is.
    """
    begin = time.monotonic()
    with Console(stderr=True).status("starting") as line:
        for done, step in enumerate(steps):
            passed_s = time.monotonic() - begin
            left = f", about {duration(passed_s / done * (len(steps) - done))} left" if done else ""
            text = f"{done + 1}/{len(steps)} {words(step)}{left}"
            line.update(text)
            if not sys.stderr.isatty():
                print(text, file=sys.stderr, flush=True)  # noqa: T201
            yield step


@contextmanager
def interrupted_with(words: Callable[[], str]) -> Iterator[None]:
    """Let the line of a Ctrl-C in the block say what there is then."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(words()) from None


def kept_text(directory: Path, name: str) -> str:
    """Return whether an interrupted run has the file of its result, and where what it has is."""
    if (directory / name).exists():
        return f"the run had ended: {directory / name}"
    return f"the run has no result; its files so far are in {directory}"


@contextmanager
def resumable(arguments: argparse.Namespace, root: Path, kept: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C in the block say what is kept, and which command does the rest.

    Args:
        arguments: the options; without `--output` among them the command gets it.
        root: the results directory.
        kept: counts the runs that are kept, in words.
    """
    output = [] if arguments.output else ["--output", str(root)]
    command = shlex.join(["minitopo-dc", *arguments.typed, *output])
    with interrupted_with(lambda: f"{kept()} finished; resume with: {command}"):
        yield


def new_directory(
    output: Path | None, command: str, resumed_by: str = "", *, make: bool = True
) -> Path:
    """Make the results directory and return it; one that has a file `resumed_by` is gone on with.

    Without `make` it is only chosen: who is to fill it makes it once all has been checked.

    Without an `output`, the time is its name, followed by `-2`, `-3`, ... when another
    command has begun in the same second.

    Raises:
        SettingsError: it exists already, so that results are never mixed, or cannot be made.
    """
    if output is not None and resumed_by and (output / resumed_by).exists():
        return output
    named = Path("results") / time.strftime(f"{command}-%Y%m%d-%H%M%S")
    later = (named.with_name(f"{named.name}-{number}") for number in range(2, MAX_PER_SECOND + 1))
    candidates = [output] if output else [named, *later]
    for directory in candidates:
        try:
            if make:
                directory.mkdir(parents=True)
            elif directory.exists():
                continue
        except FileExistsError:
            continue
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise SettingsError(f"--output: {quoted(directory)}: {why}") from None
        return directory
    raise SettingsError(f"--output: {quoted(candidates[0])} exists; give a new directory")


def note(words: str) -> None:
    """Print a line for the user to standard error, as standard output is for results."""
    print(f"minitopo-dc: {words}", file=sys.stderr, flush=True)  # noqa: T201


def say(words: str) -> None:
    """Print a line as it is to standard output; one with a path is not broken."""
    Console().print(words, markup=False, highlight=False, soft_wrap=True)


def print_runs(
    runs: pd.DataFrame | None, sentences: Iterable[str], every_run: pd.DataFrame | None = None
) -> None:
    """Print the table of runs, if there are any, and the sentences below it.

    Args:
        runs: those that are shown (`results_table`); None: there are none.
        sentences: what the runs come to.
        every_run: those that are counted for the machine, if more than are shown.
    """
    # ruff: noqa: PLC0415
    from minitopo_dc.results import compare_table, render_table

    console = Console()
    if runs is not None:
        every_row = None if every_run is None else compare_table(every_run)
        console.print(render_table(compare_table(runs), every_row))
    for sentence in sentences:
        console.print(sentence, markup=False, highlight=False)


def print_json(runs: pd.DataFrame) -> None:
    """Print the labels and the results of the runs of a table, as a JSON list."""
    from minitopo_dc.results.tables.runs import load_result

    there, root = runs[runs["status"] != "missing"], Path(runs.attrs["directory"])
    labels = there[runs.attrs["labels"]].to_dict("records")
    rows = [
        {**own, **asdict(load_result(root / run))}
        for own, run in zip(labels, there["run"], strict=True)
    ]
    print(json.dumps(rows, indent=1))  # noqa: T201


def saved(root: Path, save: Callable[[], None]) -> bool:
    """Write tables and figures, or say why they cannot be written, and return whether they are."""
    try:
        save()
    except OSError as error:
        note(f"{root}: {error.strerror}; the tables are not written")
        return False
    return True


def save_figure(axes: Any, path: Path) -> None:
    """Write the figure of some axes as PNG, and forget it.

    Raises:
        OSError: `path` cannot be written.
    """
    from matplotlib import pyplot, rcParams
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from minitopo_dc.plots import style

    figure = getattr(axes, "flat", [axes])[0].get_figure(root=True)
    try:
        with replacing(path) as partial, style():
            # The same dots as `figure.savefig`'s, which draws all twice to lay it out.
            figure.set_dpi(rcParams["savefig.dpi"])
            canvas: Any = FigureCanvasAgg(figure)
            # Level 6 takes a tenth of a short comparison to make the file a fifth smaller.
            canvas.print_png(partial, pil_kwargs={"compress_level": 1})
    finally:
        pyplot.close(figure)


def save_comparison(comparison: Comparison) -> None:
    """Write figures of the rows that are shown and of the best of each kind, and the verdict.

    Raises:
        OSError: one cannot be written.
    """
    from minitopo_dc import plots

    root, shown = comparison.directory, comparison.better_legs[0]
    kind = str(shown["workload"].iloc[0])
    name = "goodput" if get_workload(kind).figure is None else kind
    save_figure(plots.comparison(shown), root / f"{name}.png")
    if runs := best_of_each(shown, plots.main_measure(shown)):
        save_figure(plots.timeline(*runs.values(), names=[*runs]), root / "timeline.png")
        save_figure(plots.packets(runs), root / "packets.png")
    text = json.dumps([finding.to_json() for finding in comparison.findings], indent=1)
    write_whole(root / "verdict.json", text)


def best_of_each(runs: pd.DataFrame, measure: str) -> dict[str, Path]:
    """Return the first run of the best leg alone, the best DC and the best multipath, by name."""
    from minitopo_dc import plots
    from minitopo_dc.results.measures.row_pairs import KINDS

    best_runs: dict[str, Path] = {}
    good = runs[(runs["status"] == "ok") & runs["mode"].isin(KINDS)]
    for _, alike in good.groupby(good["mode"].map(KINDS), sort=False):
        rows = alike.groupby("way", sort=False)
        means = rows[measure].mean().dropna()
        if means.empty:
            continue
        best: Any = means.idxmin() if plots.is_better_low(measure) else means.idxmax()
        best_runs[best] = Path(rows.get_group(best)["directory"].iloc[0])
    return best_runs


NOBODY = 65_534
"""The group of an owner that this machine does not know, where a directory's group is root's."""
ROOT_VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "MPLCONFIGDIR")
"""Environment variables that name directories of the user who began the command."""


def drop_privileges(directories: Sequence[Path]) -> None:
    """Become, as root, the owner of directories for the rest of this process, and print a line.

    The process takes the owner's groups, and cannot go back. Nothing happens where the owner is
    root, or when another user than root asks.

    Args:
        directories: the directories; those that exist must have one owner.

    Raises:
        SettingsError: they have several owners, or nobody can become this one.
    """
    if os.geteuid() != 0:
        return
    places = {directory: directory.stat() for directory in directories if directory.is_dir()}
    owners = {facts.st_uid for facts in places.values()}
    if len(owners) > 1:
        words = ", ".join(f"{path} ({_name(facts.st_uid)}'s)" for path, facts in places.items())
        raise SettingsError(f"several owners: {words}; give directories of one, or not as root")
    if owners <= {0}:
        return
    directory, facts = next(iter(places.items()))
    name = _name(facts.st_uid)
    try:
        _set_user(facts.st_uid, facts.st_gid)
    except OSError as error:
        raise SettingsError(f"{directory}: cannot be read as {name}: {error.strerror}") from None
    if not all(os.access(path, os.R_OK) for path in (__file__, pydantic.__file__)):
        raise SettingsError(f"{directory} is {name}'s, who cannot read this program ({__file__})")
    words = f"{directory} is {name}'s: read and written as {name}, not as root"
    note(words)


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _set_user(uid: int, group: int) -> None:
    """Change the groups, then the user: who is no longer root cannot give up groups."""
    try:
        entry = getpwuid(uid)
    except KeyError:
        os.setgroups([])
        os.setgid(group or NOBODY)
        home = "/"
    else:
        os.initgroups(entry.pw_name, entry.pw_gid)
        os.setgid(entry.pw_gid)
        home = entry.pw_dir
    os.setuid(uid)
    os.environ["HOME"] = home
    for name in ROOT_VARIABLES:
        os.environ.pop(name, None)
