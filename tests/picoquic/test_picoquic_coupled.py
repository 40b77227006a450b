"""Congestion control over all paths, at a bottleneck that they share with another connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minitopo_dc.picoquic.configuration import COUPLED
from minitopo_dc.picoquic.events import Address
from tests.picoquic.conftest import MakePair
from tests.picoquic.extension import needs_picoquic
from tests.picoquic.pair import SERVER, Network, Pair
from tests.picoquic.test_picoquic_paths import by_address, open_paths

pytestmark = needs_picoquic

SECONDS = 20
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


def test_newreno_on_each_path_takes_more_than_a_connection_s_share(make_pair: MakePair) -> None:
    assert ratio(make_pair, "newreno") > 1.6


@pytest.mark.parametrize("control", COUPLED)
def test_coupled_paths_together_take_what_one_connection_would(
    make_pair: MakePair, control: str
) -> None:
    assert 0.6 < ratio(make_pair, control) < 1.4


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
    times = []
    for name in (control, "newreno"):
        with make_pair(Network(rate_mbps=10), congestion_control=name) as pair:
            pair.connected()
            begin = pair.now
            pair.wait_for(pair.get(5_000_000))
            times.append(pair.now - begin)
    assert times[0] == pytest.approx(times[1], rel=0.1)
