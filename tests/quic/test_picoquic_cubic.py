"""Congestion controls of picoquic: Cubic, and coupled ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.quic.events import Address
from minitopo_dc.quic.picoquic import COUPLED, CUBIC, OWN_CUBIC, PICOQUIC
from minitopo_dc.quic.stack import Stack
from tests.quic.conftest import MakePair
from tests.quic.extension import needs_picoquic
from tests.quic.pair import SERVER, Network, Pair, content
from tests.quic.test_paths import by_address, open_paths

pytestmark = needs_picoquic


@pytest.fixture(scope="module")
def stack() -> Stack:
    return PICOQUIC


BETA, C = 0.7, 0.4
"""RFC 9438, sections 4.6 and 5.1."""
RTT_S = 0.1


class Cubic:
    """One path's, with acknowledgements of one segment each, a window of them per round trip."""

    def __init__(self, window: float, rtt_s: float = RTT_S) -> None:
        module = PICOQUIC.load()
        self.lib, self.state = module.lib, module.ffi.new("mdc_cubic *")
        self.rtt_s, self.now, self.sent = rtt_s, 0.0, 0
        self.lib.mdc_cubic_begin(self.state, window)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    def acknowledge(self, segments: float = 1) -> None:
        self.now += self.rtt_s * segments / self.state.window
        self.sent += 1
        self.lib.mdc_cubic_acknowledged(self.state, segments, self.rtt_s, self.now)

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.acknowledge()

    def lose(self) -> None:
        self.lib.mdc_cubic_lost(self.state)


def lost_at(window: float, rtt_s: float = RTT_S) -> Cubic:
    cubic = Cubic(window, rtt_s)
    cubic.lose()
    return cubic


def test_a_loss_leaves_seven_tenths_of_the_window() -> None:
    cubic = lost_at(100)
    assert (cubic.window, cubic.threshold, cubic.w_max, cubic.prior) == (70, 70, 100, 100)


def test_a_second_loss_below_the_last_largest_window_makes_room_for_others() -> None:
    cubic = lost_at(100)
    cubic.lose()
    assert cubic.w_max == pytest.approx(70 * (1 + BETA) / 2)


@pytest.mark.parametrize("seconds", [0.5, 2, 4, 5, 6, 8])
def test_after_a_loss_the_window_is_on_the_cubic_curve(seconds: float) -> None:
    cubic = lost_at(500)
    cubic.acknowledge()
    k = ((500 - 500 * BETA) / C) ** (1 / 3)
    assert cubic.k == pytest.approx(k)
    cubic.run(seconds)
    t = cubic.now - cubic.epoch
    # A round trip's target is reached within that round trip.
    assert C * (t - k) ** 3 + 500 == pytest.approx(cubic.window, rel=0.02)


def test_without_a_loss_congestion_avoidance_begins_at_the_curve_s_middle() -> None:
    cubic = Cubic(10)
    cubic.state.threshold = 80
    cubic.run(1)
    assert (cubic.k, cubic.w_max) == (0, 80)
    assert cubic.window > 80


def test_slow_start_doubles_the_window_in_a_round_trip_up_to_the_threshold() -> None:
    cubic = Cubic(10)
    for expected in (20, 40, 80):
        cubic.acknowledge(segments=cubic.window)
        assert cubic.window == expected
    cubic.state.threshold = 100
    cubic.acknowledge(segments=80)
    assert cubic.window == 100


def test_short_round_trips_have_reno_s_share_and_its_growth_above_the_window_before() -> None:
    cubic = lost_at(20, rtt_s=0.01)
    before = cubic.window
    cubic.run(0.1)  # ten round trips, of 3 (1 - 0.7) / (1 + 0.7) segments each
    assert cubic.window - before == pytest.approx(10 * 3 * (1 - BETA) / (1 + BETA), rel=0.1)
    while cubic.window < 20:
        cubic.acknowledge()
    before = cubic.window
    cubic.run(0.1)
    assert cubic.window - before == pytest.approx(10, rel=0.1)


def test_persistent_congestion_leaves_two_segments_and_the_threshold() -> None:
    cubic = Cubic(100)
    cubic.lib.mdc_cubic_collapsed(cubic.state)
    assert (cubic.window, cubic.threshold, cubic.w_max) == (2, 70, 0)


@given(st.floats(2, 10_000), st.floats(0.001, 1), st.floats(0, 100))
def test_a_round_trip_never_adds_more_than_half_of_the_window(
    window: float, rtt_s: float, idle_s: float
) -> None:
    cubic = lost_at(window, rtt_s)
    cubic.acknowledge()
    cubic.now += idle_s
    before = cubic.window
    cubic.acknowledge(segments=before)
    assert before <= cubic.window <= max(1.5 * before, before + 1)


@pytest.mark.parametrize(("loss", "rtt_s"), [(1e-2, 0.1), (1e-3, 0.2), (1e-4, 0.1), (1e-4, 0.05)])
def test_the_mean_window_is_the_rfc_s(loss: float, rtt_s: float) -> None:
    """Section 5.1's formula, or where that is larger, Reno's (RFC 5348's without timeouts)."""
    cubic_s = (C * (3 + BETA) / (4 * (1 - BETA))) ** 0.25 * rtt_s**0.75 / loss**0.75
    reno_s = (1.5 / loss) ** 0.5
    cubic = lost_at(max(cubic_s, reno_s), rtt_s)
    for _ in range(12):
        for _ in range(round(1 / loss)):
            cubic.acknowledge()
        cubic.lose()
    mean = cubic.sent / (cubic.now / rtt_s)
    assert mean == pytest.approx(max(cubic_s, reno_s), rel=0.12)


def goodput(make_pair: MakePair, control: str, network: Network, paths: int = 1) -> float:
    with make_pair(network, congestion_control=control, max_paths=paths) as pair:
        open_paths(pair.connected(), *range(1, paths))
        begin = pair.now
        assert pair.wait_for(pair.get(4_000_000)) == content(4_000_000)
        return 4_000_000 * 8e3 / (pair.now - begin)


def test_sparse_losses_hold_it_back_and_not_picoquic_s_own(make_pair: MakePair) -> None:
    of = {
        name: goodput(make_pair, name, Network(rate_mbps=50, delay_ms=20, loss=0.01))
        for name in (CUBIC, OWN_CUBIC)
    }
    # Reno's formula: 12.2 segments of 1,200 bytes per round trip of 40 ms are 2.9 Mbit/s.
    assert 2 < of[CUBIC] < 4.5
    assert of[OWN_CUBIC] > 2 * of[CUBIC]


def test_without_losses_it_fills_every_path(make_pair: MakePair) -> None:
    assert goodput(make_pair, CUBIC, Network(rate_mbps=10)) > 8.5
    assert goodput(make_pair, CUBIC, Network(rate_mbps=10), paths=2) > 15


def test_datagrams_that_overtake_each_other_cost_it_little(make_pair: MakePair) -> None:
    assert goodput(make_pair, CUBIC, Network(rate_mbps=10, jitter_ms=3)) > 7


SECONDS = 40
STEP_S = 0.002
"""By which the two connections are ahead of each other at most: a tenth of a round trip."""
ALL: Address = ("all clients", 0)


class Bottleneck(Network):
    """One queue each way for all addresses."""

    def arrivals(self, size: int, source: Address, destination: Address, now: int) -> Iterator[int]:
        if source == SERVER:
            return super().arrivals(size, SERVER, ALL, now)
        return super().arrivals(size, ALL, destination, now)


def ratio(make_pair: MakePair, control: str) -> float:
    """What a connection over two paths gets of that of a NewReno one over one, at a bottleneck."""
    network = Bottleneck(rate_mbps=10, delay_ms=10)
    with (
        make_pair(network, congestion_control=control, max_paths=2) as several,
        make_pair(network, congestion_control="newreno") as one,
    ):
        open_paths(several.connected(), 1)
        one.connected()
        one.run((several.now - one.now) / 1e9)
        for pair in (several, one):
            pair.get(10 * SECONDS * 1_000_000)
        for _ in range(round(SECONDS / STEP_S)):
            several.run(STEP_S)
            one.run(STEP_S)
        return received(several) / received(one)


def received(pair: Pair) -> int:
    return sum(map(len, pair.client.received.values()))


@pytest.mark.parametrize("control", ["newreno", *COUPLED])
def test_only_coupled_paths_together_take_what_one_connection_would(
    make_pair: MakePair, control: str
) -> None:
    share = ratio(make_pair, control)
    assert share > 1.6 if control == "newreno" else 0.6 < share < 1.4


@pytest.mark.parametrize("control", COUPLED)
def test_coupled_paths_fill_two_bottlenecks(make_pair: MakePair, control: str) -> None:
    with make_pair(Network(rate_mbps=10), congestion_control=control, max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        begin = pair.now
        pair.wait_for(pair.get(15_000_000))
        assert 15 * 8e9 / (pair.now - begin) > 0.8 * 20
        assert all(path.bytes_acknowledged > 4_000_000 for path in by_address(pair).values())


@pytest.mark.parametrize("control", COUPLED)
def test_over_one_path_it_is_as_good_as_newreno(make_pair: MakePair, control: str) -> None:
    newreno = goodput(make_pair, "newreno", Network(rate_mbps=10))
    assert goodput(make_pair, control, Network(rate_mbps=10)) == pytest.approx(newreno, rel=0.1)
