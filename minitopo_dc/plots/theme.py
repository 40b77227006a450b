"""How all figures look: one order and one colour a way, one legend, and a journal's type.

A *way* is what a curve or a bar stands for. Its name tells its kind, and the kind its place, hue,
dash and markers, so that a figure can be read in grey, too: one leg is grey and dotted, DC blue or
green and solid, multipath vermillion or orange, dashed and hollow, ATSSS violet. All colours of
figures are in this module.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from minitopo_dc.files import replacing

COLUMN_INCHES, PAGE_INCHES = 3.5, 7.16
"""Width of a column and of a page (IEEE); Elsevier's and ACM's are within 0.2 in of them."""
STYLE: Final[Any] = mpl.rc_params_from_file(
    Path(__file__).with_name("house.mplstyle"), use_default_template=False
)


class Kind(NamedTuple):
    """A kind of ways: how their names tell it, and how they look."""

    words: str
    dash: Any
    markers: str
    ways: tuple[tuple[str, str], ...]
    """The patterns of known ways in their order, each with its colour in all figures."""
    others: tuple[str, ...]
    """The colours of other ways, one after the other."""

    @property
    def colours(self) -> tuple[str, ...]:
        """Return the colours of known ways and of others."""
        return (*(colour for _, colour in self.ways), *self.others)


# Hues of Okabe and Ito (Color Universal Design), and shades of them; of `OTHER`, muted ones of Tol.
LEG = Kind(r"\bleg|\bsc\d?\b|single|alone", (0, (1, 1.6)), "x+1",
           ((r"leg\W?1|sc1", "#6B6B6B"), (r"leg\W?2|sc2", "#8F8F8F")),
           ("#444444", "#7B6F65", "#5A6672"))  # fmt: skip
DC = Kind(
    r"\bdc|dual",
    "-",
    "oD^v",
    (
        ("1:1|papers|batch", "#56B4E9"),
        (r"deployable|\bxn\b|^dc$|^dual connectivity$", "#0072B2"),
        ("ideal", "#009E73"),
        ("least", "#1D3F72"),
        ("proportional", "#5C9E31"),
        ("credit", "#5B5FC7"),
        ("duplicat", "#00868B"),
    ),
    ("#3F7CAC", "#7AA6A1", "#2F6B4F"),
)
MULTIPATH = Kind(
    r"\bmp|multipath",
    (0, (4, 1.6)),
    "sDvo",
    (
        (r"^mp-?quic$|picoquic", "#D55E00"),
        ("noq", "#E69F00"),
        ("mptcp", "#CC79A7"),
        (r"\blia\b", "#8C3B12"),
        (r"\bolia\b", "#B5835A"),
    ),
    ("#E8825A", "#A8325E", "#C9A227"),
)
ATSSS = Kind("atsss", (0, (6, 1.4, 1, 1.4)), "<>hH", (("-ll", "#7B3294"), ("mp", "#A06CB8")),
             ("#5E4B8B",))  # fmt: skip
LEGS = ("#882255", "#44AA99", "#332288", "#999933")
"""The colours of legs and paths, dark and light in turns, to be told apart in grey."""
OTHER = Kind("", (0, (5, 1.5, 1, 1.5)), "^vP*dp", (), (*LEGS, "#AA4499", "#117733"))
ORDER: Final = (LEG, DC, MULTIPATH, ATSSS, OTHER)
"""From left to right, and from top to bottom."""
OTHER_STACK = r"\btcp\b|\bnoq\b"
"""Ways of one leg and DC whose name has this are not filled: their hue is that over QUIC."""
LOST, TIE, LINE, INK = "#B2182B", "#D9D9D9", "#333333", "#111111"
"""The colours of lost packets, of a tie, of lines at a value, and of what is of no way."""
DELAYS = {
    "split": "#262626",
    "queue": "#332288",
    "air": "#737373",
    "rlc": "#8C8C8C",
    "propagation": "#C8C8C8",
    "reordering": "#999933",
    "receive_buffer": "#EBEBEB",
}
"""The colours of the parts of packets' delays, to be told apart in grey."""
DIVERGING, RISING = "RdBu", "viridis"
"""Colours of maps: above a level that of DC, below it that of multipath; and from low to high."""


@dataclass(frozen=True)
class Look:
    """How a way is drawn; markers and bars of multipath, or of a used colour, are not filled."""

    colour: str
    dash: Any
    marker: str
    hollow: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Return the arguments of `Axes.plot`."""
        face = "white" if self.hollow else self.colour
        shape = {"marker": self.marker, "markerfacecolor": face}
        return {"color": self.colour, "linestyle": self.dash, **shape}


def kind_of(way: str) -> Kind:
    """Return the kind of a way by its name: `DC 1:1`, `mpquic-lia`, `leg 2 alone`."""
    kinds = (ATSSS, MULTIPATH, DC, LEG, OTHER)
    return next(kind for kind in kinds if re.search(kind.words, way.lower()))


def ordered(ways: Iterable[Any]) -> list[str]:
    """Return the names of ways in the order of all figures; others of a kind as they came."""

    def place(way: str) -> tuple[int, int]:
        kind, known = kind_of(way), _known(way)
        return ORDER.index(kind), len(kind.ways) if known is None else known

    return sorted(dict.fromkeys(map(str, ways)), key=place)


def looks(ways: Iterable[Any]) -> dict[str, Look]:
    """Return the look of each way, in the order of all figures.

    Known ways have the same look in all figures. To give others one in several figures, make their
    looks once: `curves(..., looks=looks(all_names))`.
    """
    places: dict[str, tuple[Kind, int, int]] = {}
    for name in ordered(ways):
        kind, known = kind_of(name), _known(name)
        turn = int(re.search(OTHER_STACK, name.lower()) is not None)
        own = [] if known is None else [(kind, known, turn)]
        spare = range(len(kind.ways), len(kind.colours))  # as often as is asked for
        others = ((kind, place, turn) for turn in itertools.count() for place in spare)
        free = itertools.chain(own, others)
        places[name] = next(place for place in free if place not in places.values())
    return {name: _look(*place) for name, place in places.items()}


def _known(way: str) -> int | None:
    patterns = enumerate(kind_of(way).ways)
    return next((place for place, (words, _) in patterns if re.search(words, way.lower())), None)


def _look(kind: Kind, place: int, turn: int) -> Look:
    marker = kind.markers[(place + turn) % len(kind.markers)]
    hollow = kind in (MULTIPATH, ATSSS) or turn % 2 == 1
    return Look(kind.colours[place], kind.dash, marker, hollow)


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the project: `with plots.style(): ...`, or as a decorator."""
    with ExitStack() as afterwards, mpl.rc_context(STYLE):
        try:
            yield
        finally:
            # A notebook becomes interactive when pyplot is first imported, maybe here, and stays
            # so: a return to what was before would hide all figures of later cells.
            afterwards.callback(mpl.interactive, mpl.is_interactive())


def grid_of(figure: Figure, rows: int = 1, columns: int = 1, **shared: Any) -> Any:
    """Return an array of axes of a figure, whose later ticks have the style of now, too."""
    grid = figure.subplots(rows, columns, squeeze=False, **shared)
    for axes in grid.flat:
        axes.tick_params(labelsize=STYLE["font.size"], width=STYLE["axes.linewidth"], length=2.5)
    return grid


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of pyplot (inches), which notebooks show."""
    from matplotlib import pyplot  # noqa: PLC0415 (it looks for a screen, which reports need not)

    return pyplot.figure(figsize=(width, height))


def axes_or_new(ax: Axes | None, height: float = 2.5) -> Axes:
    """Return the caller's axes, or those of a new figure of a column's width."""
    return ax or grid_of(new_figure(COLUMN_INCHES, height))[0, 0]


def legend(axes: Axes) -> None:
    """Name what all axes of a figure show in one legend above them, ways in their order.

    A figure that Matplotlib does not lay out has no room there: the legend is in these axes.
    """
    figure: Any = axes.get_figure(root=True)
    pairs = (zip(*part.get_legend_handles_labels(), strict=True) for part in figure.axes)
    handles = {name: handle for part in pairs for handle, name in part}
    names = ordered(handles)
    if not names:
        return
    shown = [handles[name] for name in names], names
    if not isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        axes.legend(*shown)
        return
    for earlier in [*figure.legends]:
        earlier.remove()
    # The mean letter is 0.62 of its font's size wide, and a handle as wide as six of them.
    letters = 72 * figure.get_figwidth() / (0.62 * mpl.rcParams["font.size"])
    columns = int(letters // (max(map(len, names)) + 6))
    figure.legend(*shown, loc="outside upper left", ncols=max(1, min(columns, len(names))))


def save(
    figure: Figure, directory: Path, name: str, formats: Sequence[str] = ("pdf",)
) -> list[Path]:
    """Write a figure as `NAME.pdf`, `.svg` or `.png`, without the time; return the paths.

    Raises:
        OSError: one cannot be written.
        ValueError: Matplotlib does not know the format.
    """
    times: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    box = "tight" if figure.get_layout_engine() is None else None
    paths = [directory / f"{name}.{kind}" for kind in formats]
    for path, kind in zip(paths, formats, strict=True):
        with replacing(path) as partial, style():
            figure.savefig(partial, format=kind, metadata=times.get(kind), bbox_inches=box)
    return paths
