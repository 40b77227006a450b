"""The project's own campaigns mean what the papers' tables say."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.campaign.file.design import Version
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from tests import REPOSITORY

CAMPAIGNS = REPOSITORY / "campaigns"
FILES = sorted(CAMPAIGNS.glob("*.yaml"))
PDU_BYTES, ETHERNET_BYTES = 1280 + 28 + 2, 14
"""Thesis, sections 4.1 and 4.2; netem's rate counts both, a leg's the PDU."""
TABLES = {
    "thesis-throughput.yaml": {
        "file-size": "thesis_table_5_2_file_size.csv",
        "batch-size": "thesis_table_5_3_batch_size.csv",
        "dc-ratio": "thesis_table_5_4_dc_ratio.csv",
        "bandwidth-ratio": "thesis_table_5_5_bandwidth_ratio.csv",
        "bandwidth-and-dc-ratio": "thesis_table_5_5_bandwidth_ratio.csv",
        "delay-ratio-low": "thesis_table_5_6_delay_ratio.csv",
        "delay-ratio-high": "thesis_table_5_6_delay_ratio.csv",
        "loss": "thesis_table_5_7_loss.csv",
        "loss-duplicate": "thesis_table_5_7_loss.csv",
    },
    "thesis-fairness.yaml": {
        "batch-size": "thesis_table_5_8_fairness_batch_size.csv",
        "dc-ratio": "thesis_table_5_9_fairness_dc_ratio.csv",
        "bandwidth-ratio": "thesis_table_5_10_fairness_bandwidth_ratio.csv",
        "bandwidth-and-dc-ratio": "thesis_table_5_10_fairness_bandwidth_ratio.csv",
        "delay-ratio-low": "thesis_table_5_11_fairness_delay_ratio.csv",
        "delay-ratio-high": "thesis_table_5_11_fairness_delay_ratio.csv",
        "loss": "thesis_table_5_12_fairness_loss.csv",
        "loss-duplicate": "thesis_table_5_12_fairness_loss.csv",
    },
}
CASES = [(name, experiment) for name, tables in TABLES.items() for experiment in tables]


def read(name: str, *, version: Version = "full") -> Plan:
    return read_plan(CAMPAIGNS / name, Overrides(version=version, repetitions=1))


@pytest.mark.parametrize(
    ("path", "version"),
    [
        (path, version)
        for path in FILES
        for version in get_args(Version)
        if read_file(path, Overrides()).has(version)
    ],
    ids=str,
)
def test_every_campaign_is_valid_on_the_virtual_clock(path: Path, version: Version) -> None:
    assert read(path.name, version=version).runs


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_has_the_default_cell_and_one_more_of_each_table(name: str) -> None:
    cells = read(name, version="sample").cells
    for experiment in TABLES[name]:
        assert len({str(cell.factors) for cell in cells if cell.experiment == experiment}) == 2


@pytest.mark.parametrize(
    "path", [path for path in FILES if "throughput" in path.name], ids=lambda path: path.stem
)
def test_throughput_is_valid_on_the_real_clock(path: Path) -> None:
    plan = read_plan(path, Overrides(clock="real", version="quick", repetitions=1))
    assert {run.scenario.transport for run in plan.runs} == {"quic-aioquic-2020", "tcp"}


@pytest.mark.parametrize(("name", "experiment"), CASES)
def test_an_experiment_has_a_cell_for_every_row_of_its_table(name: str, experiment: str) -> None:
    plan = read(name)
    described = plan.file.experiments[experiment]
    assert described.reference is not None
    assert described.figure is not None
    assert described.reference.table == TABLES[name][experiment]
    table = read_reference(described.reference.table, described.reference.where)
    theirs = [float(text) for text in table[described.reference.x]]
    for configuration in plan.file.configurations_of(described, "full"):
        ours = [
            cell.factors[described.figure.x]
            for cell in plan.cells
            if (cell.experiment, cell.configuration) == (experiment, configuration)
        ]
        assert ours == theirs


@pytest.mark.parametrize(("name", "experiment"), CASES)
def test_rates_delays_and_ratios_are_those_of_the_table(name: str, experiment: str) -> None:
    plan = read(name)
    scenarios = {run.id: run.scenario for run in plan.runs}
    reference = plan.file.experiments[experiment].reference
    assert reference is not None
    rows = read_reference(reference.table, reference.where).to_dict("records")
    cells = [cell for cell in plan.cells if cell.experiment == experiment]
    for row, cell in zip(rows, cells[: len(rows)], strict=True):
        scenario = scenarios[cell.runs[0]]
        for number, leg in enumerate(scenario.legs, start=1):
            rate = float(row.get(f"link{number}_mbps", 20))
            wire = rate * PDU_BYTES / (PDU_BYTES + ETHERNET_BYTES)
            assert leg.downlink.rate_mbps == pytest.approx(wire, abs=0.001)
            assert leg.downlink.delay_ms == float(row.get(f"link{number}_delay_ms", 10))
            assert leg.downlink.jitter_ms == pytest.approx(leg.downlink.delay_ms / 10, rel=0.01)
            assert leg.downlink.loss_percent == float(row.get("loss_percent", 0))
        ratio = scenario.pdcp.ratio or (50, 50)
        first = float(row.get("link1_percent", 50))
        assert 100 * ratio[0] / sum(ratio) == pytest.approx(first)
        assert scenario.pdcp.batch == int(row.get("batch_size_packets", 100))
        duplicated = row.get("case") == "duplicate"
        modes = {scenario.mode, *(flow.mode for flow in scenario.flows)}
        assert ("dc-duplicate" in modes) is duplicated


def test_the_trace_of_the_lte_campaign_is_a_parameter(tmp_path: Path) -> None:
    trace = tmp_path / "mine.csv"
    trace.write_text("0,4\n1,5\n")
    overrides = Overrides(version="quick", repetitions=1, parameters=(("trace", str(trace)),))
    plan = read_plan(CAMPAIGNS / "thesis-throughput-lte.yaml", overrides)
    assert {leg.downlink.trace for run in plan.runs for leg in run.scenario.legs} == {trace}


def test_only_where_a_broken_connection_is_an_answer_a_failed_run_is_endless() -> None:
    assert [path.stem for path in FILES if read_file(path, Overrides()).endless] == [
        "dc-or-multipath",
        "study",
    ]
