"""A WiFi leg: its TXOPs, errors, order, outages, and the medium that both directions share."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from minitopo_dc.link import (
    Bernoulli,
    ConstantDelay,
    LegParameters,
    WifiLeg,
    WifiParameters,
    make_capacity,
    saturated_bps,
)
from minitopo_dc.link.wifi.medium import WifiMedium
from minitopo_dc.link.wifi.parameters import transmission_ns
from tests.link.wifi.pair import PLAIN, Pair

MS = 1_000_000
S = 1_000_000_000
US = 1_000


def saturate(pair: Pair, directions: tuple[int, ...], seconds: float = 2) -> list[float]:
    """Mbit/s of each direction whose queue is never empty."""
    end = pair.now + round(seconds * S)
    while pair.now < end:
        for direction in directions:
            while pair.legs[direction].backlog_bytes(now=pair.now) < 400_000:
                pair.push(direction)
        pair.serve(pair.now + 5 * MS)
    return [leg.statistics().delivered_bytes * 8 / seconds / 1e6 for leg in pair.legs]


def test_a_lone_packet_waits_for_difs_and_its_back_off_and_takes_its_airtime() -> None:
    moments = set()
    for seed in range(100):
        pair = Pair(WifiParameters(), seed=seed)
        pair.push(0)
        pair.serve(S)
        [(_, moment)] = pair.arrivals[0]
        moments.add(moment - transmission_ns(WifiParameters(), 1542) - 34 * US)
    assert moments == {slots * 9 * US for slots in range(16)}


@pytest.mark.parametrize(
    ("limits", "txops"),
    [
        ({"max_mpdus": 10}, [10, 10, 5]),
        ({"max_bytes": 5 * 1542}, [5] * 5),
        ({"ppdu_ns": MS}, [5] * 5),
        ({"aggregation": "none"}, [1] * 25),
    ],
)
def test_what_waits_when_a_txop_begins_is_in_it_up_to_the_limit(
    limits: dict[str, Any], txops: list[int]
) -> None:
    pair = Pair(WifiParameters(**limits))
    for _ in range(25):
        pair.push(0)
    pair.serve(S)
    moments = [moment for _, moment in pair.arrivals[0]]
    assert [moments.count(moment) for moment in sorted(set(moments))] == txops
    seen = pair.legs[0].statistics()
    assert (seen.txops, seen.mpdus_max) == (len(txops), max(txops))


def test_an_a_msdu_waits_until_it_is_full_or_its_first_packet_has_waited() -> None:
    pair = Pair(WifiParameters(aggregation="a-msdu", amsdu_wait_ns=20 * MS))
    for now in (0, 5 * MS, 10 * MS):  # the third does not fit into 3,839 bytes
        pair.serve(now)
        assert pair.arrivals[0] == []
        pair.push(0)
    pair.serve(15 * MS)
    assert pair.delivered(0) == [0, 1]
    pair.serve(S)
    assert 30 * MS < pair.arrivals[0][-1][1] < 31 * MS


@pytest.mark.parametrize(("aggregation", "packets"), [("a-msdu", 2), ("a-mpdu", 1)])
def test_after_the_last_retry_a_packet_or_an_a_msdu_is_dropped_and_told(
    aggregation: Any, packets: int
) -> None:
    pair = Pair(WifiParameters(aggregation=aggregation, mpdu_error=1.0, retries=3))
    for _ in range(packets):
        assert pair.push(0)
    pair.serve(S)
    seen = pair.legs[0].statistics()
    assert pair.gone[0] == list(range(packets))
    assert (seen.mpdus, seen.mpdu_retransmissions, seen.dropped_radio) == (4, 3, packets)


@pytest.mark.parametrize(
    ("fields", "tolerance"),
    [
        *(({"aggregation": kind}, 0.02) for kind in ("a-mpdu", "a-msdu", "none")),
        *(({"load": load}, 0.05) for load in (0.03, 0.2, 0.5)),
        ({"mpdu_error": 0.2}, 0.05),
    ],
)
def test_a_saturated_direction_carries_what_the_arithmetic_says(
    fields: dict[str, Any], tolerance: float
) -> None:
    wifi = WifiParameters(**fields)
    pair = Pair(wifi)
    pair.start()
    down, _ = saturate(pair, (0,))
    assert down * 1e6 == pytest.approx(saturated_bps(wifi), rel=tolerance)


def test_both_directions_share_the_medium_fairly() -> None:
    wifi = WifiParameters(aggregation="none")
    down, up = saturate(Pair(wifi), (0, 1))
    assert down == pytest.approx(up, rel=0.1)


def test_two_that_are_never_idle_collide_as_often_as_their_windows_let_them() -> None:
    # Of two windows of 16 slots, frozen while the other sends: Bianchi's tau = 2 / (W + 1) with
    # doubling left out, hence about 1 in 9 (IEEE JSAC 18 (2000) 535, equations 8 and 9).
    pair = Pair(WifiParameters(aggregation="none"))
    saturate(pair, (0, 1))
    for leg in pair.legs:
        seen = leg.statistics()
        assert 0.08 < seen.collisions / seen.txops < 0.13


@pytest.mark.parametrize("stations", [1, 5])
def test_others_take_as_much_time_as_their_load_together(stations: int) -> None:
    pair = Pair(WifiParameters(load=0.3, stations=stations))
    pair.start()
    assert pair.legs[0].next_timeout() is None  # they do not wake a leg that has nothing to do
    for until in (20 * S, 21 * S):
        pair.push(0)
        pair.serve(until)
    share = pair.legs[0].statistics().medium_foreign_ns / pair.accounted_ns
    assert share == pytest.approx(0.3, rel=0.05)


def test_what_failed_keeps_those_behind_it_waiting() -> None:
    wifi = WifiParameters(mpdu_error=0.3)
    pair = Pair(wifi)
    for _ in range(400):
        pair.push(0)
    pair.serve(10 * S)
    moments = [moment for _, moment in pair.arrivals[0]]
    assert pair.delivered(0) == list(range(400))
    assert moments == sorted(moments)
    assert pair.legs[0].statistics().mpdu_retransmissions == pytest.approx(400 * 3 / 7, rel=0.3)


def test_the_window_holds_new_packets_back_behind_one_that_fails() -> None:
    pair = Pair(WifiParameters(max_mpdus=4, mpdu_error=0.5, retries=100))
    for _ in range(300):
        pair.push(0)
    station = pair.legs[0]._station
    while (due := pair.legs[0].next_timeout()) is not None:
        pair.serve(due)
        sent = [mpdu.sequence for mpdu in (*station._flying, *station._again)]
        assert not sent or max(sent) - min(sent) < 4


def test_losses_follow_from_errors_and_retries() -> None:
    pair = Pair(WifiParameters(mpdu_error=0.5, retries=2))
    for _ in range(4000):
        pair.push(0)
    pair.serve(100 * S)
    assert pair.legs[0].statistics().dropped_radio == pytest.approx(4000 * 0.5**3, rel=0.15)


def test_a_loss_behind_the_hop_is_known_at_once_and_takes_its_airtime() -> None:
    lossy = LegParameters(delay=ConstantDelay(0), loss=Bernoulli(1.0))
    pair = Pair(WifiParameters(), lossy)
    assert not pair.push(0)
    pair.serve(S)
    seen = pair.legs[0].statistics()
    assert seen.dropped_loss == 1
    assert seen.airtime_ns == transmission_ns(WifiParameters(), 1542)


def test_a_direction_that_is_down_sends_when_it_is_up_again() -> None:
    pair = Pair(WifiParameters())
    pair.legs[0].set_up(False, 0)
    pair.push(0)
    assert pair.legs[0].next_timeout() is None
    pair.now = 50 * MS
    pair.legs[0].set_up(True, pair.now)
    pair.serve(S)
    [(_, moment)] = pair.arrivals[0]
    assert 50 * MS < moment < 51 * MS


def test_what_is_being_sent_when_it_goes_down_is_sent_again_without_a_retry() -> None:
    pair = Pair(WifiParameters(retries=0))
    pair.push(0)
    due = pair.legs[0].next_timeout()
    assert due is not None
    pair.serve(due)  # the TXOP begins
    assert pair.medium._sending
    pair.legs[0].set_up(False, pair.now)
    pair.serve(10 * MS)
    assert pair.arrivals[0] == []
    pair.legs[0].set_up(True, pair.now)
    pair.serve(S)
    assert pair.delivered(0) == [0]


def test_a_flush_takes_what_has_not_arrived_and_holds_nothing_up() -> None:
    pair = Pair(WifiParameters(max_mpdus=2))
    for _ in range(6):
        pair.push(0)
    due = pair.legs[0].next_timeout()
    assert due is not None
    pair.serve(due)
    assert pair.legs[0].flush(pair.now, lambda packet: packet % 2 == 0) == [2, 4, 0]
    pair.serve(S)
    assert pair.delivered(0) == [1, 3, 5]


def test_a_flush_of_all_leaves_nothing_to_send() -> None:
    pair = Pair(WifiParameters())
    for _ in range(3):
        pair.push(0)
    assert pair.legs[0].flush(pair.now) == [0, 1, 2]
    assert pair.legs[0].next_timeout() is None


def test_followers_learn_how_far_the_queue_is() -> None:
    leg: WifiLeg[int] = WifiLeg(PLAIN, WifiMedium(WifiParameters(), Random(1)), Random(1))
    for number in range(3):
        leg.push(number, 1500, 0)
    assert (leg.joined_packets, leg.served_packets(now=0), leg.backlog_bytes(now=0)) == (3, 0, 4500)
    begin = leg.service_end(now=0)
    assert begin == leg.next_timeout()
    assert begin is not None
    assert leg.served_packets(now=begin) == 3
    assert leg.backlog_bytes(now=begin) == 4500
    assert leg.service_end(now=begin) is None
    assert leg.drain_ns(now=begin) == -(-4500 * 8 * S // saturated_bps(WifiParameters()))


def test_a_capacity_cannot_be_given_to_it() -> None:
    leg = Pair(WifiParameters()).legs[0]
    with pytest.raises(ValueError, match="capacity: "):
        leg.retune(0, capacity=make_capacity(1))


@pytest.mark.parametrize(
    "fields",
    [
        {"aggregation": "both"},
        {"rate_bps": 0},
        {"max_mpdus": 0},
        {"retries": -1},
        {"mpdu_error": 1.1},
        {"load": 1.0},
        {"stations": 0},
    ],
)
def test_parameters_refuse_what_is_none(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(fields))} = .* \(allowed: "):
        WifiParameters(**fields)  # type: ignore[arg-type]
