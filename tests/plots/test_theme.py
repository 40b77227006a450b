"""One order and one colour a way in all figures, and names with their units."""

from __future__ import annotations

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc import plots
from minitopo_dc.plots.axes import wants_log
from minitopo_dc.plots.labels import setting_of, value_name
from minitopo_dc.plots.theme import kind_of

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
    of_a_kind = [name for name in names if kind_of(name).markers]
    looks = [(look.colour, look.marker, str(look.dash)) for look in plots.looks(of_a_kind).values()]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("goodput_mbps", "goodput (Mbit/s)"),
        ("delay_p95_ms", "delay, 95th percentile (ms)"),
        ("rtt_median_ms", "round-trip time, median (ms)"),
        ("loss_percent", "loss (%)"),
        ("capacity_share", "capacity share"),
        ("pdcp.batch", "PDCP batch"),
        ("s", "s"),
    ],
)
def test_a_label_has_words_and_a_unit(name: str, label: str) -> None:
    assert plots.label_of(name) == label


def test_a_setting_is_a_factor_with_its_value_and_unit() -> None:
    assert setting_of("loss_percent", 0.1) == "loss 0.1 %"
    assert setting_of("control", "cubic") == "cubic"
    assert value_name((1.0, 2)) == "1:2"


@pytest.mark.parametrize(
    ("values", "log"),
    [([1, 10, 100], True), ([0, 10, 100], False), ([5, 20, 60, 120], False), ([1, 1000], False)],
)
def test_an_axis_is_logarithmic_where_that_parts_its_values(values: list[float], log: bool) -> None:
    assert wants_log(values) is log


@pytest.mark.parametrize(
    ("columns", "main"),
    [
        ({"goodput_mbps": 5.0, "completion_s": 1.0}, "goodput_mbps"),
        ({"goodput_mbps": None, "delay_p95_ms": 30.0, "answered": 5}, "delay_p95_ms"),
        ({"goodput_mbps": None, "frame_delay_p95_ms": 80.0}, "frame_delay_p95_ms"),
        ({"bitrate_mbps": 4.0, "linear_qoe_mbps": 3.5}, "linear_qoe_mbps"),
        ({"seed": 1, "words": 7}, "words"),
        ({"completion_s": 1.0, "leg_bytes_1": 9, "handshake_s": 0.1, "page_ms": 7}, "page_ms"),
        (
            {"completion_s": 1.0, "flow_1_goodput_mbps": 5, "flow_2_delay_p95_ms": 9},
            "flow_2_delay_p95_ms",
        ),
        ({"flow_1_goodput_mbps": 5.0, "flow_2_goodput_mbps": 4, "jain_index": 0.9}, "jain_index"),
        ({"seed": 1}, "goodput_mbps"),
    ],
)
def test_the_main_measure_is_that_of_the_workload(columns: dict[str, float], main: str) -> None:
    assert plots.main_measure(pd.DataFrame([columns])) == main


def test_a_notebook_stays_interactive_though_pyplot_was_first_imported_in_the_style(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(mpl.rcParams, "interactive", False)
    with plots.style():
        mpl.interactive(True)  # as the first import of pyplot does there
    assert mpl.is_interactive()
