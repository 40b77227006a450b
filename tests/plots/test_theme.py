"""One order and one colour a way in all figures."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from minitopo_dc import plots
from minitopo_dc.plots.theme import legend

NAMES = ["MP-QUIC", "DC least delay", "leg 1", "DC 1:1", "mpquic-lia", "dc-credit", "MPTCP", "mine"]


def test_ways_are_in_the_order_one_leg_dc_multipath_others() -> None:
    assert plots.ordered(["mine", "MP-QUIC", "DC b", "leg 2", "DC a", "MP-QUIC"]) == [
        *("leg 2", "DC b", "DC a", "MP-QUIC", "mine"),
    ]


@given(st.sets(st.sampled_from(NAMES), min_size=1))
def test_a_known_way_has_one_look_whatever_is_beside_it(names: set[str]) -> None:
    assert plots.looks(names) == {name: plots.looks(NAMES)[name] for name in plots.ordered(names)}


@given(st.lists(st.text(max_size=8), max_size=20, unique=True))
def test_no_two_ways_of_a_figure_look_alike(names: list[str]) -> None:
    looks = [(look.colour, look.marker, str(look.dash)) for look in plots.looks(names).values()]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("layout", ["constrained", "none"])
def test_a_figure_has_one_legend_of_all_its_axes_in_the_order_of_ways(layout: Any) -> None:
    figure = Figure(layout=layout)
    for axes, ways in zip(figure.subplots(1, 2), (["MP-QUIC", "DC"], ["leg 1", "DC"]), strict=True):
        for way in ways:
            axes.plot([1, 2], label=way)
        legend(axes)
    (names,) = [*figure.legends, *filter(None, [figure.axes[1].get_legend()])]
    assert [text.get_text() for text in names.get_texts()] == ["leg 1", "DC", "MP-QUIC"]


def test_a_notebook_stays_interactive_though_pyplot_was_first_imported_in_the_style(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(mpl.rcParams, "interactive", False)
    with plots.style():
        mpl.interactive(True)  # as the first import of pyplot does there
    assert mpl.is_interactive()
