"""The constants, the design and the examples of the cellular paper are those of its tables."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.link import curve_delay_ns
from minitopo_dc.link.models.delay_curve import CONSTANT_MS
from minitopo_dc.minitopo.render import templates
from minitopo_dc.shipped import shipped
from minitopo_dc.trace import RadioSettings
from minitopo_dc.trace.drives import radio
from minitopo_dc.trace.drives.environment import OPERATORS


def table(name: str, key: str, value: str) -> dict[str, str]:
    rows = read_reference(f"mpquic_cellular_{name}.csv", {}).to_dict("records")
    return {str(row[key]): str(row[value]) for row in rows}


CONSTANTS = table("table_1_constants", "symbol", "value")
DESIGN = table("design", "factor", "levels")
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


def test_every_constant_of_table_1_is_compared() -> None:
    assert set(CONSTANTS) == {"Q_L", "N_thermal", "NF_UE", "f", "gamma", "c_15", "C"}


@pytest.mark.parametrize("point", ["delay_point_1", "delay_point_2"])
def test_the_delay_curves_go_through_the_points_of_figure_3(point: str) -> None:
    rate_bps = round(float(FINDINGS[f"{point}_argument"]) * 1e6)
    expected = float(FINDINGS[f"{point}_value"]) * 1e6
    assert [curve_delay_ns(kind, rate_bps) for kind in ("power", "exponential", "linear")] == [
        pytest.approx(expected, abs=1000)
    ] * 3


def test_the_constant_delay_is_half_of_the_round_trip_that_the_paper_cites() -> None:
    assert float(FINDINGS["related_lte_rtt_average"]) / 2 == CONSTANT_MS


def test_figure_6_has_the_published_capacities() -> None:
    (template,) = (each for each in templates() if each.name == "reachable.topo")
    defaults = {each.name: each.default for each in template.parameters}
    assert defaults["rate"].split(",") == [FINDINGS[f"figure_6_link_{n}_capacity"] for n in (1, 2)]


def test_a_synthetic_drive_has_as_many_operators() -> None:
    assert len(OPERATORS) == int(FINDINGS["operators"])


def test_the_campaign_has_the_paper_s_design() -> None:
    file: dict[str, Any] = yaml.safe_load((shipped("campaigns") / "cellular.yaml").read_text())
    environments, controls = (
        DESIGN[name].split("|") for name in ("environment", "congestion_control")
    )
    assert file["base"]["workload.size_mb"] == int(DESIGN["file_size"])
    for environment in environments:
        grid = file["experiments"][environment]["grid"]
        assert list(map(str, grid["handover.case"])) == DESIGN["case"].split("|")
        assert len(grid["trace_offset_s"]) == int(DESIGN["starting_points"])
    assert len(file["standard_configurations"]) == len(controls) + 1  # and MPTCP
    rows = len(environments) * len(DESIGN["case"].split("|"))
    assert (rows * len(controls), rows) == (int(DESIGN["picoquic_rows"]), int(DESIGN["mptcp_rows"]))
