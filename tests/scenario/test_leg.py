"""A leg: its fields, its order, its changes."""

from __future__ import annotations

import inspect
import pickle
import warnings
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import AnyLeg
from minitopo_dc.router.drivers import Schedule
from minitopo_dc.router.element import leg_changes
from minitopo_dc.scenario import Leg, LegDirection, Scenario
from minitopo_dc.scenario.element import ElementLeg
from minitopo_dc.scenario.leg import DirectionFields

BOTH = {"rate_mbps": 20, "delay_ms": 8, "loss_percent": 0.1}


def test_fields_are_the_downlink_s_and_the_uplink_has_its_delay_and_jitter() -> None:
    leg = Leg(rate_mbps=80, delay_ms=30, jitter_ms=2, loss_percent=0.1, queue_packets=50)
    assert leg.downlink == LegDirection(
        rate_mbps=80, delay_ms=30, jitter_ms=2, loss_percent=0.1, queue_packets=50
    )
    assert leg.uplink == LegDirection(rate_mbps=20, delay_ms=30, jitter_ms=2)
    assert leg == Leg.check({"downlink": leg.downlink}, "a file's")


def test_an_uplink_says_otherwise_at_any_time() -> None:
    leg = Leg(rate_mbps=80, delay_ms=30).evolve(uplink={"rate_mbps": 5, "delay_ms": 3})
    assert (leg.uplink.rate_mbps, leg.uplink.delay_ms, leg.downlink.delay_ms) == (5, 3, 30)
    later = leg.evolve(delay_ms=60, jitter_ms=0)
    assert (later.uplink.delay_ms, later.uplink.jitter_ms) == (3, 0)
    assert later.evolve(uplink=None).uplink == LegDirection(rate_mbps=20, delay_ms=60, jitter_ms=0)


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"trace": "a.csv"}, "rate_mbps"),
        ({"delay_curve": "power"}, "delay_ms"),
        ({"burst_loss": {"p": 0.1, "r": 0.5}}, "loss_percent"),
        ({"queue_ms": 30}, "queue_packets"),
    ],
)
def test_another_way_to_say_the_same_takes_its_place(change: dict[str, Any], gone: str) -> None:
    start: dict[str, Any] = {**BOTH, "queue_packets": 7}
    if "queue_ms" not in change:
        assert gone not in Leg(**start).evolve(**change).downlink.model_fields_set
    assert Leg(**start).evolve(**change).downlink == LegDirection(
        **{name: value for name, value in start.items() if name != gone}, **change
    )


def test_a_leg_of_a_file_that_was_given_for_both_directions_changes_in_both() -> None:
    leg = Leg.check(BOTH, "a file's")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = leg.evolve(loss_percent=1, delay_ms=60)
    assert changed == Leg.check({**BOTH, "loss_percent": 1, "delay_ms": 60}, "a file's")
    assert changed.evolve(loss_percent=2).uplink.loss_percent == 2


def test_a_change_of_one_direction_of_such_a_leg_is_told() -> None:
    leg = Leg.check(BOTH, "a file's")
    with pytest.warns(UserWarning, match=r"downlink\.delay_ms: "):
        changed = leg.evolve(downlink={"delay_ms": 60})
    assert (changed.downlink.delay_ms, changed.uplink.delay_ms) == (60, 8)


def test_names_and_defaults_are_told_to_who_completes_them() -> None:
    assert {*Leg.BESIDE} == {*get_type_hints(DirectionFields)}
    parameters = inspect.signature(Leg).parameters
    assert {*parameters} == {*Leg.BESIDE, *Leg.model_fields}
    assert parameters["delay_ms"].default == 10


def test_a_scenario_that_went_to_another_process_is_the_same() -> None:
    leg = Leg(rate_mbps=20, delay_ms=30, uplink={"delay_ms": 5})
    scenario = Scenario(legs=[leg], transport="tcp", mode="sc")
    assert pickle.loads(pickle.dumps(scenario)) == scenario


RADIO: dict[str, Any] = {"rate_mbps": 20}
KEEPS: dict[str, Any] = {"downlink": RADIO, "uplink": RADIO}
REORDERS: dict[str, Any] = {"downlink": RADIO | {"reorder": True}, "uplink": RADIO}
UP: dict[str, Any] = {"downlink": RADIO, "uplink": RADIO | {"reorder": True}}
BY_ORDER: dict[str, Any] = {"legs_keep_order": True}


def scenario(**fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "dc", "legs": [KEEPS, KEEPS], "pdcp": BY_ORDER}
    return Scenario.check(values | fields, "test")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"legs": [UP, KEEPS]},
        {"legs": [REORDERS, KEEPS], "mode": "sc"},
        {"legs": [KEEPS, KEEPS, REORDERS], "pdcp": BY_ORDER | {"legs": [1, 2]}},
        {"legs": [REORDERS, KEEPS], "mode": "flows", "flows": [{"mode": "sc", "leg": 2}]},
    ],
)
def test_a_leg_that_no_bearer_relies_on_may_reorder(fields: dict[str, Any]) -> None:
    scenario(**fields)


MS, S = 1_000_000, 1_000_000_000
BASE: dict[str, Any] = {"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0, "queue_packets": 1000}
PACKET = 1500  # 1 ms at 12 Mbit/s


def arrivals(changes: list[dict[str, Any]], sent: list[int], **more: Any) -> dict[int, int]:
    """When each packet sent at one of these moments (ns after the start) arrives."""
    radio = LegDirection.check(BASE | more | {"changes": changes}, "test")
    leg: AnyLeg[int] = radio.build("1")
    element_leg = ElementLeg(leg=1, interface="l", radio=radio, seed="1")
    schedule = Schedule(leg_changes([element_leg], {1: leg}))
    leg.start(0)
    schedule.start(0)
    found: dict[int, int] = {}
    waiting = sorted(sent)
    while True:
        change = schedule.next_timeout()
        moments = (leg.next_timeout(), change, waiting[0] if waiting else None)
        events = [moment for moment in moments if moment is not None]
        if not events:
            return found
        now = min(events)
        if change == now:
            schedule.handle(now)
            continue
        for packet in leg.poll(now):
            found[packet] = now
        if waiting and waiting[0] == now:
            leg.push(waiting.pop(0), PACKET, now)


@pytest.mark.parametrize(
    ("change", "sent", "outages", "arrival"),
    [
        ({"delay_ms": 30}, S - 2 * MS, [], S + 9 * MS),
        ({"delay_ms": 30}, S, [], S + 31 * MS),
        # Half of the packet at 12 Mbit/s, half at 6 Mbit/s: 0.5 ms and 1 ms.
        ({"rate_mbps": 6}, S - MS // 2, [], S + MS + 10 * MS),
        ({"delay_ms": 20}, S, [[1, 2]], 2 * S + MS + 20 * MS),
    ],
)
def test_a_change_is_made_at_its_moment_within_a_packet_and_beside_an_outage(
    change: dict[str, float], sent: int, outages: list[list[int]], arrival: int
) -> None:
    assert arrivals([{"at_s": 1} | change], [sent], outages=outages) == {sent: arrival}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("loss_percent", {}),
        ("block_error_percent", {"rlc": {"mode": "um", "block_error_percent": 0}}),
    ],
)
def test_losses_can_be_switched_on_and_off_again(name: str, fields: dict[str, Any]) -> None:
    changes = [{"at_s": 1, name: 100}, {"at_s": 2, name: 0}]
    sent = [S // 2, S + S // 2, 2 * S + S // 2]
    assert sorted(arrivals(changes, sent, **fields)) == [sent[0], sent[2]]


@given(
    moments=st.lists(st.integers(1, 50), min_size=1, max_size=5, unique=True),
    delays=st.lists(st.floats(0, 500), min_size=5, max_size=5),
)
def test_each_packet_has_the_delay_of_its_time(moments: list[int], delays: list[float]) -> None:
    times = sorted(moments)
    changes = [{"at_s": at, "delay_ms": delay} for at, delay in zip(times, delays, strict=False)]
    sent = [at * S + S // 4 for at in times]
    found = arrivals(changes, sent, reorder=True)
    for at, delay in zip(times, delays, strict=False):
        assert found[at * S + S // 4] == at * S + S // 4 + MS + round(delay * MS)
