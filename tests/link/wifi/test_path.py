"""Hops of WiFi in series and wires before them: times and counters."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    ErrorBursts,
    LegParameters,
    WifiLeg,
    WifiParameters,
    WifiPath,
    make_capacity,
    saturated_bps,
)
from minitopo_dc.link.wifi.parameters import WifiStatistics
from minitopo_dc.units import UNLIMITED, QueueLimit
from tests.link.wifi.pair import PLAIN, Pair, PathPair
from tests.link.wifi.test_properties import MS, WIRES

HOP = WifiParameters()


def first_arrival(pair: PathPair, direction: int) -> int:
    pair.push(direction)
    pair.serve(1_000 * MS)
    [(_, moment)] = pair.arrivals[direction]
    return moment


def wifi_statistics(pair: PathPair, direction: int = 0) -> WifiStatistics:
    found = pair.legs[direction].statistics()
    assert isinstance(found, WifiStatistics)
    return found


def test_one_hop_without_wires_is_a_leg_and_no_chain() -> None:
    path = WifiPath([HOP], [Random(1)])
    assert isinstance(path.leg(PLAIN, Random(1), uplink=False), WifiLeg)


@pytest.mark.parametrize("direction", [0, 1])
def test_a_packet_takes_the_sum_of_its_hops_and_wires(direction: int) -> None:
    hops = [first_arrival(PathPair([HOP] * number, wired=WIRES), direction) for number in (1, 2, 3)]
    airtime = 277_785  # preamble, 1,542 bytes at 65 Mbit/s, SIFS, BlockAck
    least, most = 34_000 + airtime, 34_000 + 15 * 9_000 + airtime
    assert 6 * MS + least <= hops[0] <= 6 * MS + most  # 1 ms in the wires, and 5
    for shorter, longer in pairwise(hops):
        assert least <= longer - shorter <= most


def test_what_is_behind_the_path_is_there_once() -> None:
    behind = LegParameters(queue=UNLIMITED, delay=ConstantDelay(7 * MS))
    for direction in (0, 1):
        plain, delayed = (
            first_arrival(PathPair([HOP] * 2, parameters, WIRES), direction)
            for parameters in (PLAIN, behind)
        )
        assert delayed - plain == 7 * MS
        assert PathPair([HOP] * 2, behind, WIRES).legs[direction].mean_delay_ns == 12 * MS


def test_uplink_packets_meet_the_hops_the_other_way_round() -> None:
    slow = WifiParameters(rate_bps=6_500_000)
    for direction, at_first_hop in ((0, False), (1, True)):
        pair = PathPair([HOP, slow])
        for _ in range(200):
            pair.push(direction)
        waiting = []
        for _ in range(20):
            pair.serve(pair.now + MS)
            waiting.append(pair.legs[direction].backlog_bytes(now=pair.now))
            assert pair.legs[direction].rate_bps(now=pair.now) == saturated_bps(slow)
        left_first = pair.legs[direction].served_packets(now=pair.now)
        assert (left_first < 100) == at_first_hop
        assert waiting == sorted(waiting, reverse=True)


def test_a_full_queue_of_a_later_hop_drops_what_was_promised() -> None:
    slow = WifiParameters(rate_bps=6_500_000, aggregation="none")
    pair = PathPair([HOP, slow], LegParameters(queue=QueueLimit(20), delay=ConstantDelay(0)))
    for _ in range(100):
        pair.serve(pair.now + MS // 2)
        assert pair.push(0)
    pair.serve(pair.now + 1_000 * MS)
    seen = wifi_statistics(pair)
    assert seen.dropped_queue == len(pair.gone[0]) > 0
    assert len(pair.arrivals[0]) == 100 - seen.dropped_queue
    assert seen.queue_max_packets == 20


def test_in_an_outage_the_hops_are_silent_and_the_wires_go_on() -> None:
    pair = PathPair([HOP], wired=WIRES)
    pair.legs[0].set_up(False, 0)
    assert not pair.legs[0].is_up
    pair.push(0)
    pair.serve(100 * MS)
    assert pair.legs[0].rate_bps(now=pair.now) == 0
    assert pair.legs[0].drain_ns(now=pair.now) is None
    assert wifi_statistics(pair).queue_packets == 1
    assert pair.legs[0].backlog_bytes(now=pair.now) == 1500
    pair.legs[0].set_up(True, pair.now)
    pair.serve(200 * MS)
    assert pair.delivered(0) == [0]


def test_a_packet_of_the_uplink_takes_the_wires_behind_the_hops() -> None:
    pair = PathPair([HOP], wired=WIRES)
    pair.legs[1].set_up(False, 0)
    pair.push(1)
    pair.serve(100 * MS)
    pair.legs[1].set_up(True, pair.now)
    pair.serve(200 * MS)
    [(_, moment)] = pair.arrivals[1]
    assert moment > 106 * MS  # 1 ms in the wires, and 5


def test_a_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity: "):
        PathPair([HOP, HOP]).legs[0].retune(0, capacity=make_capacity(1))


def test_errors_in_bursts_are_as_many_as_their_states_say() -> None:
    bursts = ErrorBursts(p=0.05, r=0.2, bad=0.8)
    wifi = WifiParameters(aggregation="none", mpdu_error=0.1, error_bursts=bursts, retries=0)
    assert wifi.mean_mpdu_error == pytest.approx(0.2 * 0.8 + 0.8 * 0.1)
    pair = Pair(wifi)
    for _ in range(4000):
        pair.push(0)
    pair.serve(100_000 * MS)
    lost = [number in set(pair.gone[0]) for number in range(4000)]
    assert sum(lost) / 4000 == pytest.approx(wifi.mean_mpdu_error, rel=0.15)
    after_loss = [later for earlier, later in pairwise(lost) if earlier]
    assert sum(after_loss) / len(after_loss) > 1.5 * wifi.mean_mpdu_error


@pytest.mark.parametrize(
    "fields", [{"p": 2, "r": 0}, {"p": 0, "r": -1}, {"p": 0, "r": 0, "bad": 7}]
)
def test_bursts_of_no_probability_are_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        ErrorBursts(**fields)


def test_a_random_loss_is_behind_the_last_hop_and_told_when_it_is_known() -> None:
    pair = PathPair([HOP, HOP], LegParameters(queue=UNLIMITED, loss=Bernoulli(1.0)))
    assert pair.push(0)
    pair.serve(100 * MS)
    assert pair.gone[0] == [0]
    assert wifi_statistics(pair).dropped_loss == 1
    assert wifi_statistics(pair).mpdus == 2
