"""A leg with RLC and HARQ: what becomes of a packet, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    LegParameters,
    RlcLeg,
    RlcParameters,
    UniformDelay,
    make_capacity,
)
from minitopo_dc.trace import OpportunityTrace, RateTrace
from minitopo_dc.units import UNLIMITED, QueueLimit

MS = 10**6
RATE = 8_000_000
"""1,000 bytes a slot."""
PARAMETERS = LegParameters(delay=ConstantDelay(10 * MS))
PERFECT = RlcParameters(block_error=0.0)


class Scripted(Random):
    """Gives the fates of blocks in turn, then what is always decoded."""

    def __init__(self, fates: Iterable[float] = ()) -> None:
        super().__init__(1)
        self._fates = iter(fates)

    def random(self) -> float:
        return next(self._fates, 0.999)


def leg(
    rlc: RlcParameters = PERFECT,
    parameters: LegParameters = PARAMETERS,
    *,
    failures: Iterable[int] = (),
    capacity: Any = RATE,
) -> RlcLeg[int]:
    """A started leg; `failures`: how many transmissions of each block fail, with `block_error`."""
    made: RlcLeg[int] = RlcLeg(parameters, rlc, make_capacity(capacity), Random(1))
    p = rlc.block_error
    made._harq._rng = Scripted((p**count) * 0.999 for count in failures)
    made.start(0)
    return made


def arrivals(made: RlcLeg[int], until: int = 10**15) -> list[tuple[float, int]]:
    """When (ms) what arrives, until nothing is under way."""
    found = []
    while (due := made.next_timeout()) is not None and due <= until:
        found += [(due / MS, packet) for packet in made.poll(due)]
    return found


HALF = RlcParameters(block_error=0.5)
GRANTED = {"parameters": replace(PARAMETERS, grant_ns=8 * MS)}
EACH_5_MS = OpportunityTrace("t", (5, 10))
SLOWER = RateTrace("t", (0, 10 * MS), (RATE, RATE // 2), 1000 * MS)
"""From 10 ms on a block of 1,000 bytes takes two slots."""


def half(*failures: int, **rlc: Any) -> dict[str, Any]:
    """A leg whose blocks fail so often."""
    return {"rlc": replace(HALF, **rlc), "failures": failures}


def discard(ms: int) -> dict[str, Any]:
    """A leg with such a discardTimer."""
    return {"rlc": replace(PERFECT, discard_ns=ms * MS)}


IMPATIENT = half(2, 1, harq_retransmissions=1, status_ns=8 * MS, in_order=False)
CASES: list[tuple[dict[str, Any], str, str, list[int], dict[str, int]]] = [
    # A leg; when (ms) packets 0, 1, ... of so many bytes come; when they arrive; drops; counters.
    ({}, "0.5:100", "12:0", [], {}),
    # What comes at a slot's begin is in it.
    ({}, "3:100", "14:0", [], {}),
    # Large packets take several blocks, small ones share one.
    ({}, "0:2500 0:200 0:300 0:100", "13:0 13:1 13:2 14:3", [], {"blocks": 4}),
    # A failed transmission costs a round trip.
    (half(0), "0:100", "11:0", [], {"harq_retransmissions": 0}),
    (half(1), "0:100", "19:0", [], {"harq_retransmissions": 1}),
    (half(4), "0:100", "43:0", [], {"harq_retransmissions": 4}),
    # UM loses what HARQ gives up; AM sends it again when the status has come, and HARQ given up.
    (half(5, mode="um"), "0:100", "", [0], {"dropped_radio": 1}),
    (half(5), "0:100", "56:0", [], {"harq_failures": 1, "rlc_retransmissions": 1, "blocks": 2}),
    (half(5, status_ns=0), "0:100", "44:0", [], {}),
    (half(5, 5, 5, max_retx_threshold=2), "0:100", "", [0], {"rlc_retransmissions": 2}),
    # A lost segment alone, the middle third, is sent again; and cut, if it does not fit one block:
    # HARQ's last ends at 1 + 32 + 1, RLC's at 2 + 45 + 1: the third block tells of the gap.
    (half(0, 5, 0), "0:3000", "58:0", [], {"rlc_retransmissions": 1}),
    (half(5) | {"capacity": SLOWER}, "0:1000", "57:0", [], {"rlc_retransmissions": 2}),
    # The receiver misses what a burst took when something later arrives, at 40 ms: 85 + 1.
    (half(5, 5, 0), "0:1000 1:1000 40:1000", "96:0 97:1 97:2", [], {}),
    # If nothing does, the sender asks `status_ns` after the last block: 1 + 45.
    (half(5, 5, 0), "0:1000 1:1000", "57:0 58:1", [], {}),
    # A repetition that is lost, too (45 to 78 ms), is in the next report: 78 + 10 + 1.
    (half(5, 5, 0), "0:1000", "99:0", [], {"rlc_retransmissions": 2}),
    # In order a packet waits for the one before it, until that is given up; else it does not.
    (half(1, 0), "0:1000 0:1000", "19:0 19:1", [], {}),
    (half(5, 0, mode="um"), "0:1000 0:1000", "43:1", [0], {}),
    (half(1, 0, in_order=False), "0:1000 0:1000", "12:1 19:0", [], {}),
    # HARQ goes before RLC and RLC before new packets: the 1st block is given up at 9 ms, the 2nd
    # sent again at 9 ms. Retransmissions take capacity from new packets.
    (IMPATIENT, "0:1000 1:1000 9:1000", "20:1 21:0 22:2", [], {}),
    (half(1), "0:1000 8:1000 8:1000 8:1000", "19:0 20:1 21:2 22:3", [], {}),
    # discardTimer drops what waited too long at the next slot, but for what is partly sent.
    (discard(2), "0:1000 0:1000 0:1000 0:1000", "11:0 12:1", [2, 3], {"dropped_discard": 2}),
    (discard(2), "0:5000 0:100", "15:0", [1], {}),
    # What finds nothing to send waits for a grant, and discardTimer runs.
    (GRANTED, "0:1000 7:1000", "19:0 20:1", [], {}),
    (discard(5) | GRANTED, "0:1000 4:1000", "19:1", [0], {}),
    # Opportunities are slots that carry their bytes, here 1,500 each 5 ms.
    ({"capacity": EACH_5_MS}, "0:1000 0:1000 0:1000", "16:0 21:1 21:2", [], {}),
]


@pytest.mark.parametrize(("fields", "pushes", "expected", "dropped", "counted"), CASES)
def test_what_becomes_of_packets_is_what_was_worked_out(
    fields: dict[str, Any], pushes: str, expected: str, dropped: list[int], counted: dict[str, int]
) -> None:
    made, arrived = leg(**fields), list[tuple[float, int]]()
    for number, push in enumerate(pushes.split()):
        at, size = push.split(":")
        now = round(float(at) * MS)
        arrived += arrivals(made, until=now - 1)
        assert made.push(number, int(size), now)
    arrived += arrivals(made)
    assert " ".join(f"{at:g}:{number}" for at, number in arrived) == expected
    assert (made.dropped(), made.dropped()) == (dropped, [])
    counters = made.statistics()
    assert {name: getattr(counters, name) for name in counted} == counted


def test_slots_count_from_the_start() -> None:
    made = leg()
    made.start(MS // 4)
    made.push(1, 100, MS // 2)
    assert arrivals(made) == [(12.25, 1)]


@pytest.mark.parametrize(
    ("failures", "down_ms", "up_ms", "arrival_ms"),
    [
        ([1], 3, 20.1, 21 + 11),  # nothing is sent again until it is up
        ([], 0.5, 0.6, 12),  # a slot in which it went down carries nothing
        ([], 1, 100, 11),  # what is in propagation arrives
    ],
)
def test_a_leg_that_is_down_carries_nothing(
    failures: list[int], down_ms: float, up_ms: float, arrival_ms: float
) -> None:
    made = leg(HALF, failures=failures)
    made.push(1, 100, 0)
    made.set_up(False, round(down_ms * MS))
    found = arrivals(made)
    made.set_up(True, round(up_ms * MS))
    assert found + arrivals(made) == [(arrival_ms, 1)]


def test_a_new_error_probability_holds_for_blocks_under_way() -> None:
    made = leg(HALF, failures=[5])
    made.push(1, 100, 0)
    with pytest.raises(ValueError, match="block_error"):
        made.retune(0, block_error=2.0)
    made.retune(MS, block_error=0.0)
    assert arrivals(made) == [(19.0, 1)]


def test_jitter_keeps_the_order_in_which_packets_are_complete() -> None:
    jitter = LegParameters(delay=UniformDelay(0, 20 * MS), queue=UNLIMITED)
    made = leg(RlcParameters(in_order=False, block_error=0.0), jitter)
    for number in range(100):
        made.push(number, 1000, 0)
    assert [packet for _, packet in arrivals(made)] == list(range(100))


def test_discard_works_while_the_leg_is_down_and_is_told_in_time() -> None:
    made = leg(replace(PERFECT, discard_ns=20 * MS))
    made.set_up(False, 0)
    made.push(1, 100, MS // 2)
    assert made.next_timeout() == 21 * MS
    assert made.poll(21 * MS) == []
    assert made.dropped() == [1]
    assert made.next_timeout() is None


def test_what_a_query_finds_dropped_wakes_the_driver() -> None:
    made = leg(replace(HALF, mode="um"), failures=[5])
    made.push(1, 100, 0)
    assert made.has_room(now=100 * MS, size=1)
    assert made.next_timeout() == 100 * MS
    assert made.poll(100 * MS) == []
    assert made.next_timeout() is None
    assert made.dropped() == [1]


def test_a_flush_takes_queue_and_blocks_and_delivers_what_is_complete() -> None:
    made = leg(HALF, failures=[1, 0])
    for number in range(5):
        made.push(number, 1000, 0)
    assert made.flush(3 * MS) == [0, 3, 4]  # 0 is in HARQ, 1 and 2 wait for it
    assert made.dropped() == []
    assert arrivals(made) == [(13.0, 1), (13.0, 2)]
    assert made.statistics().dropped_flush == 3
    assert made.push(9, 100, 20 * MS)
    assert arrivals(made) == [(31.0, 9)]


def test_a_flush_of_some_leaves_the_others_their_way() -> None:
    made = leg(HALF, failures=[1, 1])
    for number in range(6):
        made.push(number, 500, 0)
    # 0 and 1 share a block in HARQ, 2 and 3 another one.
    assert made.flush(2 * MS, lambda number: number in (0, 2, 3, 5)) == [0, 2, 3, 5]
    assert arrivals(made) == [(19.0, 1), (19.0, 4)]
    assert made.statistics().harq_retransmissions == 1


def test_numbers_of_packets_stay_when_some_are_flushed() -> None:
    made = leg()
    for number in range(6):
        made.push(number, 1000, 0)
    made.flush(2 * MS, lambda number: number in (3, 5))
    assert [made.served_packets(now=now * MS) for now in (2, 3, 4)] == [2, 4, 6]


def test_a_flush_takes_what_rlc_was_to_send_again() -> None:
    made = leg(HALF, failures=[5])
    made.push(1, 100, 0)
    made.poll(40 * MS)
    assert made.flush(40 * MS) == [1]
    assert made.next_timeout() is None


def test_random_loss_comes_behind_the_radio_and_is_known_at_once() -> None:
    made = leg(PERFECT, replace(PARAMETERS, loss=Bernoulli(1.0)))
    assert not made.push(1, 100, 0)
    assert made.flush(0) == []
    assert not made.push(1, 100, 0)
    assert arrivals(made) == []
    assert made.dropped() == []
    assert made.statistics().dropped_loss == 1
    assert made.statistics().blocks == 1


@pytest.mark.parametrize("limit", [QueueLimit(2), QueueLimit(bytes=2999)])
def test_the_queue_refuses_what_is_beyond_its_limit(limit: QueueLimit) -> None:
    made = leg(PERFECT, replace(PARAMETERS, queue=limit))
    assert [made.push(number, 1000, 0) for number in range(3)] == [True, True, False]
    assert not made.has_room(now=MS - 1, size=1000)
    assert made.has_room(now=MS, size=1000)
    assert made.statistics().dropped_queue == 1


def test_a_capacity_that_has_ended_refuses_packets() -> None:
    capacity = RateTrace("t", (0,), (RATE,), 2 * MS)
    made: RlcLeg[int] = RlcLeg(PARAMETERS, PERFECT, make_capacity(capacity, "stop"), Random(1))
    made.start(0)
    assert [made.push(number, 1000, 0) for number in range(3)] == [True] * 3
    assert arrivals(made) == [(11.0, 0), (12.0, 1)]
    assert not made.push(3, 1000, 20 * MS)
    counters = made.statistics()
    assert (counters.dropped_stop, counters.queue_packets) == (1, 1)
    assert made.drain_ns(now=20 * MS) is None


def test_nothing_happens_in_slots_without_work() -> None:
    made = leg(capacity=RateTrace("t", (0, 5 * MS), (RATE, 0), 10_000 * MS))
    assert made.next_timeout() is None
    made.push(1, 100, 6 * MS)
    assert made.next_timeout() == 10_001 * MS


def test_service_is_told_slot_by_slot() -> None:
    made = leg()
    assert (made.joined_packets, made.service_end(now=0)) == (0, None)
    for number in range(3):
        made.push(number, 600, 0)
    assert (made.joined_packets, made.served_packets(now=0), made.service_end(now=0)) == (3, 0, MS)
    assert (made.served_packets(now=MS), made.backlog_bytes(now=MS)) == (1, 800)
    assert (made.served_packets(now=2 * MS), made.backlog_bytes(now=2 * MS)) == (3, 0)
    assert made.service_end(now=2 * MS) is None


def test_the_backlog_has_what_rlc_will_send_again() -> None:
    made = leg(HALF, failures=[5])
    made.push(1, 100, 0)
    assert [made.backlog_bytes(now=now * MS) for now in (0, 1, 33)] == [100, 0, 100]


def test_the_backlog_drains_at_the_rate() -> None:
    made = leg(HALF)
    made.push(1, 1000, 0)
    assert made.drain_ns(now=0, more=1000) == 2 * MS
    made.set_up(False, 0)
    assert made.drain_ns(now=0) is None


def test_the_mean_delay_has_harq_s_waits() -> None:
    assert leg(PERFECT).mean_delay_ns == 10 * MS
    # p = 1/2: (1/2 + 2/4 + 3/8 + 4/16) / (1 + 1/2 + 1/4 + 1/8 + 1/16) round trips.
    assert leg(HALF).mean_delay_ns == 10 * MS + round(8 * MS * 26 / 31)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mode": "tm"}, "mode = tm"),
        ({"block_error": 1.5}, "block_error"),
        ({"slot_ns": 0}, "slot_ns"),
        ({"harq_rtt_ns": 1}, "harq_rtt_ns"),
        ({"harq_retransmissions": -1}, "harq_retransmissions"),
        ({"status_ns": -1}, "status_ns"),
        ({"max_retx_threshold": 0}, "max_retx_threshold"),
        ({"discard_ns": 0}, "discard_ns"),
    ],
)
def test_wrong_parameters_are_refused_by_name(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RlcParameters(**wrong)


@pytest.mark.parametrize(
    "least",
    [
        {"slot_ns": 1, "harq_rtt_ns": 1},
        {"harq_retransmissions": 0},
        {"status_ns": 0},
        {"max_retx_threshold": 1},
        {"discard_ns": 1},
    ],
)
def test_the_least_parameters_are_taken(least: dict[str, Any]) -> None:
    assert RlcParameters(**least) == replace(RlcParameters(), **least)
