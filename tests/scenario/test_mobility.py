"""Mobility of Dual Connectivity: what becomes of its legs, and which events are refused."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc import Scenario, run
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario.resolve import resolve_scenario

LEGS: list[dict[str, Any]] = [{"rate_mbps": 20, "delay_ms": 10}, {"rate_mbps": 20, "delay_ms": 20}]


def scenario(*events: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic-picoquic", "mode": "dc", "legs": LEGS, "clock": "virtual"}
    return Scenario.check({**values, "mobility": events, **fields}, "test")


def leg_of(given: Scenario, number: int) -> tuple[list[Any], list[Any]]:
    """The outages of a leg, and its changes of loss, the same both ways."""
    leg = resolve_scenario(given).scenario.legs[number - 1]
    assert leg.uplink.outages == leg.downlink.outages
    assert leg.uplink.changes == leg.downlink.changes
    changes = [(change.at_s, change.loss_percent) for change in leg.downlink.changes]
    return list(leg.downlink.outages), changes


@pytest.mark.parametrize(
    ("event", "outage", "losses"),
    [
        ({"at_s": 2, "pscell_change": 2}, (2, 2.062), []),
        ({"at_s": 2, "pscell_change": 2, "interruption_ms": 30}, (2, 2.03), []),
        ({"at_s": 2, "scg_failure": 2}, (3, 3.1), [(2, 100), (3, 0)]),
        ({"at_s": 2, "mcg_failure": 1, "detection_ms": 200}, (2.2, 2.3), [(2, 100), (2.2, 0)]),
        ({"at_s": 2, "scg_addition": 2}, (0, 2.1), []),
    ],
)
def test_an_event_is_a_loss_of_all_until_it_is_detected_and_then_an_outage(
    event: dict[str, Any], outage: tuple[float, float], losses: list[Any]
) -> None:
    number = event.get("mcg_failure", 2)
    assert leg_of(scenario(event), number) == ([outage], losses)
    assert leg_of(scenario(event), 3 - number) == ([], [])


def test_changes_and_outages_of_the_leg_stay() -> None:
    changes = [{"at_s": 1, "loss_percent": 1}, {"at_s": 2.5, "loss_percent": 2, "delay_ms": 30}]
    legs = [LEGS[0], LEGS[1] | {"changes": changes, "outages": [[3.05, 4]]}]
    legs[1]["uplink"] = {"changes": changes}
    outages, losses = leg_of(scenario({"at_s": 2, "scg_failure": 2}, legs=legs), 2)
    assert losses == [(1, 1), (2, 100), (2.5, 100), (3, 2)]
    assert outages == [(3, 4)]


@pytest.mark.parametrize("mode", ["sc", "multipath"])
def test_other_modes_have_no_such_procedures(mode: str) -> None:
    transport = "quic-picoquic" if mode == "sc" else "mpquic-picoquic"
    given = scenario({"at_s": 2, "scg_failure": 2}, mode=mode, transport=transport)
    assert leg_of(given, 2) == ([], [])


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"at_s": 1}, "name exactly one of pscell_change, scg_failure, mcg_failure, scg_addition"),
        ({"at_s": 1, "pscell_change": 2, "scg_failure": 2}, "name exactly one of"),
        ({"at_s": 1, "pscell_change": 3}, "leg 3 does not exist; allowed: 2 to 2"),
        ({"at_s": 1, "scg_failure": 1}, "scg_failure: leg 1; allowed: all but 1, the MCG's"),
        ({"at_s": 1, "mcg_failure": 2}, "mcg_failure: leg 2; allowed: 1, the MCG's"),
        ({"at_s": 1, "scg_addition": 2, "detection_ms": 1}, "scg_addition is no failure"),
    ],
)
def test_a_wrong_event_is_refused(event: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        scenario(event)


def test_a_leg_that_loses_in_bursts_cannot_fail() -> None:
    legs = [LEGS[0], LEGS[1] | {"burst_loss": {"p": 0.01, "r": 0.3}}]
    with pytest.raises(SettingsError, match=r"legs\.1\.downlink\.burst_loss: allowed"):
        resolve_scenario(scenario({"at_s": 2, "scg_failure": 2}, legs=legs))


def test_a_leg_that_a_handover_takes_into_use_carries_nothing_at_first() -> None:
    outages = [[[0, 2]], [[2, 10]], []]
    legs = [LEGS[0] | {"rate_mbps": 10, "outages": times} for times in outages]
    rule = {"case": 2, "interruption_ms": 50}
    values = {"handover": rule, "legs": legs, "workload": {"duration_s": 4}, "timeout_s": 1}
    plan = resolve_scenario(scenario(**values)).scenario
    first = plan.legs[0].downlink.outages[0]
    without = resolve_scenario(scenario(**values | {"handover": {"case": 2}})).scenario
    assert first[1] == pytest.approx(without.legs[0].downlink.outages[0][1] + 0.05)


def test_both_cores_have_the_same_run(tmp_path: Any) -> None:
    events = [
        {"at_s": 0.2, "scg_addition": 2},
        {"at_s": 0.5, "scg_failure": 2, "detection_ms": 100},
    ]
    given = scenario(*events, workload={"size_mb": 3}).with_dc("deployable")
    runs = [
        run(given.evolve(virtual={"core": core}), tmp_path / core) for core in ("native", "python")
    ]
    assert runs[0].status == runs[1].status == "ok"
    legs = [(tmp_path / core / "gnb-legs.csv").read_bytes() for core in ("native", "python")]
    assert legs[0] == legs[1]
