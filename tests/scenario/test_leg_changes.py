"""Legs that change while they run: what is refused, and what happens when."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import AnyLeg
from minitopo_dc.router.element import Schedule
from minitopo_dc.scenario import LegSettings
from minitopo_dc.scenario.element import ElementLeg

MS, S = 1_000_000, 1_000_000_000
BASE: dict[str, Any] = {"rate_mbps": 12, "delay_ms": 10, "jitter_ms": 0, "queue_packets": 1000}
PACKET = 1500  # 1 ms at 12 Mbit/s


def arrivals(changes: list[dict[str, Any]], sent: list[int], **more: Any) -> dict[int, int]:
    """When each packet sent at one of these moments (ns after the start) arrives."""
    radio = LegSettings.check(BASE | more | {"changes": changes}, "test")
    leg: AnyLeg[int] = radio.build("1")
    element_leg = ElementLeg(leg=1, interface="l", radio=radio, seed="1")
    schedule = Schedule([element_leg], {1: leg}, lambda _now: None)
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
    ("change", "words"),
    [
        ({"changes": [{"at_s": 1}]}, "name at least one of rate_mbps, delay_ms"),
        ({"changes": [{"at_s": -1, "delay_ms": 1}]}, "changes.0.at_s"),
        ({"changes": [{"at_s": 1, "delay_ms": 1}, {"at_s": 1, "delay_ms": 2}]}, "must be after 1"),
        ({"changes": [{"at_s": 1, "rate_mbps": -1}]}, "changes.0.rate_mbps"),
        ({"changes": [{"at_s": 1, "loss_percent": 101}]}, "changes.0.loss_percent"),
        ({"changes": [{"at_s": 1, "queue": 3}]}, "changes.0.queue"),
        ({"rate_mbps": None, "trace": "t", "changes": [{"at_s": 1, "rate_mbps": 1}]}, "not trace"),
        (
            {"burst_loss": {"p": 0.1, "r": 0.5}, "changes": [{"at_s": 1, "loss_percent": 1}]},
            "needs no burst_loss",
        ),
        ({"changes": [{"at_s": 1, "block_error_percent": 1}]}, "block_error_percent needs rlc"),
        ({"rlc": {}, "changes": [{"at_s": 1, "block_error_percent": 101}]}, "block_error_percent"),
        (
            {"jitter": "uniform", "jitter_ms": 5, "changes": [{"at_s": 1, "delay_ms": 4}]},
            "uniform jitter may be at most delay_ms",
        ),
    ],
)
def test_a_wrong_change_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        LegSettings.check(BASE | change, "leg")


def test_a_delay_changes_at_its_moment_and_the_rate_stays() -> None:
    found = arrivals([{"at_s": 1, "delay_ms": 30}], [S - 2 * MS, S])
    assert found == {S - 2 * MS: S + 9 * MS, S: S + 31 * MS}


def test_a_rate_changes_at_its_moment_within_a_packet_and_the_delay_stays() -> None:
    """Half of the packet at 12 Mbit/s, half at 6 Mbit/s: 0.5 ms and 1 ms."""
    sent = S - MS // 2
    found = arrivals([{"at_s": 1, "rate_mbps": 6}], [sent])
    assert found == {sent: sent + MS // 2 + MS + 10 * MS}


def test_a_loss_can_be_switched_on_and_off_again() -> None:
    changes = [{"at_s": 1, "loss_percent": 100}, {"at_s": 2, "loss_percent": 0}]
    sent = [S // 2, S + S // 2, 2 * S + S // 2]
    assert sorted(arrivals(changes, sent)) == [sent[0], sent[2]]


def test_errors_of_rlc_s_blocks_can_be_switched_on_and_off_again() -> None:
    changes = [{"at_s": 1, "block_error_percent": 100}, {"at_s": 2, "block_error_percent": 0}]
    rlc = {"mode": "um", "block_error_percent": 0}
    sent = [S // 2, S + S // 2, 2 * S + S // 2]
    assert sorted(arrivals(changes, sent, rlc=rlc)) == [sent[0], sent[2]]


def test_a_change_without_errors_has_no_field_of_them() -> None:
    radio = LegSettings.check(BASE | {"changes": [{"at_s": 1, "delay_ms": 30}]}, "test")
    assert "block_error_percent" not in radio.model_dump(mode="json")["changes"][0]


def test_an_outage_and_a_change_at_the_same_moment_are_both_made() -> None:
    found = arrivals([{"at_s": 1, "delay_ms": 20}], [S], outages=[[1, 2]])
    assert found == {S: 2 * S + MS + 20 * MS}


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
