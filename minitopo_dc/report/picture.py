"""Figures as SVG within a page, whose colours follow the reader's choice of light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO

from markupsafe import Markup
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from minitopo_dc.plots.theme import ORDER, style

_NOT_SHOWN = re.compile(
    r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL
)
_NAMED = re.compile(r'(\bid="|href="#|url\(#)')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_OF_WAYS = {colour.lower() for kind in ORDER for colour in kind.colours}
_SIZE = re.compile(r'width="([0-9.]+)pt" height="([0-9.]+)pt"')
SCALE = 2.1
"""Pixels of the page per point, by which the 7 points of a figure's text are as the page's 15."""
PAPER, INK = 0.12, 0.92
"""The lightness of white and of black on a dark page."""
LEAST_LIGHT = 0.55
"""The lightness that the colours of ways have at least on a dark page."""


def inline_svg(figure: Figure, number: int) -> Markup:
    """Return a figure as an element of a page; its texts are outlines, which cannot be markup.

    Args:
        figure: the figure, drawn without its background.
        number: of the figure, as names within all figures of a page have to differ.
    """
    file = StringIO()
    with style():
        box = "tight" if figure.get_layout_engine() is None else None
        figure.savefig(file, format="svg", transparent=True, bbox_inches=box)
    text = _NOT_SHOWN.sub("", file.getvalue())
    text = _SIZE.sub(lambda found: _on_screen(found[1], found[2]), text, count=1)
    text = _NAMED.sub(rf"\g<1>f{number}-", text)
    text = _COLOUR.sub(lambda found: _variable(found[0]), text)
    return Markup(text)


def _on_screen(width: str, height: str) -> str:
    return f'width="{SCALE * float(width):.0f}" height="{SCALE * float(height):.0f}"'


def _variable(colour: str) -> str:
    red, green, blue = to_rgb(colour)
    turned = red == green == blue or colour in _OF_WAYS
    return f"var(--c{colour[1:]},{colour})" if turned else colour


def dark_colours(pictures: Iterable[str]) -> dict[str, str]:
    """Return the name of each variable of these pictures, and its colour on a dark page."""
    names = {name for text in pictures for name in re.findall(r"var\(--(c[0-9a-f]{6})", text)}
    return {name: _dark(f"#{name[1:]}") for name in sorted(names)}


def _dark(colour: str) -> str:
    """Return a grey on the other side, and any other colour light enough."""
    rgb = to_rgb(colour)
    light = (max(rgb) + min(rgb)) / 2
    if max(rgb) == min(rgb):
        grey = INK + (PAPER - INK) * light
        return to_hex((grey, grey, grey))
    lift = max(0.0, (LEAST_LIGHT - light) / (1 - light))
    red, green, blue = (part + (1 - part) * lift for part in rgb)
    return to_hex((red, green, blue))
