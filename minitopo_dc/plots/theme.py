"""How all figures look: one order and one colour a way, one legend, and a journal's type.

A *way* is what a curve or a bar stands for. Its name tells its kind, and the kind its place, hue,
dash and markers, so that a figure can be read in grey, too: one leg is grey and dotted, DC blue or
green and solid, multipath vermillion or orange, dashed and hollow.
"""

from __future__ import annotations

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
    """A kind of ways: how their names tell it, and their looks one after the other."""

    words: str
    colours: tuple[str, ...]
    dash: Any
    markers: str
    variants: tuple[str, ...] = ()
    """Patterns of variants that have the first, second, ... colour in all figures."""


# Hues of Okabe and Ito (Color Universal Design); of `OTHER`, the muted ones of Tol.
LEG = Kind(r"\bleg|\bsc\b|single|alone", ("#6B6B6B", "#8F8F8F", "#444444"), (0, (1, 1.6)), "x+1",
           (r"leg\W?1", r"leg\W?2"))  # fmt: skip
DC = Kind(r"\bdc|dual", ("#0072B2", "#56B4E9", "#009E73", "#1D3F72"), "-", "oD^v",
          (r"1:1|papers|batch", "least", "proportional", "credit"))  # fmt: skip
MULTIPATH = Kind(r"\bmp|multipath", ("#D55E00", "#E69F00", "#CC79A7", "#8C3B12"), (0, (4, 1.6)),
                 "sDvo", (r"^mp-?quic$", r"\blia\b", r"\bolia\b", "mptcp"))  # fmt: skip
OTHER = Kind("", ("#882255", "#44AA99", "#332288", "#999933", "#AA4499", "#117733"),
             (0, (5, 1.5, 1, 1.5)), "^vP*dp")  # fmt: skip
ORDER: Final = (LEG, DC, MULTIPATH, OTHER)
"""From left to right, and from top to bottom."""


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
    return next(kind for kind in (MULTIPATH, DC, LEG, OTHER) if re.search(kind.words, way.lower()))


def ordered(ways: Iterable[Any]) -> list[str]:
    """Return the names of ways in the order of all figures; within a kind as they came."""
    return sorted(dict.fromkeys(map(str, ways)), key=lambda way: ORDER.index(kind_of(way)))


def looks(ways: Iterable[Any]) -> dict[str, Look]:
    """Return the look of each way, in the order of all figures.

    Known variants have the same colour in all figures. To give others one in several figures, make
    their looks once: `curves(..., looks=looks(all_names))`.
    """
    names, places = ordered(ways), dict[tuple[Kind, int], str]()
    for name in sorted(names, key=lambda name: _variant(name) is None):
        kind, place = kind_of(name), _variant(name)
        if place is None or (kind, place) in places:
            place = next(free for free in range(len(names)) if (kind, free) not in places)
        places[kind, place] = name
    chosen = {name: _look(*place) for place, name in places.items()}
    return {name: chosen[name] for name in names}


def _variant(way: str) -> int | None:
    patterns = enumerate(kind_of(way).variants)
    return next((place for place, words in patterns if re.search(words, way.lower())), None)


def _look(kind: Kind, place: int) -> Look:
    turn, colour = divmod(place, len(kind.colours))
    marker = kind.markers[(colour + turn) % len(kind.markers)]
    return Look(kind.colours[colour], kind.dash, marker, kind is MULTIPATH or turn % 2 == 1)


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
