"""The clients of the mesh campaign and of its scenario files are those that the fit makes."""

from __future__ import annotations

import pytest

from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Leg, Scenario
from tests import REPOSITORY
from tests.studies.digests import module, program

EXAMPLES = REPOSITORY / "examples" / "mesh"
fit, mesh = module("mesh", "fit"), module("mesh", "clients")
PAYLOAD, SIZE_BYTES = fit.PAYLOAD, fit.SIZE_BYTES


def test_the_campaigns_clients_are_the_fitted_ones() -> None:
    fitted = {client.name: Leg.check(client.leg(), client.name) for client in fit.clients()}
    assert fitted == mesh.CLIENTS
    assert {client.name: client.hops for client in fit.clients()} == mesh.HOPS


def test_the_leg_of_the_aggregation_with_tcp_is_that_of_rp6_without_jitter() -> None:
    cases = program("mesh").cases("sample")
    made = next(case for case, labels in cases if labels["experiment"] == "tcp-aggregation")
    still = {way: {"jitter_ms": 0} for way in ("downlink", "uplink")}
    assert made.legs[0] == mesh.CLIENTS["RP6"].evolve(**still, wifi={"aggregation": "none"})


def test_the_scenario_files_are_what_the_fit_writes() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yaml")}
    assert written == {client.name.lower(): client.scenario() for client in fit.clients()}


def test_a_scenario_file_is_a_case_of_the_campaign() -> None:
    cases = {
        labels["client"]: case
        for case, labels in program("mesh").cases("full")
        if labels["experiment"] == "clients" and labels["way"] == "modern" and case.seed == 1
    }
    for client in fit.clients():
        written = Scenario.load(EXAMPLES / f"{client.name.lower()}.yaml")
        assert written.on_clock("virtual") == cases[client.name]


def test_a_scenario_file_can_be_run_and_has_the_hops_of_its_client() -> None:
    for client in fit.clients():
        wanted = Scenario.load(EXAMPLES / f"{client.name.lower()}.yaml")
        check_scenario(wanted)
        wifi = wanted.legs[0].wifi
        assert client.hops == (0 if wifi is None else len(wifi.every_hop()))


def test_a_fitted_leg_gives_tcp_what_was_measured() -> None:
    found = fit.clients()
    assert [client.hops for client in found] == [0, 1, 2, 5, 3, 1, 5]
    for client in found:
        assert client.fitted_mbps == pytest.approx(client.tcp_mbps, rel=1e-3)
