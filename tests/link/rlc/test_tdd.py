"""TDD patterns, HARQ by slot and scheduling requests, against closed forms."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from statistics import mean
from typing import Any

import pytest

from minitopo_dc.link import AnyLeg, ConstantDelay, LegParameters, RlcParameters, make_capacity
from minitopo_dc.link.rlc.leg import make_leg
from minitopo_dc.link.rlc.parameters import Drx, TddPattern
from minitopo_dc.units import UNLIMITED
from tests.native.driven import DrivenLeg

US = 1000
MS = 1_000_000
SLOT = MS // 2
RATE = 100_000_000
ALONE = LegParameters(delay=ConstantDelay(0), queue=UNLIMITED)
MAKERS: list[Callable[..., Any]] = [make_leg, DrivenLeg]
DOWN = TddPattern("DDDSU")
UP = TddPattern("DDDSU", "U")


def rlc(tdd: TddPattern | None, **fields: Any) -> RlcParameters:
    fields = {"slot_ns": SLOT, "block_error": 0.0, "harq_rtt_ns": 8 * MS} | fields
    return RlcParameters(tdd=tdd, **fields)


def delays_ms(
    make: Callable[..., AnyLeg[Any]], of: RlcParameters, *, grant_ns: int = 0
) -> list[float]:
    """The delays of lone packets at 1,000 moments that are spread evenly over 50 ms of the grid."""
    parameters = LegParameters(delay=ConstantDelay(0), queue=UNLIMITED, grant_ns=grant_ns)
    leg = make(parameters, make_capacity(RATE), Random(1), of)
    leg.start(0)
    found = []
    for number in range(1000):
        sent = number * 1000 * MS + number * 50 * US + 25 * US
        leg.push(number, 100, sent)
        while (due := leg.next_timeout()) is not None:
            found += [(due - sent) / MS for _ in leg.poll(due)]
    return found


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("slots", "of", "mean_ms", "longest_ms"),
    [
        ("D", "D", 0.25, 0.5),
        ("DDDSU", "D", 0.35, 1.0),  # gaps of 0.5, 0.5, 0.5 and 1 ms: 1.75 / (2 * 2.5)
        ("DDDSU", "U", 1.25, 2.5),
        ("DDDDDDDSUU", "D", 0.4, 1.5),  # (7 * 0.25 + 2.25) / (2 * 5)
        ("DDDDDDDSUU", "U", 2.05, 4.5),  # (0.25 + 20.25) / (2 * 5)
    ],
)
def test_a_lone_packet_waits_for_the_next_slot_of_its_direction(
    make: Any, slots: str, of: Any, mean_ms: float, longest_ms: float
) -> None:
    waits = [delay - 0.5 for delay in delays_ms(make, rlc(TddPattern(slots, of)))]
    assert mean(waits) == pytest.approx(mean_ms, abs=0.001)
    assert max(waits) == pytest.approx(longest_ms, abs=0.06)
    assert TddPattern(slots, of).mean_wait_slots() * 0.5 == pytest.approx(mean_ms)


@pytest.mark.parametrize(
    ("pattern", "rounds"),
    [
        # ACK in the first U at least 4 slots later, 3 slots for the gNB, then a D or S.
        (DOWN, (7, 11, 10, 9, 8)),
        (TddPattern("DDDDDDDSUU", ue_slots=2, gnb_slots=2), (10, 9, 8, 7, 6, 5, 4, 4, 12, 11)),
        # The grant in the first D or S 3 slots later, the block in the first U 4 slots after it.
        (UP, (9, 8, 7, 11, 10)),
        (TddPattern("D"), (7,)),
    ],
)
def test_harq_sends_again_when_the_pattern_lets_it(
    pattern: TddPattern, rounds: tuple[int, ...]
) -> None:
    assert pattern.rounds == rounds


@pytest.mark.parametrize("make", MAKERS)
def test_a_block_that_fails_comes_a_round_trip_of_its_slot_later(make: Any) -> None:
    once = rlc(DOWN, block_error=1.0, harq_retransmissions=1, mode="um")
    leg = make(ALONE, make_capacity(RATE), Random(1), once)
    leg.start(0)
    leg.push(1, 100, 0)
    while (due := leg.next_timeout()) is not None:
        last = due
        leg.poll(due)
    assert last == (7 + 1) * SLOT  # first sent in slot 0, given up at the end of slot 7
    assert leg.dropped() == [1]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("grants", "mean_ms"), [(1, 10.0), (2, 15.0)])
def test_a_lone_uplink_packet_waits_for_request_and_grants(
    make: Any, grants: int, mean_ms: float
) -> None:
    # Half of the period of 10 ms, then a pattern or two, as requests are in the first U.
    grant = UP.request_slots(grants=grants) * SLOT
    found = delays_ms(make, rlc(UP, sr_ns=10 * MS), grant_ns=grant)
    assert mean(found) == pytest.approx(mean_ms + 0.5, abs=0.001)
    assert max(found) - min(found) == pytest.approx(10.0, abs=0.06)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("pattern", [DOWN, UP, TddPattern("DSUUU"), None])
@pytest.mark.parametrize("phase", [0, 700 * US])
def test_a_full_queue_has_the_mean_rate_over_the_pattern(
    make: Any, pattern: TddPattern | None, phase: int
) -> None:
    leg = make(ALONE, make_capacity(RATE), Random(1), rlc(pattern, phase_ns=phase))
    leg.start(0)
    for number in range(2000):
        leg.push(number, 1250, 0)
    # A packet takes 0.1 ms: 100 ms are 1,000 of them, give or take a period of 2.5 ms.
    assert len(leg.poll(100 * MS)) == pytest.approx(1000, abs=25)
    assert leg.rate_bps(now=101 * MS) == RATE
    assert {leg.rate_bps(now=101 * MS + n * SLOT) for n in range(1, 6)} == {RATE}


@pytest.mark.parametrize(
    ("pattern", "lead_ms"),
    [(None, 1.0), (UP, 5.0), (DOWN, 2 * 2.5 * 14 / 52), (TddPattern("DSUUU", "U"), 2 * 2.5 / 3)],
)
def test_two_slots_carry_what_comes_at_the_mean_rate_in(
    pattern: TddPattern | None, lead_ms: float
) -> None:
    assert rlc(pattern).slot_lead_ns() / MS == pytest.approx(lead_ms, abs=1e-6)


@pytest.mark.parametrize("make", MAKERS)
def test_headers_take_capacity(make: Any) -> None:
    leg = make(ALONE, make_capacity(RATE), Random(1), rlc(None, header_bytes=250))
    leg.start(0)
    for number in range(2000):
        leg.push(number, 1000, 0)
    assert leg.backlog_bytes(now=0) == 2000 * 1250
    assert len(leg.poll(100 * MS)) == 1000


CYCLES = Drx(on_ns=10 * MS, inactivity_ns=100 * MS, cycle_ns=160 * MS)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("drx", "mean_ms", "longest_ms"),
    [
        (CYCLES, 150**2 / 320, 150),  # asleep for 150 of 160 ms
        (Drx(10 * MS, 10 * MS, 40 * MS), 30**2 / 80, 30),
    ],
)
def test_a_terminal_that_sleeps_listens_again_in_the_next_cycle(
    make: Any, drx: Drx, mean_ms: float, longest_ms: float
) -> None:
    leg = make(ALONE, make_capacity(RATE), Random(1), rlc(None, drx=drx))
    leg.start(0)
    found = []
    for number in range(1600):
        sent = number * 1600 * MS + number * 100 * US + 50 * US
        leg.push(number, 100, sent)
        while (due := leg.next_timeout()) is not None:
            found += [(due - sent) / MS for _ in leg.poll(due)]
    alone = 0.5 + 0.25  # a slot, and half of one on average to its begin
    assert mean(found) == pytest.approx(mean_ms + alone, abs=0.3)
    assert max(found) == pytest.approx(longest_ms + 0.5, abs=0.5)


@pytest.mark.parametrize("make", MAKERS)
def test_a_terminal_listens_while_it_is_active_in_either_direction(make: Any) -> None:
    down, up = (
        make(ALONE, make_capacity(RATE), Random(1), rlc(None, drx=drx)) for drx in (CYCLES, None)
    )
    down.pair(up)
    for leg in (down, up):
        leg.start(0)
    down.push(1, 100, 20 * MS)
    assert down.next_timeout() == 160 * MS + SLOT  # asleep, to the next cycle
    assert down.poll(161 * MS) == [1]
    down.push(2, 100, 259 * MS)
    assert down.poll(260 * MS) == [2]  # within 100 ms of its own block
    up.push(3, 100, 500 * MS)
    down.push(4, 100, 599 * MS)
    assert down.poll(600 * MS) == [4]  # within 100 ms of the uplink's
    down.push(5, 100, 701 * MS)
    assert down.next_timeout() == 800 * MS + SLOT


def test_short_cycles_come_first() -> None:
    drx = Drx(10 * MS, 100 * MS, 320 * MS, short_ns=40 * MS, short_cycles=2)
    moments = {50: 50, 110: 120, 125: 125, 135: 160, 175: 320, 250: 320}
    assert {time: drx.listens(time * MS, 0) // MS for time in moments} == moments


@pytest.mark.parametrize(
    ("slots", "words"), [("DDX", "letters D, S and U"), ("DDS", "a D and a U"), ("DU" * 99, "160")]
)
def test_a_wrong_pattern_is_refused(slots: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TddPattern(slots)
