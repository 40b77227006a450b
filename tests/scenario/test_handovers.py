"""Handovers, by a rule and along a drive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import run
from minitopo_dc.fields import PathAction, PathEvent, PathPlan, SettingsError
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario, resolve_scenario

UPLINK = {"rate_mbps": 20}


def drive(directory: Path, *channels: list[float]) -> list[dict[str, Any]]:
    """Legs of which each follows the Mbit/s of a channel, second by second."""
    legs = []
    for number, rates in enumerate(channels, start=1):
        path = directory / f"channel_{number}.csv"
        rows = [f"{second},{rate}" for second, rate in enumerate(rates)]
        path.write_text("\n".join([*rows, f"{len(rates)},"]) + "\n")
        legs.append({"downlink": {"trace": str(path), "end": "hold"}, "uplink": UPLINK})
    return legs


def scenario(legs: list[dict[str, Any]], **fields: Any) -> Scenario:
    values: dict[str, Any] = {
        "transport": "mptcp",
        "mode": "multipath",
        "legs": legs,
        "timeout_s": 9,
        "clock": "real",
    }
    return Scenario.check(values | fields, "test")


def test_a_scenario_without_a_rule_is_run_as_it_is(tmp_path: Path) -> None:
    given = scenario(drive(tmp_path, [5], [5]))
    assert resolve_scenario(given) is given
    assert {"handover", "trace_offset_s"}.isdisjoint(given.model_dump())


SLOW = [5.0] * 5, [1.0, 9.0, 9.0, 9.0, 9.0]
CROSSING = [1.0, 1.0, 1.0, 9.0, 9.0, 9.0], [5.0] * 6


def plan(initial: int, *events: tuple[float, PathAction, int]) -> PathPlan:
    return PathPlan((initial,), tuple(PathEvent(*it) for it in events), each_carries=False)


@pytest.mark.parametrize(
    ("channels", "rule", "fields", "paths"),
    [
        (SLOW, {}, {}, plan(1, (2, "open", 2), (2.02, "abandon", 1))),
        (SLOW, {}, {"trace_offset_s": 1}, plan(2)),  # it sees what is behind the offset
        (SLOW, {"former": "backup"}, {}, plan(1, (2, "open", 2), (2.02, "backup", 1))),
        (CROSSING, {"by": "legs"}, {}, PathPlan((2, 1), each_carries=False)),
        (CROSSING, {"unused_legs": "down"}, {}, plan(2, (4, "open", 1), (4.02, "abandon", 2))),
    ],
)
def test_paths_follow_the_rule_and_legs_that_are_not_used_are_down_if_said(
    channels: tuple[list[float], ...],
    rule: dict[str, Any],
    fields: dict[str, Any],
    paths: PathPlan,
    tmp_path: Path,
) -> None:
    flows = {"mode": "flows", "flows": [{"mode": "multipath"}] * 2}
    for more in ({}, flows):
        given = scenario(
            drive(tmp_path, *channels), **{"handover": {"case": 1, **rule}, **fields, **more}
        )
        derived = resolve_scenario(given)
        assert {flow.paths for flow in derived.resolved_flows} == {paths}
        if channels is CROSSING:
            assert derived.legs[0].down_periods() == ((0, 4), (0, 4))
            assert derived.legs[1].down_periods() == ((4.02, 10), (4.02, 10))
        derived.save(tmp_path / "s.yaml")
        assert Scenario.load(tmp_path / "s.yaml") == derived


def test_one_offset_is_that_of_all_traces_beside_their_own(tmp_path: Path) -> None:
    legs = drive(tmp_path, [5, 5], [5, 5])
    legs[1]["downlink"]["offset_s"] = 0.25
    derived = resolve_scenario(scenario(legs, trace_offset_s=1))
    assert [leg.downlink.offset_s for leg in derived.legs] == [1, 1.25]
    assert [leg.uplink.offset_s for leg in derived.legs] == [0, 0]
    assert derived.trace_offset_s == 0


def test_dual_connectivity_has_its_legs_go_down_and_up(tmp_path: Path) -> None:
    legs = drive(tmp_path, [1, 1, 1, 9, 9, 9], [5] * 6, [7] * 6)
    derived = resolve_scenario(scenario(legs, transport="quic", mode="dc", handover={"case": 2}))
    radios = [each.radio for each in router_settings(derived, tmp_path)[0].legs]
    assert [radio.outages for radio in radios] == [((0, 4),), ((4.02, 10),), ()]


def test_case_sp_is_one_leg_with_the_best_capacity_of_each_second(tmp_path: Path) -> None:
    legs = drive(tmp_path, [0, 4, 4, 4], [0, 2, 6, 0])
    derived = resolve_scenario(scenario(legs, handover={"case": "sp"}))
    (leg,) = derived.legs
    capacity = leg.downlink.capacity()
    second = 10**9
    found = [capacity.bits_between(s * second, (s + 1) * second) for s in range(5)]
    assert found == [0, 4e6, 6e6, 4e6, 4e6]
    assert leg.uplink.rate_mbps == 20
    legs[1]["uplink"] = {"rate_mbps": 3}
    single = {"transport": "tcp", "mode": "sc", "handover": {"case": "sp"}}
    uplink = resolve_scenario(scenario(legs, **single)).legs[0].uplink.capacity()
    assert [uplink.rate_at(s * second) for s in range(4)] == [20e6, 20e6, 3e6, 20e6]


CHANGES = {"changes": [{"at_s": 1, "delay_ms": 5}]}


@pytest.mark.parametrize(
    ("channels", "radio", "fields", "words"),
    [
        (([0.0], [0.0]), {}, {}, "handover: no channel has any capacity in the first"),
        (SLOW, CHANGES, {"handover": {"case": "sp"}}, r"sp: legs\.0\.downlink\.changes: allowed"),
        (
            SLOW,
            {"offset_s": 31_536_000},
            {"trace_offset_s": 1, "handover": None},
            r"trace_offset_s: legs.0.downlink.offset_s: .*allowed: 0 to 31,536,000",
        ),
    ],
)
def test_what_cannot_be_resolved_is_refused_before_the_run(
    channels: tuple[list[float], ...],
    radio: dict[str, Any],
    fields: dict[str, Any],
    words: str,
    tmp_path: Path,
) -> None:
    legs = drive(tmp_path, *channels)
    legs[0]["downlink"] |= radio
    with pytest.raises(SettingsError, match=words):
        check_scenario(scenario(legs, **{"handover": {"case": 1}, **fields}))


LEGS: list[dict[str, Any]] = [{"rate_mbps": 20, "delay_ms": 10}, {"rate_mbps": 20, "delay_ms": 20}]


def along_a_drive(*events: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic-picoquic", "mode": "dc", "legs": LEGS, "clock": "virtual"}
    return Scenario.check({**values, "mobility": events, **fields}, "test")


def leg_of(given: Scenario, number: int) -> tuple[list[Any], list[Any]]:
    """The outages of a leg, and its changes of loss, the same both ways."""
    leg = resolve_scenario(given).legs[number - 1]
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
    assert leg_of(along_a_drive(event), number) == ([outage], losses)
    assert leg_of(along_a_drive(event), 3 - number) == ([], [])


def test_changes_and_outages_of_the_leg_stay() -> None:
    changes = [{"at_s": 1, "loss_percent": 1}, {"at_s": 2.5, "loss_percent": 2, "delay_ms": 30}]
    legs = [LEGS[0], LEGS[1] | {"changes": changes, "outages": [[3.05, 4]]}]
    legs[1]["uplink"] = {"changes": changes}
    outages, losses = leg_of(along_a_drive({"at_s": 2, "scg_failure": 2}, legs=legs), 2)
    assert losses == [(1, 1), (2, 100), (2.5, 100), (3, 2)]
    assert outages == [(3, 4)]
    legs = [LEGS[0], LEGS[1] | {"burst_loss": {"p": 0.01, "r": 0.3}}]  # which cannot change
    with pytest.raises(SettingsError, match=r"legs\.1\.downlink\.burst_loss: allowed"):
        resolve_scenario(along_a_drive({"at_s": 2, "scg_failure": 2}, legs=legs))


@pytest.mark.parametrize("mode", ["sc", "multipath", "atsss"])
def test_other_modes_have_no_such_procedures(mode: str) -> None:
    transport = "mpquic-picoquic" if mode == "multipath" else "quic-picoquic"
    given = along_a_drive({"at_s": 2, "scg_failure": 2}, mode=mode, transport=transport)
    assert leg_of(given, 2) == ([], [])


def test_a_leg_that_a_handover_takes_into_use_carries_nothing_at_first() -> None:
    outages = [[[0, 2]], [[2, 10]], []]
    legs = [LEGS[0] | {"rate_mbps": 10, "outages": times} for times in outages]
    rule = {"case": 2, "interruption_ms": 50}
    values = {"handover": rule, "legs": legs, "workload": {"duration_s": 4}, "timeout_s": 1}
    plan = resolve_scenario(along_a_drive(**values))
    first = plan.legs[0].downlink.outages[0]
    without = resolve_scenario(along_a_drive(**values | {"handover": {"case": 2}}))
    assert first[1] == pytest.approx(without.legs[0].downlink.outages[0][1] + 0.05)


def test_both_cores_have_the_same_run(tmp_path: Any) -> None:
    events = [
        {"at_s": 0.2, "scg_addition": 2},
        {"at_s": 0.5, "scg_failure": 2, "detection_ms": 100},
    ]
    given = along_a_drive(*events, workload={"size_mb": 3}).with_dc("deployable")
    runs = [
        run(given.evolve(virtual={"core": core}), tmp_path / core) for core in ("native", "python")
    ]
    assert runs[0].status == runs[1].status == "ok"
    legs = [(tmp_path / core / "gnb-legs.csv").read_bytes() for core in ("native", "python")]
    assert legs[0] == legs[1]
