"""The progress of a comparison or a run, its rates meanwhile, and the directory of its results."""

from __future__ import annotations

import argparse
import atexit
import csv
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.status import Status

from minitopo_dc.extension import build_directory
from minitopo_dc.fields import Direction, SettingsError
from minitopo_dc.fields.base import quoted
from minitopo_dc.files import replacing, write_whole
from minitopo_dc.numbers import duration, significant
from minitopo_dc.pool import repeated
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch_prefix
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import get_workload

if TYPE_CHECKING:
    import pandas as pd

    from minitopo_dc.ways import Comparison

Step = TypeVar("Step")
MAX_PER_SECOND = 100
"""The most commands that begin in the same second."""
FIRST_NUMBERS = 3
"""The most numbers of users' programs in a line of progress: the first in the scenario's order."""


class StatusLine:
    """A line in a terminal while the block runs; what is printed to its console goes above it."""

    def __init__(self, text: str) -> None:
        self._begin = time.monotonic()
        self._console = Console(stderr=True)
        self._status = Status(text, console=self._console)
        self._words = text

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def tell(self, words: str) -> None:
        """Show what is under way in place of what was."""
        self._words = words
        self._status.update(words)

    def add(self, words: str) -> None:
        """Show more of what is under way behind it."""
        self._status.update(f"{self._words} {words}")


def progress(steps: Sequence[Step], words: Callable[[Step], str] = str) -> Iterator[Step]:
    """Yield steps of some seconds; show on standard error which is under way, and the time left.

    Args:
        steps: what is done one after the other.
        words: says what a step is.
    """
    begin = time.monotonic()
    with StatusLine("starting") as line:
        for done, step in enumerate(steps):
            passed_s = time.monotonic() - begin
            left = f", about {duration(passed_s / done * (len(steps) - done))} left" if done else ""
            text = f"{done + 1}/{len(steps)} {words(step)}{left}"
            line.tell(text)
            if not sys.stderr.isatty():
                print(text, file=sys.stderr, flush=True)  # noqa: T201
            yield step


def resume_text(done: int, planned: int) -> str:
    """Return how many runs an interrupted command keeps, where repeating it does the rest."""
    return f"{done} of {planned} runs are finished; the same command runs the rest"


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


class ProgressLine(StatusLine):
    """A progress display: the run under way, how each ended, and the approximate time left.

    Args:
        missing: what is to be run, by identity.
        before: how many runs were finished earlier.
        names: of the runs, by identity.
        watched: where to look for rates meanwhile.
        early: a number of runs, and a function that returns what is shown once when so many are
            done, and more are to come.
    """

    def __init__(
        self,
        missing: Mapping[str, Scenario],
        before: int = 0,
        *,
        names: Mapping[str, str],
        watched: Path | None = None,
        early: tuple[int, Callable[[], RenderableType]] | None = None,
    ) -> None:
        super().__init__("starting")
        self._early = early
        self._watched = watched
        self._live = ExitStack()
        self._names = names
        self._waiting = [*missing]
        self._first = next(iter(missing.values()), None)
        self._before = self._done = before
        self._printed_reasons: set[str] = set()

    def __enter__(self) -> Self:
        if self._before:
            total = self._before + len(self._waiting)
            self._console.print(f"{self._before} of {total} runs were finished earlier")
        self._begin_next()
        first = self._first
        if self._watched and first and first.clock == "real" and self._console.is_terminal:
            self._live.enter_context(live(self._watched, first.loads, self.add))
        return super().__enter__()

    def __exit__(self, *given: object) -> None:
        self._live.close()
        super().__exit__(*given)

    def end(self, result: RunResult) -> None:
        """Print how a run has ended, and show the next one."""
        if result.status == "ok":
            outcome = f"[green]ok[/] {_headline(result)}"
        else:
            colour = "yellow" if result.status == "unsupported" else "red"
            reason = result.reason.splitlines()[0]
            if result.status == "unsupported" and reason in self._printed_reasons:
                reason = "for a reason above"
            self._printed_reasons.add(reason)
            outcome = f"[{colour}]{result.status}[/] {escape(reason)}"
        name = escape(self._names[Path(result.directory).name])
        self._console.print(f"{self._position()} {name} (seed {result.seed}): {outcome}")
        self._done += 1
        if self._early is not None and self._done == self._early[0] and self._more:
            self._console.print(self._early[1]())
        self._begin_next()

    @property
    def _more(self) -> int:
        """Return how many runs are to come."""
        return self._before + len(self._waiting) - self._done

    def _begin_next(self) -> None:
        """Show a run that is under way; with several at once one of them."""
        ended = self._done - self._before
        if ended < len(self._waiting):
            words = f"{self._position()} {escape(self._names[self._waiting[ended]])} …"
            if ended:  # the rest takes as long as the runs so far
                pace_s = (time.monotonic() - self._begin) / ended
                left_s = pace_s * (len(self._waiting) - ended)
                left = f"{left_s / 60:.0f} min" if left_s > 90 else f"{left_s:.0f} s"
                words += f" about {left} left"
            self.tell(words)

    def _position(self) -> str:
        return f"{self._done + 1}/{self._before + len(self._waiting)}"


def _headline(result: RunResult) -> str:
    if result.goodput_mbps is not None:
        return f"{significant(result.goodput_mbps)} Mbit/s in {duration(result.completion_s or 0)}"
    numbers = {"completion_s": result.completion_s, **result.details}
    columns = get_workload(result.workload).columns
    shown = [
        column.as_text(numbers[column.measure]) for column in columns if column.measure in numbers
    ]
    for name, unit in islice(result.details.get("units", {}).items(), FIRST_NUMBERS):
        value = result.details.get(name)
        if value is None:
            shown.append(f"{name} -")
        else:
            number = str(int(value)) if value == int(value) else significant(value)
            shown.append(f"{name} {number} {unit}".rstrip())
    return ", ".join(shown)


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
    console = Console()
    if runs is not None:
        console.print(runs_table(runs, every_run))
    for sentence in sentences:
        console.print(sentence, markup=False, highlight=False)


def runs_table(runs: pd.DataFrame, every_run: pd.DataFrame | None = None) -> RenderableType:
    """Return the table of runs as it is printed; arguments are those of `print_runs`."""
    from minitopo_dc.results import compare_table, render_table

    every_row = None if every_run is None else compare_table(every_run)
    return render_table(compare_table(runs), every_row)


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


MATPLOTLIB = "MPLCONFIGDIR"
"""The environment variable that names the directory of Matplotlib's settings and fonts."""


def give_matplotlib_a_place() -> None:
    """Give Matplotlib a directory where the user's home takes no files; it warns otherwise."""
    home = os.path.expanduser("~")  # noqa: PTH111 (no error without a home)
    usual = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
    own = (Path(os.environ.get(name) or Path(home, folder)) for name, folder in usual.items())
    if MATPLOTLIB in os.environ or all(map(_takes_files, own)):
        return
    place = build_directory("matplotlib")
    if not _takes_files(place):
        place = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
        atexit.register(shutil.rmtree, place, ignore_errors=True)
    os.environ[MATPLOTLIB] = str(place)


def _takes_files(place: Path) -> bool:
    """Return whether files can be made in a directory, which itself may have to be made."""
    try:
        nearest = next(path for path in (place, *place.parents) if path.exists())
        os.close(os.open(nearest, os.O_TMPFILE | os.O_RDWR))
    except OSError:
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
            canvas.print_png(partial)
    finally:
        pyplot.close(figure)


def save_comparison(comparison: Comparison) -> None:
    """Write figures of the rows that are shown and of the best of each kind, and the verdict.

    Raises:
        OSError: one cannot be written.
    """
    plots = _imported_plots()
    root, shown = comparison.directory, comparison.better_legs[0]
    kind = str(shown["workload"].iloc[0])
    name = "goodput" if get_workload(kind).figure is None else kind
    save_figure(plots.comparison(shown), root / f"{name}.png")
    if runs := best_of_each(shown, plots.main_measure(shown)):
        save_figure(plots.timeline(*runs.values(), names=[*runs]), root / "timeline.png")
        save_figure(plots.packets(runs), root / "packets.png")
    text = json.dumps([finding.to_json() for finding in comparison.findings], indent=1)
    write_whole(root / "verdict.json", text)


def _imported_plots() -> ModuleType:
    """Import the figures without Matplotlib's texts on all properties, a third of the time."""
    artist: Any = import_module("matplotlib.artist")
    usual, artist.kwdoc = artist.kwdoc, lambda _: ""
    try:
        return import_module("minitopo_dc.plots")
    finally:
        artist.kwdoc = usual


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


BEGIN_S = 5.0
"""A shorter run has ended before anybody has read a line."""
INTERVAL_S = 1.0
TAIL_BYTES = 1 << 16
"""Of a file's end: hundreds of rows, of which a second has ten for each leg."""
HOSTS: dict[Direction, tuple[str, str]] = {"downlink": ("gnb", "ue"), "uplink": ("ue", "gnb")}
"""Which element has the legs of a direction, and which one its receiving bearers."""


@contextmanager
def live(root: Path, loads: tuple[Direction, ...], say: Callable[[str], None]) -> Iterator[None]:
    """Say once a second of the block what the newest run below a directory carries.

    Args:
        root: where runs are.
        loads: the directions that count.
        say: shows a line.
    """
    watched, began, shown = None, 0.0, ""

    def look() -> None:
        nonlocal watched, began, shown
        newest = _newest(root)
        line = "" if newest is None else line_of(newest.parent, loads)
        if newest != watched or not line:
            watched, began = newest, time.monotonic()
        elapsed_s = time.monotonic() - began
        if line != shown and elapsed_s >= BEGIN_S:  # the same line: the run has ended
            say(f"{elapsed_s:.0f} s: {line}")
        shown = line

    with repeated(look, INTERVAL_S):
        yield


def _newest(root: Path) -> Path | None:
    series = chain(root.glob("gnb-legs.csv"), root.glob("*/gnb-legs.csv"))
    try:
        return max(series, key=lambda path: path.stat().st_mtime, default=None)
    except FileNotFoundError:  # a run has gone to its place meanwhile
        return None


def line_of(run: Path, loads: tuple[Direction, ...]) -> str:
    """Return the rates of a run's flows and legs in the last second; empty: nothing moves."""
    parts = []
    for way in loads:
        sender, receiver = HOSTS[way]
        legs, bearers = rates(run / f"{sender}-legs.csv"), rates(run / f"{receiver}-receive.csv")
        if not any(legs.values()):
            continue
        flows = {(number + 1) // 2: rate for number, rate in bearers.items()}
        flows = flows or {1: sum(legs.values())}
        parts += [f"flow {number} {rate:.1f}" for number, rate in flows.items()]
        parts += [f"leg {number} {rate:.1f}" for number, rate in legs.items()]
        parts[-1] += f" Mbit/s {'down' if way == 'downlink' else 'up'}"
    return ", ".join(parts)


def rates(path: Path) -> dict[int, float]:
    """Return the rate of each leg or bearer in the last second that a series has (Mbit/s).

    A file that is missing, or has less, has no rates.
    """
    try:
        with path.open("rb") as file:
            head = file.readline().decode()
            file.seek(max(file.tell(), path.stat().st_size - TAIL_BYTES))
            lines = file.read().decode().splitlines()
    except OSError:
        return {}
    columns = head.strip().split(",")
    rows = [row for row in csv.reader(lines[:-1]) if len(row) == len(columns)]
    if not rows or "delivered_bytes" not in columns:
        return {}
    place = columns.index("delivered_bytes")
    counts: dict[int, list[tuple[int, int]]] = {}
    last = int(rows[-1][0])
    for row in rows:
        if int(row[0]) >= last - INTERVAL_S * NS_PER_S:
            counts.setdefault(int(row[1]), []).append((int(row[0]), int(row[place])))
    return {
        key: 8 * (of[-1][1] - of[0][1]) / max(1, of[-1][0] - of[0][0]) * NS_PER_S / 1e6
        for key, of in counts.items()
    }
