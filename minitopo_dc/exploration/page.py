"""The page: sliders and boxes, the picture that they change, and the words to take away."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from traitlets import TraitError

from minitopo_dc import linux_guest, plots
from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.exploration.choice import (
    DELAYS,
    QUIC,
    SAMPLE_MS,
    TRACES,
    Choice,
    LegChoice,
    Newest,
    compared,
)
from minitopo_dc.fields import SettingsError
from minitopo_dc.numbers import significant
from minitopo_dc.pdcp.policies.policy import policy_names
from minitopo_dc.plots.theme import LEGS, grid_of
from minitopo_dc.results import client_rate
from minitopo_dc.results.tables.runs import LEG_BYTES
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runners.quic import stacks_of
from minitopo_dc.runs.needs import cautions, primary_leg
from minitopo_dc.scenario import Leg
from minitopo_dc.scenario.presets import NAMES
from minitopo_dc.ways import Comparison

SIZE_INCHES, DOTS_PER_INCH = (9.0, 5.6), 100
NO_LAYOUT: Any = "none"
MARGINS = {"left": 0.09, "right": 0.985, "top": 0.94, "bottom": 0.1, "wspace": 0.3, "hspace": 0.5}
"""Fixed ones: to compute them takes longer than all of the runs."""
DELAY_COLOURS = ("#332288", "#C8C8C8", "#999933")
"""Of the parts of a delay, to be told apart in grey; none is a way's, or one of two legs'."""
THICK = 0.7
BINS = 40
"""The bins of a run's rate over time, each at least two samples wide."""


@plots.style()
def draw(comparison: Comparison, figure: Figure | None = None) -> Any:
    """Draw what the ways did; of several seeds the bars are means, the curves those of the first.

    Returns:
        Two rows of two axes, of a new figure unless one is given.
    """
    figure = figure or Figure(layout=NO_LAYOUT)
    figure.set(size_inches=SIZE_INCHES, dpi=DOTS_PER_INCH)
    figure.subplots_adjust(**MARGINS)
    grid, runs = grid_of(figure, 2, 2), comparison.runs
    bars, rate, carried, delay = grid.flat
    plots.comparison(runs, ax=bars)
    bars.set(title="goodput", xlabel="Mbit/s; grey line: no way can be faster")
    first = runs[(runs["seed"] == runs["seed"].iloc[0]) & (runs["status"] == "ok")]
    _rates(rate, {row["way"]: row for row in first.to_dict("records")}, comparison.directory)
    ways = plots.ordered(runs["way"])
    means = runs.groupby("way").mean(numeric_only=True).reindex(ways).fillna(0.0)
    legs = [name for name in map(str, means) if name.startswith(LEG_BYTES)]
    names = (f"leg {number}" for number in range(1, len(legs) + 1))
    mega = [(means[leg] / 1e6).tolist() for leg in legs]
    _stacks(carried, dict(zip(names, mega, strict=True)), LEGS)
    carried.set(title="carried by each leg", xlabel="MB of IP packets")
    parts = {part: means.get(f"{part}_ms", means.iloc[:, 0] * 0).tolist() for part in DELAYS}
    _stacks(delay, parts, DELAY_COLOURS)
    delay.set(title="delay of a packet", xlabel="ms, mean")
    for axes in (carried, delay):
        axes.set_yticks(range(len(ways)), ways)
        axes.set_ylim(len(ways) - 0.4, -0.7 - 0.15 * len(ways))  # above them the parts' names
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
    return grid


def png_of(grid: Any) -> bytes:
    """Return the figure of such axes as a PNG at the size of a screen."""
    file = BytesIO()
    canvas: Any = FigureCanvasAgg(grid[0, 0].figure)
    canvas.print_png(file)  # `savefig` would draw it twice
    return file.getvalue()


def _rates(axes: Axes, runs: Mapping[str, Mapping[Any, Any]], directory: Path) -> None:
    for way, look in plots.looks(runs).items():
        bin_s = max(2 * SAMPLE_MS / 1000, runs[way]["completion_s"] / BINS)
        rate = client_rate(directory / runs[way]["run"], bin_s)
        line: dict[str, Any] = {"color": look.colour, "linestyle": look.dash}
        axes.plot(rate["time_s"], rate["rate_mbps"], label=way, **line)
    axes.set(title="received over time", xlabel="time (s)", ylabel="Mbit/s")
    axes.set(xlim=(0, None), ylim=(0, None))
    if axes.lines:
        axes.legend(loc="best", ncols=2)


def _stacks(axes: Axes, parts: Mapping[str, Sequence[float]], colours: Sequence[str]) -> None:
    sums = np.zeros(len(next(iter(parts.values()), ())))
    for (name, values), colour in zip(parts.items(), colours, strict=False):
        axes.barh(range(len(sums)), values, THICK, left=sums, color=colour, label=name)
        sums = sums + np.asarray(values)
    for place, total in enumerate(sums):
        beyond: Any = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(significant(float(total)) if total else "none", (total, place), **beyond)
    axes.set_xlim(0, 1.15 * max(sums, default=1.0) or 1.0)
    if axes.containers:
        axes.legend(loc="upper left", ncols=len(parts), borderaxespad=0.1)


T_REORDERING = ("0", "20", "40", "60", "100", "200", "500", "1000", "adaptive", "infinity")
"""What the box of t-Reordering offers; any other value of TS 38.331 may be typed."""
CONSTANT = "constant rate"
LABELS = {"style": {"description_width": "120px"}, "layout": {"width": "340px"}}
STEPS = {
    "rate_mbps": (0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500),
    "delay_ms": (0, 1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300),
    "jitter_ms": (0, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50),
    "loss_percent": (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 5, 10),
    "queue_packets": (5, 10, 20, 50, 75, 100, 150, 200, 300, 500, 1000, 2000),
    "size_mb": (0.1, 0.2, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 50),
    "xn_ms": (0, 1, 2, 5, 10, 15, 20, 30, 50),
    "seeds": (1, 2, 3, 4, 5),
}
"""Where the sliders may stand, beside the value that they begin with."""
OF_LEG = ("delay_ms", "jitter_ms", "loss_percent", "queue_packets")
WORDS = "white-space: pre-wrap; font-size: 12px; line-height: 1.35; margin: 0"
Row = Mapping[str, widgets.ValueWidget]
"""Widgets by the names of the fields of a choice."""


def page_of(legs: Sequence[Leg] | None, choice: Mapping[str, Any]) -> Explorer:
    """Return a page that begins with these legs and choices (`explore`).

    Raises:
        InputError: a leg has more than the sliders have, or a box has no such value.
    """
    begin = replace(Choice(), **choice)
    if legs is not None:
        chosen = [LegChoice.of(leg, f"legs.{place}") for place, leg in enumerate(legs)]
        begin = replace(begin, legs=tuple(chosen))
    try:
        return Explorer(begin)
    except TraitError as error:
        raise SettingsError(f"explore: {error}") from None


class Explorer:
    """A page in a notebook; `choice` is what stands on it, `ways()` the scenarios that it is."""

    def __init__(self, choice: Choice) -> None:
        self._legs = [_leg_row(leg) for leg in choice.legs]
        self._rest = _rest_row(choice)
        self.picture = widgets.Image(format="png", layout={"max_width": "900px"})
        self.time, self.error, self.notes = (widgets.HTML() for _ in range(3))
        self.error.add_class("minitopo-dc-error")
        self.words = {name: widgets.HTML() for name in ("YAML", "Python", "command line")}
        self.comparison: Comparison | None = None
        self._newest = Newest(self._answer)
        for row in (*self._legs, self._rest):
            for widget in row.values():
                widget.observe(self._change, "value")
        self._change(None)

    @property
    def choice(self) -> Choice:
        """Return what stands on the page."""
        return Choice(tuple(LegChoice(**_values(row)) for row in self._legs), **_values(self._rest))

    def ways(self) -> dict[str, Any]:
        """Return the scenarios of the page by their names, for `dc.compare` and `dc.run`.

        Raises:
            InputError: a value on the page is wrong.
        """
        return self.choice.ways()

    def plot(self) -> Any:
        """Draw what the page shows now; return Matplotlib's axes, to be changed as usual."""
        from matplotlib import pyplot  # noqa: PLC0415 (it looks for a screen)

        self.settle()
        if self.comparison is None:
            raise SettingsError("the page has no picture yet")
        return draw(self.comparison, pyplot.figure(layout=NO_LAYOUT))

    def __repr__(self) -> str:
        """Return what stands on the page, as a terminal and a code host show it."""
        return f"Explorer: {self.choice.command()}"

    def settle(self) -> None:
        """Wait until the picture is that of the newest change."""
        self._newest.settle()

    def widget(self) -> widgets.Widget:
        """Return the page as one widget."""
        columns = [
            widgets.VBox([widgets.HTML(f"<b>leg {number}</b>"), *row.values()])
            for number, row in enumerate(self._legs, 1)
        ]
        columns.append(widgets.VBox([widgets.HTML("<b>transfer</b>"), *self._rest.values()]))
        sliders = widgets.HBox(columns, layout={"flex_flow": "row wrap"})
        tabs = widgets.Tab([*self.words.values()], titles=[*self.words])
        above = widgets.HBox([self.error, self.time], layout={"justify_content": "space-between"})
        return widgets.VBox([sliders, above, self.picture, self.notes, tabs])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the page as a notebook shows it; elsewhere there are words."""
        bundle: dict[str, Any] = self.widget()._repr_mimebundle_()
        return bundle | {"text/plain": repr(self)}

    def _change(self, _: Any) -> None:
        self._newest.ask((self.choice, time.monotonic()))

    def _answer(self, request: tuple[Choice, float], is_old: Callable[[], bool]) -> None:
        """Run a choice and show it, unless a newer one has come meanwhile."""
        choice, since = request
        try:
            comparison = compared(choice, is_old)
            if comparison is None:
                return
            self.comparison, self.picture.value = comparison, png_of(draw(comparison))
            self.notes.value = "<br>".join(map(html.escape, _notes(choice, comparison)))
            texts = choice.yaml(), choice.python(), choice.command()
            for name, text in zip(self.words, texts, strict=True):
                self.words[name].value = f'<pre style="{WORDS}">{html.escape(text)}</pre>'
            self.error.value = ""
            self.time.value = f"{time.monotonic() - since:.2f} s from the change to the picture"
        except MinitopoDcError as error:
            self.error.value = f'<b style="color: #B2182B">{html.escape(str(error))}</b>'
        except Exception as error:  # a thread's would be seen nowhere
            words = html.escape(f"unexpected {type(error).__name__}: {error}; please report it")
            self.error.value = f'<b style="color: #B2182B">{words}</b>'


def _notes(choice: Choice, comparison: Comparison) -> list[str]:
    ways = choice.ways().values()
    lines = [primary_leg(next(iter(ways))), *comparison.sentences]
    lines += [words for way in ways for words in cautions(way)]
    return [*dict.fromkeys([*lines, *comparison.not_ok()])]


def _values(row: Row) -> dict[str, Any]:
    return {name: widget.value for name, widget in row.items()}


def _leg_row(leg: LegChoice) -> Row:
    row = {name: _slider(name, getattr(leg, name)) for name in ("rate_mbps", *OF_LEG)}
    trace = widgets.Dropdown(
        options=[(CONSTANT, ""), *((name, name) for name in TRACES)],
        value=leg.trace,
        description="capacity",
        **LABELS,
    )
    trace.observe(lambda _: row["rate_mbps"].set_trait("disabled", bool(trace.value)), "value")
    row["rate_mbps"].disabled = bool(leg.trace)
    return {"trace": trace} | row


def _slider(name: str, value: float, label: str = "") -> widgets.ValueWidget:
    steps = sorted({*STEPS[name], value})
    options = [(f"{step:.12g}", step) for step in steps]
    words = {"description": label or plots.label_of(name)}
    return widgets.SelectionSlider(options=options, value=value, **words, **LABELS)


def _rest_row(choice: Choice) -> Row:
    controls = get_runner(QUIC[0]).congestion_controls
    splits = [name for name in policy_names() if name != "duplicate"]
    chosen = widgets.Dropdown(
        options=[*NAMES, *splits], value=choice.dc, description="DC, or its split", **LABELS
    )
    xn = _slider("xn_ms", choice.xn_ms, "Xn (ms)")
    xn.disabled = choice.dc != "deployable"
    chosen.observe(lambda _: xn.set_trait("disabled", chosen.value != "deployable"), "value")
    no_kernel = linux_guest.obstacle()
    return {
        "size_mb": _slider("size_mb", choice.size_mb),
        "congestion_control": widgets.Dropdown(
            options=controls, value=choice.congestion_control, description="congestion", **LABELS
        ),
        "dc": chosen,
        "xn_ms": xn,
        "t_reordering_ms": widgets.Combobox(
            value=choice.t_reordering_ms,
            options=T_REORDERING,
            placeholder="as the DC has it",
            description="t-Reordering (ms)",
            continuous_update=False,
            **LABELS,
        ),
        "others": widgets.Text(
            choice.others,
            placeholder="FIELD=VALUE ...",
            description="other fields",
            continuous_update=False,
            **LABELS,
        ),
        "seed": widgets.BoundedIntText(choice.seed, 0, 10**6, description="seed", **LABELS),
        "seeds": _slider("seeds", choice.seeds),
        "stacks": widgets.Checkbox(
            choice.stacks,
            disabled=len(stacks_of()) < 2,
            tooltip=f"MP-QUIC of {', '.join(stacks_of())}",
            description="all stacks of MP-QUIC",
            indent=False,
        ),
        "kernel": widgets.Checkbox(
            choice.kernel,
            disabled=no_kernel is not None,
            tooltip=no_kernel or "",
            description="TCP and MPTCP",
            indent=False,
        ),
    }
