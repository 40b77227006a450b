"""What holds for a WiFi medium on any traffic, and the times of its frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    LegParameters,
    UniformDelay,
    WifiParameters,
    saturated_bps,
)
from minitopo_dc.link.any_leg import NEVER
from minitopo_dc.link.wifi.medium import Contender, WifiMedium
from minitopo_dc.link.wifi.parameters import (
    MEAN_ACCESS_NS,
    WifiStatistics,
    exchange_ns,
    transmission_ns,
)
from minitopo_dc.units import QueueLimit
from tests.link.wifi.pair import Pair, PathPair


def test_a_lone_packet_takes_what_the_standards_times_add_up_to() -> None:
    bits = (1500 + 8 + 26 + 4 + 4) * 8
    mpdu_ns = -(-bits * 1000 // 65)
    assert transmission_ns(WifiParameters(), 1542) == 40_000 + mpdu_ns + 16_000 + 32_000
    assert MEAN_ACCESS_NS == 34_000 + 67_500
    assert exchange_ns(WifiParameters(), 1, 1500) == 101_500 + 88_000 + mpdu_ns


@pytest.mark.parametrize(
    ("parameters", "packets"),
    [
        (WifiParameters(), 42),  # 65,535 bytes
        (WifiParameters(rate_bps=6_500_000), 5),  # 10 ms
        (WifiParameters(max_mpdus=8), 8),
        (WifiParameters(aggregation="none"), 1),
        (WifiParameters(aggregation="a-msdu"), 2),
        (WifiParameters(aggregation="a-msdu", amsdu_bytes=7935), 5),
    ],
)
def test_a_saturated_direction_fills_its_txops_to_the_limit(
    parameters: WifiParameters, packets: int
) -> None:
    expected = packets * 12_000 / exchange_ns(parameters, packets, 1500) * 1e9
    assert saturated_bps(parameters) == round(expected)


def test_errors_take_their_part_of_what_is_carried() -> None:
    ideal = saturated_bps(WifiParameters())
    assert saturated_bps(WifiParameters(mpdu_error=0.1)) == pytest.approx(0.9 * ideal)


def test_others_have_one_packet_each_for_a_long_txop_at_most() -> None:
    one, five = (saturated_bps(WifiParameters(load=0.9, stations=n)) for n in (1, 5))
    assert 0.8 * saturated_bps(WifiParameters()) < one < saturated_bps(WifiParameters())
    assert five < 0.7 * one


MS = 10**6
Step = tuple[int, str, int]

parameters = st.builds(
    LegParameters,
    queue=st.builds(QueueLimit, st.one_of(st.none(), st.integers(1, 6))),
    delay=st.sampled_from([ConstantDelay(0), ConstantDelay(3 * MS), UniformDelay(0, 4 * MS)]),
    loss=st.sampled_from([None, Bernoulli(0.3)]),
)
wifis = st.builds(
    WifiParameters,
    rate_bps=st.sampled_from([6_500_000, 65_000_000]),
    aggregation=st.sampled_from(["a-mpdu", "a-msdu", "none"]),
    max_mpdus=st.integers(1, 5),
    amsdu_wait_ns=st.sampled_from([0, MS, 20 * MS]),
    mpdu_error=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    retries=st.integers(0, 3),
    load=st.sampled_from([0.0, 0.2, 0.7]),
    stations=st.integers(1, 3),
)
WIRES = 12_000_000, 5 * MS
chains = st.tuples(
    st.lists(wifis, min_size=1, max_size=3), parameters, st.sampled_from([None, WIRES])
).filter(lambda chain: len(chain[0]) > 1 or chain[2] is not None)
Makers = st.SearchStrategy[Callable[[], Pair | PathPair]]
"""What makes the same two directions each time it is called."""
legs_and_chains = pytest.mark.parametrize(
    "makers",
    [
        st.builds(lambda *values: partial(Pair, *values), wifis, parameters),
        chains.map(lambda values: partial(PathPair, *values)),
    ],
    ids=["a leg", "a chain"],
)
ACTIONS = ["push", "push", "push", "push", "poll", "down", "up", "flush", "retune"]
steps = st.lists(
    st.tuples(
        st.one_of(st.just(0), st.integers(0, 3 * MS)),
        st.sampled_from(ACTIONS),
        st.integers(0, 1),
    ),
    max_size=50,
)


def act(pair: Pair | PathPair, action: str, direction: int) -> None:
    leg, now = pair.legs[direction], pair.now
    if action == "push":
        pair.push(direction, 100 + pair.pushed[direction] * 37)
    elif action == "poll":
        pair.poll(direction)
    elif action == "flush":
        pair.gone[direction] += leg.flush(now, lambda packet: packet % 3 != 0)
    elif action == "retune":
        leg.retune(now, delay=ConstantDelay(MS), loss=Bernoulli(0.1))
    else:
        leg.set_up(action == "up", now)


@legs_and_chains
@given(st.data(), steps)
def test_every_packet_pushed_is_delivered_dropped_or_inside(
    makers: Makers, data: st.DataObject, steps: list[Step]
) -> None:
    pair = data.draw(makers)()
    pair.start()
    for gap, action, direction in steps:
        pair.now += gap
        act(pair, action, direction)
        for number, leg in enumerate(pair.legs):
            seen = leg.statistics()
            assert isinstance(seen, WifiStatistics)
            dropped = seen.dropped_queue + seen.dropped_loss + seen.dropped_flush
            inside = seen.queue_packets + seen.air_packets
            assert seen.pushed_packets == pair.pushed[number]
            assert seen.pushed_packets == (
                seen.delivered_packets + dropped + seen.dropped_radio + inside
            )
            assert seen.air_packets >= 0
            assert leg.served_packets(now=pair.now) <= leg.joined_packets
            assert (leg.service_end(now=pair.now) or pair.now) >= pair.now


@legs_and_chains
@given(st.data(), steps)
def test_packets_come_out_once_in_order_and_as_promised(
    makers: Makers, data: st.DataObject, steps: list[Step]
) -> None:
    pair = data.draw(makers)()
    pair.start()
    for gap, action, direction in steps:
        pair.serve(pair.now + gap)
        act(pair, action, direction)
    for leg in pair.legs:
        leg.set_up(True, pair.now)
    pair.serve(pair.now + 3_000 * MS)
    for number, leg in enumerate(pair.legs):
        delivered = pair.delivered(number)
        assert delivered == sorted(set(delivered))
        assert sorted([*delivered, *pair.gone[number]]) == sorted(pair.promised[number])
        assert leg.next_timeout() is None


@legs_and_chains
@given(st.data(), steps)
def test_when_it_is_polled_changes_nothing(
    makers: Makers, data: st.DataObject, steps: list[Step]
) -> None:
    make = data.draw(makers)
    eager, lazy = make(), make()
    for pair in (eager, lazy):
        pair.start()
    for gap, action, direction in steps:
        eager.serve(eager.now + gap)
        eager.legs[direction].backlog_bytes(now=eager.now)
        lazy.now += gap
        if action != "poll":
            act(eager, action, direction)
            act(lazy, action, direction)
    end = lazy.now + 3_000 * MS
    for pair in (eager, lazy):
        pair.now = max(pair.now, end) if pair is lazy else pair.now
        pair.serve(end)
        for direction in (0, 1):
            pair.poll(direction)
    for direction in (0, 1):
        assert eager.delivered(direction) == lazy.delivered(direction)
        assert sorted(eager.gone[direction]) == sorted(lazy.gone[direction])


@given(parameters, wifis, steps)
def test_airtimes_add_up_to_the_time(
    parameters: LegParameters, wifi: WifiParameters, steps: list[Step]
) -> None:
    pair = Pair(wifi, parameters)
    pair.start()
    for gap, action, direction in steps:
        pair.serve(pair.now + gap)
        act(pair, action, direction)
        seen, other = (leg.statistics() for leg in pair.legs)
        medium = seen.medium_idle_ns + seen.medium_contention_ns + seen.medium_collision_ns
        sent = seen.airtime_ns + other.airtime_ns + seen.medium_foreign_ns
        assert medium + sent == pair.accounted_ns


class Watched(Contender):
    """A station that always wants to send, and writes down when it does."""

    def __init__(self, rng: Random, airtime: int) -> None:
        super().__init__(Random(rng.getrandbits(64)))
        self.ready = 0
        self.log: list[tuple[int, int, bool]] = []
        self._airtime = airtime
        self._begin = NEVER

    def begin(self, now: int) -> int:
        assert self._begin == NEVER
        self._begin = now
        return self._airtime

    def end(self, now: int, *, collided: bool) -> None:
        self.log.append((self._begin, now, collided))
        self._begin = NEVER
        self.back_off(failed=collided)

    def count(self, airtime: int) -> None:
        assert airtime == self._airtime


@given(st.integers(0, 1000), st.lists(st.integers(1, 2 * MS), min_size=2, max_size=5))
def test_nobody_sends_while_another_does_unless_they_begin_together(
    seed: int, airtimes: list[int]
) -> None:
    medium = WifiMedium(WifiParameters(), Random(seed))
    stations = [Watched(medium.new_rng(), airtime) for airtime in airtimes]
    for station in stations:
        medium.join(station)
    medium.advance(0)
    medium.advance(50 * MS)
    sent = sorted(entry for station in stations for entry in station.log)
    assert len(sent) > 10
    for (begin, end, collided), (later, _, too) in pairwise(sent):
        assert later > end or (later == begin and collided and too)
