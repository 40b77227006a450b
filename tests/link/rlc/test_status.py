"""Status reports of RLC AM, which take capacity of the other direction."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from minitopo_dc.link import ConstantDelay, LegParameters, RlcParameters, make_capacity
from minitopo_dc.link.any_leg import NEVER
from minitopo_dc.link.rlc.leg import SHOWN_BYTES, make_leg
from minitopo_dc.link.rlc.parameters import NACK_BYTES, STATUS_BYTES, Drx, TddPattern
from minitopo_dc.link.rlc.sdus import RetransmissionBuffer
from minitopo_dc.units import UNLIMITED
from tests.native.driven import DrivenLeg

MS, S = 1_000_000, 1_000_000_000
SECONDS = 2
RATE = 1_000_000
ENDLESS = LegParameters(delay=ConstantDelay(0), queue=UNLIMITED)
UP, DOWN = TddPattern("DDDSU", "U"), TddPattern("DDDSU")


def busy(make: Any, up: RlcParameters, down: RlcParameters) -> tuple[Any, Any]:
    """Both directions of a leg, paired and with more to send than they can."""
    legs = [make(ENDLESS, make_capacity(RATE), Random(7), rlc) for rlc in (up, down)]
    legs[0].pair(legs[1])
    legs[1].pair(legs[0])
    for leg in legs:
        leg.start(0)
        for number in range(RATE * SECONDS // 8000 + 100):
            leg.push(number, 1000, 0)
    return legs[0], legs[1]


def lost_bytes(leg: Any) -> float:
    """Bytes of the leg's capacity that carried nothing of its queue."""
    sent = leg.backlog_bytes(now=0) - leg.backlog_bytes(now=SECONDS * 1000 * MS)
    return RATE * SECONDS / 8 - float(sent)


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
@pytest.mark.parametrize(
    ("up", "down", "prohibit_ms", "each_ms"),
    [
        (None, None, 0, 1),  # a report of each block, in slots of 1 ms
        (None, None, 10, 10),
        (UP, DOWN, 0, 2.5),  # in each U of DDDSU, in slots of 0.5 ms
        (UP, DOWN, 10, 10),
        (UP, DOWN, 12, 12.5),  # in the first U after t-StatusProhibit
    ],
)
def test_reports_take_their_bytes_each_t_status_prohibit(
    make: Any, up: TddPattern | None, down: TddPattern | None, prohibit_ms: int, each_ms: float
) -> None:
    of_both: dict[str, Any] = {"block_error": 0.0, "slot_ns": MS if up is None else MS // 2}
    receives = RlcParameters(**of_both, status_prohibit_ns=prohibit_ms * MS, tdd=down)
    uplink, _ = busy(make, RlcParameters(**of_both, mode="um", tdd=up), receives)
    reports = SECONDS * 1000 / each_ms
    assert lost_bytes(uplink) == pytest.approx(reports * STATUS_BYTES, abs=2 * STATUS_BYTES)


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
def test_a_report_grows_with_what_harq_gave_up(make: Any) -> None:
    fails = RlcParameters(block_error=0.2, harq_retransmissions=0, status_ns=0)
    uplink, downlink = busy(make, RlcParameters(block_error=0.0, mode="um"), fails)
    lost = lost_bytes(uplink)
    nacks = downlink.statistics().harq_failures
    assert nacks > 200
    reports = SECONDS * 1000 / 10 * STATUS_BYTES
    assert lost == pytest.approx(reports + nacks * NACK_BYTES, rel=0.02)


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
def test_unacknowledged_mode_reports_nothing(make: Any) -> None:
    rlc = RlcParameters(block_error=0.0, mode="um")
    assert lost_bytes(busy(make, rlc, rlc)[0]) == 0


def shared(make: Any, up: RlcParameters, down: RlcParameters) -> list[Any]:
    """Both directions, each with what stands for the other one, as in processes of two hosts."""
    made = [
        [make(ENDLESS, make_capacity(RATE), Random(7), rlc) for rlc in (up, down)] for _ in "ud"
    ]
    memories = [memoryview(bytearray(SHOWN_BYTES)).cast("q") for _ in "ud"]
    for own in (0, 1):
        made[own][own].share(memories[own])
        made[own][own].pair(made[own][1 - own])
        for leg in made[own]:
            leg.start(S)
        made[own][1 - own].share(memories[1 - own])
    return [made[0][0], made[1][1], made]


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
def test_directions_of_two_processes_report_as_often_as_those_of_one(make: Any) -> None:
    rlc = RlcParameters(block_error=0.0, status_prohibit_ns=10 * MS)
    legs = shared(make, rlc, rlc)
    for leg in legs[:2]:
        for number in range(500):
            leg.push(number, 1000, S)
    for now in range(S + MS, 2 * S + MS, MS):
        for leg in legs[:2]:
            leg.poll(now)
    for leg in legs[:2]:
        lost = RATE / 8 - (500_000 - leg.backlog_bytes(now=2 * S))
        assert lost == pytest.approx(100 * STATUS_BYTES, rel=0.1)


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
def test_what_one_process_sends_keeps_the_terminal_awake_in_the_other(make: Any) -> None:
    drx = Drx(on_ns=10 * MS, inactivity_ns=100 * MS, cycle_ns=160 * MS)
    up, down, _made = shared(make, RlcParameters(block_error=0.0), RlcParameters(drx=drx))
    down.push(1, 100, S + 50 * MS)
    assert down.next_timeout() == S + 161 * MS  # asleep, to the next cycle
    down.poll(S + 300 * MS)
    up.push(2, 100, S + 500 * MS)
    up.poll(S + 510 * MS)
    down.push(3, 100, S + 550 * MS)
    assert down.next_timeout() == S + 551 * MS


@pytest.mark.parametrize("make", [make_leg, DrivenLeg])
def test_asking_one_direction_late_changes_nothing(make: Any) -> None:
    rlc = RlcParameters(block_error=0.5, harq_retransmissions=1, status_prohibit_ns=0)
    often, once = busy(make, rlc, rlc), busy(make, rlc, rlc)
    for now in range(0, 1000 * MS, MS // 3):
        often[1].poll(now)
    arrived = [legs[0].poll(1000 * MS) for legs in (often, once)]
    assert arrived[0] == arrived[1]
    assert often[1].statistics().blocks == once[1].statistics().blocks > 0


def test_only_what_was_sent_before_a_block_that_arrived_is_missed() -> None:
    buffer: Any = RetransmissionBuffer()
    for first, sdu in ((5, "before"), (6, "after")):
        buffer.put(NEVER, first, (sdu, 8))
    buffer.miss(before=6, due=10)
    assert (buffer.first_due(), buffer.has_unmissed) == (10, True)
    assert list(buffer.take(100, 10)) == [("before", 8)]
