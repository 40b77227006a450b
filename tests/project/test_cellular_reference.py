"""The constants, the design and the examples of the cellular paper are those of its tables."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.link import curve_delay_ns
from minitopo_dc.link.models.propagation import CONSTANT_MS
from minitopo_dc.trace import RadioSettings, radio
from tests import REPOSITORY

FOLDER = REPOSITORY / "studies" / "cellular" / "reference"


def table(name: str, key: str, value: str) -> dict[str, str]:
    rows = pd.read_csv(FOLDER / f"mpquic_cellular_{name}.csv", dtype=str).to_dict("records")
    return {str(row[key]): str(row[value]) for row in rows}


CONSTANTS = table("table_1_constants", "symbol", "value")
FINDINGS = table("findings", "finding", "value")


@pytest.mark.parametrize(
    ("symbols", "ours"),
    [
        (["Q_L"], RadioSettings().load * 100),
        (["N_thermal", "NF_UE"], radio.NOISE_DBM),
        (["f"], radio.BANDWIDTH_MHZ),
        (["gamma"], radio.SINR_FACTOR),
        (["c_15"], radio.TOP_EFFICIENCY),
        (["C"], radio.DOWNSCALING),
    ],
    ids=str,
)
def test_the_radio_s_constants_are_those_of_table_1(symbols: list[str], ours: float) -> None:
    assert ours == pytest.approx(sum(float(CONSTANTS[symbol]) for symbol in symbols), abs=1e-12)


@pytest.mark.parametrize("point", ["delay_point_1", "delay_point_2"])
def test_the_delay_curves_go_through_the_points_of_figure_3(point: str) -> None:
    rate_bps = round(float(FINDINGS[f"{point}_argument"]) * 1e6)
    expected = float(FINDINGS[f"{point}_value"]) * 1e6
    assert [curve_delay_ns(kind, rate_bps) for kind in ("power", "exponential", "linear")] == [
        pytest.approx(expected, abs=1000)
    ] * 3


def test_the_constant_delay_is_half_of_the_round_trip_that_the_paper_cites() -> None:
    assert float(FINDINGS["related_lte_rtt_average"]) / 2 == CONSTANT_MS
