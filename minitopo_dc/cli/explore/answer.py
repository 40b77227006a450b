"""The answer to a form: the runs of its ways in processes that stay, and the picture of them.

The first seed is drawn as soon as it is run, then all seeds, then what another primary leg makes of
it. What a newer form has overtaken ends.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from io import BytesIO
from itertools import count, cycle
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from minitopo_dc import plots
from minitopo_dc.advice import dependence
from minitopo_dc.advice.candidates import Candidates, judged_of
from minitopo_dc.advice.sequence import SHOWN, Runs
from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.executors import Results, Scenarios, perform, pooled
from minitopo_dc.cli.explore.form import Form
from minitopo_dc.clocks import build_missing
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.files import forget_runs
from minitopo_dc.numbers import significant
from minitopo_dc.plots import theme
from minitopo_dc.pool import Killed, Pool
from minitopo_dc.results import client_rate, leg_series
from minitopo_dc.results.measures.account import reordering_wait_ms
from minitopo_dc.results.measures.named import run_measures, with_measures
from minitopo_dc.results.tables.runs import LEG_BYTES
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario
from minitopo_dc.scratch import scratch
from minitopo_dc.ways import LABEL, Comparison

MOST_S: Final = 120.0
"""A turn of runs that has not ended by then is given up."""
PATIENCE_S: Final = 1.0
"""How long a run that is overtaken may go on: it ends sooner than a new process begins."""
TURN_S: Final = 1.0
"""How long the work for a first picture goes on while other tabs wait."""
SAMPLED_MS: Final = 10
"""How close the samples of the elements are that the picture needs, if a scenario says nothing."""
DELAYS = {f"{part}_ms": part for part in ("queue", "propagation", "reordering")}
"""What the mean delay of a packet consists of, by its measures."""


@run_measures(*DELAYS)
def mean_delays_ms(run: Path) -> dict[str, float]:
    """Return how long a downlink packet waits on the mean, and where (`DELAYS`).

    Queue and propagation follow from the samples of the packets that were there, by Little's law;
    the queue has the time of the transmission. PDCP counts the wait for the order itself.

    Raises:
        ResultError: a file of the run is missing or broken.
    """
    packets, there = 0, np.zeros(2)
    for _, rows in leg_series(run).groupby("leg"):
        packets += rows["delivered_packets"].max()
        there += np.trapezoid(rows[["queue_packets", "air_packets"]], rows["time_s"], axis=0)
    queue, air = (1000 * there / max(1, packets)).tolist()
    wait = reordering_wait_ms(run)
    return dict(zip(DELAYS, (queue, air, 0.0 if math.isnan(wait) else wait), strict=True))


@cache
def _pool() -> Pool:
    """Return the processes of all pages of this process."""
    return Pool(perform, len(os.sched_getaffinity(0)))


class Turns:
    """The queue of all tabs: one works at a time, and that which has had least is the next.

    First pictures go before all else. A tab that asks again after a while has had no less than that
    which works now, so that none saves time up.

    Args:
        clock: tells the time in s.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.changed = Condition()
        self._clock, self._count = clock, count()
        self._waiting: list[tuple[bool, float, int]] = []
        self._worker: Tab | None = None
        self._begin_s = self._least_s = 0.0

    def take(self, tab: Tab, *, later: bool) -> None:
        """Wait until a tab may work; `later`: behind all first pictures.

        Raises:
            CancelledError: nobody wants its answer any more.
        """
        with self.changed:
            if not later:
                tab.had_s = max(tab.had_s, self._least_s)
            mine = later, tab.had_s, next(self._count)
            self._waiting.append(mine)
            try:
                self.changed.wait_for(
                    lambda: tab.is_old() or (self._worker is None and min(self._waiting) == mine)
                )
                if tab.is_old():
                    raise CancelledError
            finally:
                self._waiting.remove(mine)
                self.changed.notify_all()
            self._worker, self._begin_s = tab, self._clock()
            self._least_s = max(self._least_s, tab.had_s)

    def give(self, tab: Tab) -> None:
        """End the turn of a tab, if it has one."""
        with self.changed:
            if self._worker is tab:
                tab.had_s += self._clock() - self._begin_s
                self._worker = None
                self.changed.notify_all()

    def pass_on(self, tab: Tab, *, later: bool) -> None:
        """Let tabs go before that have had less; one with a first picture works `TURN_S` first.

        Raises:
            CancelledError: nobody wants its answer any more.
        """
        with self.changed:
            if tab.is_old():
                raise CancelledError
            if later or self._clock() - self._begin_s >= TURN_S:
                self.give(tab)
                self.take(tab, later=later)


_turns = Turns()


class Tab:
    """What a tab asks for: a thread answers its newest request, and those before it are dropped.

    Args:
        answer: gets a request and this.
        turns: the queue of all tabs.
    """

    def __init__(self, answer: Callable[[Any, Tab], None], turns: Turns = _turns) -> None:
        self.had_s = 0.0
        """For how long it has worked; of one that comes later, what others had had then."""
        self.old_s = math.inf
        """Since when (monotonic) nobody wants the answer that is under way; inf: it is wanted."""
        self.turns = turns
        self._answer = answer
        self._waiting: list[Any] = []
        self._thread: Thread | None = None
        self._is_closed = False

    def ask(self, request: Any) -> None:
        """Have a request answered, in place of the one before."""
        with self.turns.changed:
            self._waiting = [request]
            self.old_s = min(self.old_s, time.monotonic())
            if self._thread is None and not self._is_closed:
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()
            self.turns.changed.notify_all()

    def settle(self) -> None:
        """Wait until the newest request is answered."""
        if (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """End what is under way, and answer nothing more."""
        with self.turns.changed:
            self._is_closed, self._waiting = True, []
            self.old_s = min(self.old_s, time.monotonic())
            self.turns.changed.notify_all()

    def is_old(self) -> bool:
        """Return whether nobody wants the answer that is under way."""
        return self.old_s < math.inf

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Work on a first picture in a block, once it is the tab's turn.

        Raises:
            CancelledError: nobody wants the answer any more.
        """
        self.turns.take(self, later=False)
        try:
            yield
        finally:
            self.turns.give(self)

    def _work(self) -> None:
        while True:
            with self.turns.changed:
                if not self._waiting:
                    self._thread = None
                    return
                self.old_s, request = math.inf, self._waiting.pop()
            with suppress(CancelledError):
                self._answer(request, self)


def warm_up(form: Form) -> None:
    """Answer a form's first seed in a thread, so that all processes have begun for the tabs."""

    def answer(_: Any, tab: Tab) -> None:
        with suppress(MinitopoDcError), scratch() as place, tab.turn():
            picture_of(next(comparisons(form.ways(), form.seeds()[:1], place, tab)))

    Tab(answer).ask(form)


def comparisons(
    ways: Mapping[str, Scenario], seeds: Sequence[int], place: Path, tab: Tab
) -> Iterator[Comparison]:
    """Yield the comparison of ways with the first seed, with all, and with other primary legs.

    Their runs have the mean delays of a packet beside their measures: `queue_ms`, ... (`DELAYS`).

    Args:
        ways: scenarios by their names.
        seeds: those of each way.
        place: the directory of the runs.
        tab: whose turn it is; after the first comparison, others may have theirs.

    Raises:
        CancelledError: nobody wants the answer any more.
        InputError: a value is wrong.
        MinitopoDcError: a run took too long, or its process ended.
    """
    build_missing(ways.values())
    usual, finer = Scenario.model_fields["statistics_ms"].default, {"statistics_ms": SAMPLED_MS}
    ways = {
        name: way.model_copy(update=finer) if way.statistics_ms == usual else way
        for name, way in ways.items()
    }
    cases = [(scenario, {LABEL: name}) for name, scenario in ways.items()]
    how: Any = {"executor": partial(_in_turns, tab, later=False), "progress": False}
    for some in dict.fromkeys((tuple(seeds[:1]), tuple(seeds))):
        runs = Campaign(place, cases, some, title="Comparison").run(**how)
        if (runs["status"] == "missing").any():
            raise MinitopoDcError(f"given up: not done after {MOST_S:g} s; a smaller size may be")
        made = Comparison(with_measures(runs, *DELAYS), place)
        yield made
        tab.turns.pass_on(tab, later=True)
        how["executor"] = partial(_in_turns, tab)
    made = made.with_roles(ways, seeds, **how)
    if made.roles is not None:
        yield made


def depends_on(made: Comparison, ways: Mapping[str, Scenario], tab: Tab) -> str:
    """Return what the outcome of a comparison of ways depends on, as `advise` says it.

    Empty: no Dual Connectivity is set against multipath.

    Raises:
        CancelledError: nobody wants the answer any more.
        InputError: `advise` does not judge the workload.
        MinitopoDcError: a run took too long, or its process ended.
    """
    pair = next((finding.main.ways for finding in made.findings if finding.protocol), None)
    if pair is None:
        return ""
    with scratch() as place:
        runs = Runs(place, ways, judged_of(ways[pair[0]].workload), partial(_in_turns, tab))
        runs.make(pair, SHOWN)
        return dependence(Candidates("", ways, *pair), runs)


def _in_turns(
    tab: Tab, scenarios: Scenarios, retries: Retries, working: Path, *, later: bool = True
) -> Results:
    """Make runs, some at a time, after which other tabs have their turn."""
    names, number = [*scenarios], 2 * len(os.sched_getaffinity(0))
    for begin in range(0, len(names), number):
        lot = {name: scenarios[name] for name in names[begin : begin + number]}
        until = partial(lambda end: min(end, tab.old_s + PATIENCE_S), time.monotonic() + MOST_S)
        yield from pooled(_pool(), until, lot, retries, working)
        tab.turns.pass_on(tab, later=later)


SIZE_INCHES, DOTS_PER_INCH = (9.0, 8.0), 100
NO_LAYOUT: Any = "none"
BOTTOM, RIGHT, TOP, OF_LETTER = 0.375, 0.985, 0.965, 0.007
"""Fixed margins, and the width of a name's letter: to lay all out takes longer than all runs."""
PACKETS = (0.27, 0.06, 0.715, 0.215)
"""Where the packets went stands below all else: left, bottom, width and height, as shares."""
THICK, MOST_NAMED = 0.7, 6
"""The thickness of a bar, and of how many ways the curves are named: all colours are the bars'."""
LEAST_BIN_S, LEAST_BINS, BINS = 0.02, 10, 40
"""The bins of all rates over time, each at least two samples wide: so many for the fastest way, and
for the slowest one."""


@plots.style()
def draw(comparison: Comparison, figure: Figure | None = None) -> Any:
    """Draw what the ways did; of several seeds the bars are means, the curves those of the first.

    Returns:
        Two rows of two axes, of a new figure unless one is given; those of the packets are below.
    """
    figure = figure or Figure(layout=NO_LAYOUT)
    figure.set(size_inches=SIZE_INCHES, dpi=DOTS_PER_INCH)
    runs, ways = comparison.runs, plots.ordered(comparison.runs["way"])
    left = max(0.17, OF_LETTER * max(map(len, ways)))  # of all axes
    gaps = {"wspace": 2 * left / (RIGHT - 2 * left), "hspace": 0.5}
    figure.subplots_adjust(left=left, bottom=BOTTOM, right=RIGHT, top=TOP, **gaps)
    grid = theme.grid_of(figure, 2, 2)
    bars, rate, carried, delay = grid.flat
    plots.comparison(runs, ax=bars)
    bars.set_title("")
    first = runs[(runs["seed"] == runs["seed"].iloc[0]) & (runs["status"] == "ok")]
    shown = {row["way"]: row for row in first.to_dict("records")}
    _rates(rate, shown, comparison.directory)
    places = {way: comparison.directory / row["run"] for way, row in shown.items()}
    lost = plots.packets(places, ax=figure.add_axes(PACKETS))
    lost.set_title("where packets were lost")
    if (legend := lost.get_legend()) is not None:  # the colours are those above
        legend.remove()
    means = runs.groupby("way").mean(numeric_only=True).reindex(ways).fillna(0.0)
    legs = means.filter(regex=f"^{LEG_BYTES}") / 1e6
    names = [f"leg {number + 1}" for number in range(legs.shape[1])]
    _stacks(carried, legs.set_axis(names, axis="columns"), theme.LEGS)
    carried.set(title="carried by each leg", xlabel="MB of IP packets")
    parts = means.reindex(columns=[*DELAYS], fill_value=0.0).rename(columns=DELAYS)
    _stacks(delay, parts, [theme.DELAYS[str(part)] for part in parts])
    delay.set(title="delay of a packet", xlabel="ms, mean")
    return grid


def svg_of(comparison: Comparison) -> bytes:
    """Return what `draw` makes as SVG, whose letters the browser draws."""
    file = BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        canvas: Any = FigureCanvasSVG(draw(comparison)[0, 0].figure)
        canvas.print_svg(file)  # `savefig` would draw it twice
    forget_runs()  # nobody tells the process that draws when their files go
    return file.getvalue()


@cache
def _drawer() -> Pool:
    return Pool(svg_of, 1)


def picture_of(comparison: Comparison) -> bytes:
    """Return what `svg_of` does, from a process beside that which serves the pages, in a turn.

    Raises:
        MinitopoDcError: the process was killed.
    """
    [(_, picture)] = _drawer().results([(replace(comparison),)])
    if isinstance(picture, Killed):
        raise MinitopoDcError(f"no picture: its process ended with {picture.exit_code}")
    if isinstance(picture, Exception):
        raise picture
    return bytes(picture)


def _rates(axes: Axes, runs: Mapping[str, Mapping[Any, Any]], directory: Path) -> None:
    seconds = [row["completion_s"] for row in runs.values()] or [0.0]
    bin_s = max(LEAST_BIN_S, min(min(seconds) / LEAST_BINS, max(seconds) / BINS))
    for way, look in plots.looks(runs).items():
        (rate,) = plots.rates(client_rate(directory / runs[way]["run"], bin_s)).values()
        axes.plot(*rate, label=way, color=look.colour, linestyle=look.dash)
    axes.set(title="received over time", xlabel="time (s)", ylabel="Mbit/s")
    axes.set(xlim=(0, None), ylim=(0, None))
    if 0 < len(axes.lines) <= MOST_NAMED:
        axes.set_ylim(0, 1.5 * axes.get_ylim()[1])
        axes.legend(loc="upper left", ncols=2)


def _stacks(axes: Axes, parts: pd.DataFrame, colours: Sequence[str]) -> None:
    """Draw parts of a sum as bars behind each other: a row a way, a column a part."""
    ends, sums = parts.cumsum(axis="columns"), parts.sum(axis="columns")
    for name, colour in zip(parts, cycle(colours), strict=False):
        look: Any = {"left": ends[name] - parts[name], "color": colour, "label": name}
        last = axes.barh(range(len(parts)), parts[name], THICK, **look)
    if len(parts.columns):
        texts = [significant(total) if total else "none" for total in sums]
        axes.bar_label(last, texts, padding=4)
        axes.legend(loc="upper left", ncols=parts.shape[1], borderaxespad=0.1, columnspacing=1)
    axes.set(xlim=(0, 1.15 * sums.max() or 1.0), yticks=range(len(parts)), yticklabels=parts.index)
    axes.set_ylim(len(parts) - 0.4, -0.7 - 0.15 * len(parts))  # above them the parts' names
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
