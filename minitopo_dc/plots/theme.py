"""How all figures look: one order and one colour a way, and a journal's type.

A *way* is what a curve or a bar stands for. Its name tells its kind, and the kind its place, hue,
dash and markers, so that a figure can be read in grey, too: one leg is grey and dotted, DC blue or
green and solid, multipath vermillion or orange, dashed and hollow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minitopo_dc.files import replacing

COLUMN_INCHES, PAGE_INCHES = 3.5, 7.16
"""Width of a column and of a page (IEEE); Elsevier's and ACM's are within 0.2 in of them."""
PLAIN: Final[Any] = {"text.parse_math": False}
"""What also holds on axes of the caller's: unless it is off, a dollar sign begins a formula."""
STYLE: Final[Any] = PLAIN | {
    **{"font.family": "DejaVu Sans", "font.size": 7.0},  # it comes with Matplotlib
    **dict.fromkeys(("axes.labelsize", "axes.titlesize"), 7.5),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7.0),
    **{"axes.titlelocation": "left", "axes.titleweight": "bold", "legend.frameon": False},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#333333"},
    **{"axes.axisbelow": True, "axes.grid": True, "grid.color": "#E3E3E3"},
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("grid.linewidth", "hatch.linewidth"), 0.5),
    **{"lines.linewidth": 1.2, "lines.markersize": 3.8, "lines.markeredgewidth": 0.9},
    **{"figure.dpi": 200, "savefig.dpi": 300},  # a column is 700 dots on a screen
    **{"figure.constrained_layout.use": True, "svg.hashsalt": "minitopo-dc"},
    **{"pdf.fonttype": 42},  # TrueType, which submission systems ask for
}
Known = tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class Kind:
    """A kind of ways: how their names tell it, and their looks one after the other."""

    words: re.Pattern[str]
    colours: tuple[str, ...]
    dash: Any
    markers: str
    known: Known = ()
    """Variants that have the first, second, ... colour in all figures."""


def _known(*words: str) -> Known:
    return tuple(map(re.compile, words))


# Hues of Okabe and Ito (Color Universal Design); of `other`, the muted ones of Tol.
MULTIPATH = Kind(
    re.compile(r"\bmp|multipath"),
    ("#D55E00", "#E69F00", "#CC79A7", "#8C3B12"),
    (0, (4, 1.6)),
    "sDvo",
    _known(r"^mp-?quic$", r"\blia\b", r"\bolia\b", r"mptcp"),
)
DC = Kind(
    re.compile(r"\bdc|dual"),
    ("#0072B2", "#56B4E9", "#009E73", "#1D3F72"),
    "-",
    "oD^v",
    _known(r"1:1|papers|batch", "least", "proportional", "credit"),
)
LEG = Kind(
    re.compile(r"\bleg|\bsc\b|single|alone"),
    ("#6B6B6B", "#8F8F8F", "#444444"),
    (0, (1, 1.6)),
    "x+1",
    _known(r"leg\W?1", r"leg\W?2"),
)
OTHER = Kind(
    re.compile(""),
    ("#882255", "#44AA99", "#332288", "#999933", "#AA4499", "#117733"),
    (0, (5, 1.5, 1, 1.5)),
    "^vP*dp",
)
ORDER: Final = (LEG, DC, MULTIPATH, OTHER)
"""From left to right, and from top to bottom."""
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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
    return next(kind for kind in (MULTIPATH, DC, LEG, OTHER) if kind.words.search(way.lower()))


def ordered(ways: Iterable[Any]) -> list[str]:
    """Return the names of ways in the order of all figures; within a kind as they came."""
    return sorted(dict.fromkeys(map(str, ways)), key=lambda way: ORDER.index(kind_of(way)))


def looks(ways: Iterable[Any]) -> dict[str, Look]:
    """Return the look of each way, in the order of all figures.

    Known variants have the same colour in all figures. To give others one in several figures, make
    their looks once: `curves(..., looks=looks(all_names))`.
    """
    names, taken = ordered(ways), dict[str, tuple[Kind, int]]()
    for name in sorted(names, key=lambda name: _place(name) is None):
        kind, wanted = kind_of(name), _place(name)
        used = {place for of, place in taken.values() if of is kind}
        free = next(place for place in range(len(names) + 1) if place not in used)
        taken[name] = kind, free if wanted is None or wanted in used else wanted
    return {name: _look(*taken[name]) for name in names}


def _place(way: str) -> int | None:
    known = kind_of(way).known
    return next((place for place, words in enumerate(known) if words.search(way.lower())), None)


def _look(kind: Kind, place: int) -> Look:
    turn, colour = divmod(place, len(kind.colours))
    marker = kind.markers[(colour + turn) % len(kind.markers)]
    return Look(kind.colours[colour], kind.dash, marker, kind is MULTIPATH or turn % 2 == 1)


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the project: `with plots.style(): figure, axes = plt.subplots()`."""
    with _set_to(STYLE):
        yield


@contextmanager
def _set_to(parameters: Any) -> Iterator[None]:
    """Set parameters of Matplotlib for a while.

    A notebook becomes interactive when pyplot is first imported, maybe here, and stays so: a return
    to what was before would hide all figures of later cells.
    """
    with ExitStack() as afterwards, mpl.rc_context(parameters):
        try:
            yield
        finally:
            afterwards.callback(mpl.interactive, mpl.is_interactive())


def styled(draw: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function draw in the project's style; on axes of the caller's, in the caller's."""

    @wraps(draw)
    def wrapped(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with _set_to(STYLE if kwargs.get("ax") is None else PLAIN):
            return draw(*args, **kwargs)

    return wrapped


def new_axes(height: float = 2.3, width: float = COLUMN_INCHES, rows: int = 1, columns: int = 1,
             **kwargs: Any) -> Any:  # fmt: skip
    """Return the axes of a new figure of pyplot, which notebooks show (inches), as an array."""
    from matplotlib import pyplot  # noqa: PLC0415 (it looks for a screen, which reports need not)

    return keep_style(
        pyplot.subplots(rows, columns, figsize=(width, height), squeeze=False, **kwargs)[1]
    )


def keep_style(grid: Any) -> Any:
    """Return axes whose ticks have the style of now, though they are made when they are drawn."""
    for axes in grid.flat:
        axes.tick_params(labelsize=STYLE["font.size"], width=STYLE["axes.linewidth"], length=2.5)
    return grid


def axes_or_new(ax: Axes | None, height: float = 2.3) -> Axes:
    """Return the caller's axes, or those of a new figure of a column's width."""
    new: Axes = ax or new_axes(height)[0, 0]
    return new


def save(
    figure: Figure, directory: Path, name: str, formats: Sequence[str] = ("pdf",)
) -> list[Path]:
    """Write a figure as `NAME.pdf`, `.svg` or `.png`, without the time; return the paths.

    Raises:
        OSError: one cannot be written.
        ValueError: Matplotlib does not know the format.
    """
    times: Mapping[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    paths = [directory / f"{name}.{kind}" for kind in formats]
    for path, kind in zip(paths, formats, strict=True):
        with replacing(path) as partial, style():
            figure.savefig(partial, format=kind, metadata=times.get(kind))
    return paths
