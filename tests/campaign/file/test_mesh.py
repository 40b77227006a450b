"""The campaign of the mesh study: what is assumed of its devices, and what repeats which runs."""

from __future__ import annotations

import pytest

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.campaign.file.fields import find_campaign
from minitopo_dc.campaign.file.plan import Plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides

DATAGRAM_BYTES = 1350
ACKNOWLEDGED = 1.5
"""Packets read and sent for each one that is read: every second one is acknowledged."""


def plan(*experiments: str, repetitions: int = 1) -> Plan:
    overrides = Overrides(experiments=experiments, repetitions=repetitions)
    return read_plan(find_campaign("mesh"), overrides)


def test_a_raspberry_pi_is_no_slower_than_its_throughput_on_the_wire() -> None:
    [wire] = read_reference("wmn_table_2_throughput.csv", {"client": "RP1"})["quic_mbps"]
    packets = float(wire) * 1e6 / 8 / DATAGRAM_BYTES * ACKNOWLEDGED
    known = {run.scenario.virtual.client_cpu_us_per_packet for run in plan("states").runs}
    assert int(1e6 / packets) in known


def test_the_devices_of_the_states_differ_in_their_cpu_alone() -> None:
    left_out = {"virtual": {"client_cpu_us_per_packet"}}
    found = [run.scenario.model_dump_json(exclude=left_out) for run in plan("states").runs]
    assert len(found) == 3 * len(set(found)) == 6


def test_loss_is_told_of_the_runs_that_throughput_is_told_of() -> None:
    loss, throughput = ({run.id for run in plan(name).runs} for name in ("loss", "tcp"))
    assert loss < throughput


def test_the_longest_queues_are_those_of_the_fitted_legs() -> None:
    fitted, swept = ({run.id for run in plan(name).runs} for name in ("loss", "loss-queues"))
    assert fitted < swept


@pytest.mark.parametrize("name", ["figure-9", "figure-10"])
def test_single_connections_are_one_of_each_transport_with_the_same_seed(name: str) -> None:
    scenarios = [run.scenario for run in plan(name).runs]
    assert sorted(each.transport for each in scenarios) == ["quic", "tcp"]
    assert len({(each.seed, each.legs) for each in scenarios}) == 1
