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


def arrivals(made: RlcLeg[int]) -> list[tuple[float, int]]:
    """When (ms) what arrives, until nothing is under way."""
    found = []
    while (due := made.next_timeout()) is not None:
        found += [(due / MS, packet) for packet in made.poll(due)]
    return found


HALF = RlcParameters(block_error=0.5)


def test_a_packet_takes_the_next_slot_and_the_delay() -> None:
    made = leg()
    assert made.push(1, 100, MS // 2)
    assert arrivals(made) == [(12.0, 1)]


def test_a_packet_pushed_at_a_slot_s_begin_is_in_it() -> None:
    made = leg()
    made.poll(3 * MS)
    made.push(1, 100, 3 * MS)
    assert arrivals(made) == [(14.0, 1)]


def test_slots_count_from_the_start() -> None:
    made = leg()
    made.start(MS // 4)
    made.push(1, 100, MS // 2)
    assert arrivals(made) == [(12.25, 1)]


def test_a_large_packet_takes_several_blocks_and_small_ones_share_one() -> None:
    made = leg()
    for number, size in enumerate((2500, 200, 300, 100)):
        made.push(number, size, 0)
    assert arrivals(made) == [(13.0, 0), (13.0, 1), (13.0, 2), (14.0, 3)]
    assert made.statistics().blocks == 4


@pytest.mark.parametrize("failed", range(5))
def test_each_failed_transmission_costs_one_round_trip(failed: int) -> None:
    made = leg(HALF, failures=[failed])
    made.push(1, 100, 0)
    assert arrivals(made) == [(11.0 + 8 * failed, 1)]
    assert made.statistics().harq_retransmissions == failed


def test_um_loses_what_harq_gives_up_and_tells() -> None:
    made = leg(replace(HALF, mode="um"), failures=[5])
    assert made.push(1, 100, 0)
    assert made.next_timeout() == MS
    assert arrivals(made) == []
    assert made.dropped() == [1]
    assert made.dropped() == []
    assert made.statistics().dropped_radio == 1


def test_am_sends_again_when_the_status_has_come() -> None:
    made = leg(HALF, failures=[5])
    made.push(1, 100, 0)
    assert arrivals(made) == [(45 + 11.0, 1)]
    assert made.dropped() == []
    counters = made.statistics()
    assert (counters.harq_failures, counters.rlc_retransmissions, counters.blocks) == (1, 1, 2)


def test_am_does_not_send_again_before_harq_has_given_up() -> None:
    made = leg(replace(HALF, status_ns=0), failures=[5])
    made.push(1, 100, 0)
    assert arrivals(made) == [(33 + 11.0, 1)]


def test_am_gives_up_after_its_retransmissions() -> None:
    made = leg(replace(HALF, max_retx_threshold=2), failures=[5, 5, 5])
    made.push(1, 100, 0)
    assert arrivals(made) == []
    assert made.dropped() == [1]
    counters = made.statistics()
    assert (counters.rlc_retransmissions, counters.dropped_radio) == (2, 1)


def test_a_lost_segment_alone_is_sent_again() -> None:
    made = leg(HALF, failures=[0, 5, 0])  # the middle third of it
    made.push(1, 3000, 0)
    assert arrivals(made) == [(1 + 45 + 11.0, 1)]
    assert made.statistics().rlc_retransmissions == 1


def test_a_retransmission_that_does_not_fit_one_block_is_cut() -> None:
    slower = RateTrace("t", (0, 10 * MS), (RATE, RATE // 2), 1000 * MS)
    made = leg(HALF, failures=[5], capacity=slower)
    made.push(1, 1000, 0)
    # HARQ's take two slots each now, so the last ends at 32 + 4 + 1; RLC's at 45 + 2.
    assert arrivals(made) == [(45 + 12.0, 1)]
    assert made.statistics().rlc_retransmissions == 2


def test_in_order_a_packet_waits_for_the_one_before_it() -> None:
    made = leg(HALF, failures=[1, 0])
    made.push(1, 1000, 0)
    made.push(2, 1000, 0)
    assert arrivals(made) == [(19.0, 1), (19.0, 2)]


def test_out_of_order_it_does_not() -> None:
    made = leg(replace(HALF, in_order=False), failures=[1, 0])
    made.push(1, 1000, 0)
    made.push(2, 1000, 0)
    assert arrivals(made) == [(12.0, 2), (19.0, 1)]


def test_in_order_a_packet_waits_for_a_lost_one_until_that_is_given_up() -> None:
    made = leg(replace(HALF, mode="um"), failures=[5, 0])
    made.push(1, 1000, 0)
    made.push(2, 1000, 0)
    assert arrivals(made) == [(33 + 10.0, 2)]


def test_jitter_keeps_the_order_in_which_packets_are_complete() -> None:
    jitter = LegParameters(delay=UniformDelay(0, 20 * MS), queue_packets=None)
    made = leg(RlcParameters(in_order=False, block_error=0.0), jitter)
    for number in range(100):
        made.push(number, 1000, 0)
    assert [packet for _, packet in arrivals(made)] == list(range(100))


def test_harq_goes_before_rlc_and_rlc_before_new_packets() -> None:
    rlc = replace(HALF, harq_retransmissions=1, status_ns=8 * MS, in_order=False)
    # The 1st block is given up at 9 ms, the 2nd sent again at 9 ms.
    made = leg(rlc, failures=[2, 1])
    for number in (1, 2):
        made.push(number, 1000, (number - 1) * MS)
    made.push(3, 1000, 9 * MS)
    assert arrivals(made) == [(20.0, 2), (21.0, 1), (22.0, 3)]


def test_retransmissions_take_capacity_from_new_packets() -> None:
    made = leg(HALF, failures=[1])
    made.push(0, 1000, 0)
    for number in range(1, 4):
        made.push(number, 1000, 8 * MS)
    assert [due for due, _ in arrivals(made)] == [19.0, 20.0, 21.0, 22.0]


def test_discard_drops_what_waited_too_long_at_the_next_slot() -> None:
    made = leg(replace(PERFECT, discard_ns=2 * MS))
    for number in range(4):
        made.push(number, 1000, 0)
    assert arrivals(made) == [(11.0, 0), (12.0, 1)]
    assert made.dropped() == [2, 3]
    assert made.statistics().dropped_discard == 2


def test_discard_spares_what_is_partly_sent() -> None:
    made = leg(replace(PERFECT, discard_ns=2 * MS))
    made.push(0, 5000, 0)
    made.push(1, 100, 0)
    assert arrivals(made) == [(15.0, 0)]
    assert made.dropped() == [1]
    assert made.served_packets(now=5 * MS) == 2


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


def test_a_down_leg_sends_nothing_again_until_it_is_up() -> None:
    made = leg(HALF, failures=[1])
    made.push(1, 100, 0)
    made.set_up(False, 3 * MS)
    assert made.next_timeout() is None
    made.set_up(True, 20 * MS + 1)
    assert arrivals(made) == [(21 + 11.0, 1)]


def test_a_slot_in_which_the_leg_went_down_carries_nothing() -> None:
    made = leg()
    made.push(1, 100, 0)
    made.set_up(False, MS // 2)
    made.set_up(True, MS // 2 + 1)
    assert arrivals(made) == [(12.0, 1)]


def test_what_is_in_propagation_arrives_though_the_leg_is_down() -> None:
    made = leg()
    made.push(1, 100, 0)
    made.set_up(False, MS)
    assert arrivals(made) == [(11.0, 1)]


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


@pytest.mark.parametrize("limit", [{"queue_packets": 2}, {"queue_bytes": 2999}])
def test_the_queue_refuses_what_is_beyond_its_limit(limit: dict[str, Any]) -> None:
    made = leg(PERFECT, replace(PARAMETERS, **limit))
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


def test_opportunities_are_slots_that_carry_their_bytes() -> None:
    made = leg(capacity=OpportunityTrace("t", (5, 10)))
    for number in range(3):
        made.push(number, 1000, 0)
    # One of 1,500 bytes each 5 ms.
    assert arrivals(made) == [(16.0, 0), (21.0, 1), (21.0, 2)]


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


def test_a_new_error_probability_holds_for_blocks_under_way() -> None:
    made = leg(HALF, failures=[5])
    made.push(1, 100, 0)
    made.retune(MS, block_error=0.0)
    assert arrivals(made) == [(19.0, 1)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mode": "tm"}, "mode = tm"),
        ({"block_error": 1.5}, "a probability"),
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


def test_no_probability_is_refused_while_the_leg_runs() -> None:
    with pytest.raises(ValueError, match="block_error"):
        leg().retune(0, block_error=2.0)


def test_a_packet_that_finds_nothing_to_send_waits_for_a_grant() -> None:
    made = leg(parameters=replace(PARAMETERS, grant_ns=8 * MS))
    made.push(1, 1000, 0)
    made.push(2, 1000, 7 * MS)
    assert arrivals(made) == [(19, 1), (20, 2)]


def test_discard_timer_runs_while_a_packet_waits_for_its_grant() -> None:
    made = leg(replace(PERFECT, discard_ns=5 * MS), replace(PARAMETERS, grant_ns=8 * MS))
    made.push(1, 1000, 0)
    made.push(2, 1000, 4 * MS)
    assert arrivals(made) == [(19, 2)]
    assert made.dropped() == [1]
