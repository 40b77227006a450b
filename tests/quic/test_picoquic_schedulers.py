"""Schedulers of picoquic, a user's own in Python, too, and paths that it demotes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.quic.connection import DEMOTED, StackError
from minitopo_dc.quic.events import PathDeleted
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.scheduler import PathView, path_scheduler
from minitopo_dc.quic.stack import SCHEDULERS, Scheduler, Stack
from minitopo_dc.registry import load_plugins, registrations_kept
from minitopo_dc.runners.base import get_runner
from tests import REPOSITORY
from tests.quic.conftest import MakePair
from tests.quic.extension import needs_picoquic
from tests.quic.pair import CLIENTS, SERVER, Network, Pair, content
from tests.quic.test_paths import by_address, open_paths

pytestmark = needs_picoquic


@pytest.fixture(scope="module")
def stack() -> Stack:
    return PICOQUIC


FAST = {"place": 0, "cwnd": 12_000, "segment": 1200, "smoothed_rtt_us": 20_000}
SLOW = {"place": 1, "cwnd": 12_000, "segment": 1200, "smoothed_rtt_us": 100_000, "has_room": 1}


class Chooser:
    """A scheduler that is asked by itself."""

    def __init__(self, name: Scheduler, *weights: int) -> None:
        given = (*weights, *([1] * 8))[:8]
        self._ffi, self._lib = PICOQUIC.load().ffi, PICOQUIC.load().lib
        fields = {"kind": SCHEDULERS[name], "weights": given}
        self._scheduler = self._ffi.new("mdc_scheduler *", fields)

    def choose(self, *paths: dict[str, Any], unsent: int = 0, window: int = 0) -> int:
        listed = self._ffi.new("mdc_candidate[]", list(paths))
        place: int = self._lib.mdc_choose(self._scheduler, listed, len(paths), unsent, window)
        return place

    def sequence(self, *paths: dict[str, Any], packets: int = 8) -> list[int]:
        chosen = []
        for _ in range(packets):
            chosen.append(self.choose(*paths))
            self._lib.mdc_count_sent(self._scheduler, paths[chosen[-1]]["place"])
        return chosen


def test_minrtt_takes_the_shortest_round_trip_that_has_room() -> None:
    assert Chooser("minrtt").choose(SLOW, FAST | {"has_room": 1}) == 1
    assert Chooser("minrtt").choose(SLOW, FAST) == 0


@pytest.mark.parametrize(
    ("weights", "sequence"),
    [
        ((), [0, 1, 2, 0, 1, 2, 0, 1]),
        ((3, 1, 2), [0, 0, 0, 1, 2, 2, 0, 0]),
    ],
)
def test_paths_take_turns_by_their_weights(weights: tuple[int, ...], sequence: list[int]) -> None:
    paths = [SLOW | {"place": place} for place in range(3)]
    assert Chooser("weighted", *weights).sequence(*paths) == sequence


def test_a_path_without_room_loses_its_turn() -> None:
    paths = [SLOW | {"place": 0}, SLOW | {"place": 1, "has_room": 0}, SLOW | {"place": 2}]
    assert Chooser("weighted", 2, 3, 1).sequence(*paths) == [0, 0, 2, 0, 0, 2, 0, 0]


@pytest.mark.parametrize("name", ["ecf", "blest"])
def test_the_fastest_path_is_taken_where_it_has_room(name: Scheduler) -> None:
    assert Chooser(name).choose(SLOW, FAST | {"has_room": 1}, unsent=10**6) == 1


def test_ecf_waits_where_the_slow_path_would_end_later() -> None:
    # Deviation 10 ms, so the slow path ends after 110 ms; the fast one after 20 ms for each of
    # 1 + unsent / 12,000 rounds. A little data goes at once: 10 ms of the slow path's time.
    paths = SLOW | {"rtt_variation_us": 10_000}, FAST | {"rtt_variation_us": 5000}
    ecf = Chooser("ecf")
    assert ecf.choose(*paths, unsent=1200) == 0
    assert ecf.choose(*paths, unsent=60_000) == 0  # 120 ms
    assert ecf.choose(*paths, unsent=24_000) == -1  # 60 ms
    assert ecf.choose(*paths, unsent=60_000) == -1  # it waits already: up to 1.25 times 110 ms
    assert ecf.choose(*paths, unsent=72_000) == 0  # 140 ms
    assert ecf.choose(*paths, unsent=60_000) == 0


def test_blest_waits_where_the_fast_path_would_find_no_window() -> None:
    # Five round trips of the fast path send (12,000 + 1,200 * 4 / 2) * 5 = 72,000 bytes, and the
    # slow path then has 3,600 + 1,200 bytes in flight.
    paths = SLOW | {"in_flight": 3600}, FAST
    assert Chooser("blest").choose(*paths, window=76_800) == 0
    assert Chooser("blest").choose(*paths, window=76_799) == -1


def test_redundant_sends_what_others_have_sent_before_new_data() -> None:
    # New data takes the fast path, and the copies then the paths that are behind.
    fast, slow, slower = FAST | {"has_room": 1}, SLOW, SLOW | {"smoothed_rtt_us": 200_000}
    redundant, behind = Chooser("redundant"), {"is_behind": 1}
    assert redundant.choose(slow, fast, slower) == 1
    assert redundant.choose(slow | behind, fast, slower | behind) == 0
    assert redundant.choose(slow, fast, slower | behind) == 2
    assert redundant.choose(slow | behind | {"has_room": 0}, fast, slower) == 1


@pytest.mark.parametrize(
    ("scheduler", "weights", "sequence"),
    [
        ("redundant", (), [0, 1, 0, 1, 0, 1]),
        ("roundrobin", (), [0, 1, 0, 1, 0, 1]),
        ("weighted", (2, 1), [0, 0, 1, 0, 0, 1]),
        ("weighted", (1, 3), [0, 1, 1, 1, 0, 1]),
    ],
)
def test_a_connection_sends_in_this_order(
    make_pair: MakePair, scheduler: Scheduler, weights: tuple[int, ...], sequence: list[int]
) -> None:
    with make_pair(max_paths=2, scheduler=scheduler, weights=weights) as pair:
        open_paths(pair.connected(), 1)
        pair.wait_for(pair.get(500_000))  # windows grow until pacing does not hold a burst back
        begin = len(pair.sent)
        pair.wait_for(pair.get(20_000))
        sent = [to for _, source, to, data in pair.sent[begin:] if source == SERVER]
        places = [CLIENTS.index(to) for to in sent]
        # Where the turn is, the packets before say.
        assert sequence in [places[start : start + 6] for start in range(4)]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_all_arrives_over_lossy_paths_one_of_which_fails(
    make_pair: MakePair, scheduler: Scheduler
) -> None:
    network = Network(rate_mbps=10, loss=0.02, jitter_ms=5)
    with make_pair(network, max_paths=3, scheduler=scheduler) as pair:
        open_paths(pair.connected(), 1, 2)
        stream = pair.get(1_500_000)
        pair.run(0.2)
        network.down.add(CLIENTS[1])
        assert pair.wait_for(stream) == content(1_500_000)


@pytest.mark.parametrize("paths", [2, 3])
def test_each_path_carries_all_that_redundant_sends(make_pair: MakePair, paths: int) -> None:
    with make_pair(max_paths=paths, scheduler="redundant") as pair:
        open_paths(pair.connected(), *range(1, paths))
        before = [path.bytes_sent for path in pair.server.connection.paths()]
        assert pair.wait_for(pair.get(200_000)) == content(200_000)
        after = [path.bytes_sent for path in pair.server.connection.paths()]
        for sent, now in zip(before, after, strict=True):
            assert 190_000 < now - sent < 220_000  # with headers, without what has arrived


def test_a_path_that_is_behind_leaves_out_what_has_arrived(make_pair: MakePair) -> None:
    network = Network(rate_mbps=20, slow={CLIENTS[1]: 1})
    with make_pair(network, max_paths=2, scheduler="redundant") as pair:
        open_paths(pair.connected(), 1)
        begin_s = pair.elapsed_s
        assert pair.wait_for(pair.get(5_000_000)) == content(5_000_000)
        # 2 s at the fast path's rate; the slow one would take 40 s.
        assert pair.elapsed_s - begin_s < 3
        fast, slow = pair.server.connection.paths()
        assert slow.bytes_sent < fast.bytes_sent / 5


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("mpquic-picoquic", {"scheduler": "ecf", "weights": [3, 1]}, "ecf has none; .*: weighted"),
        ("mpquic-picoquic", {"scheduler": "fastest"}, "'fastest' is no scheduler; .*: picoquic, m"),
        ("mpquic-picoquic", {"demoted_paths": "2021"}, "2021; allowed: 'as-now', 'linger'"),
        ("quic-picoquic", {"demoted_paths": "2022"}, "demoted_paths: unknown field"),
    ],
)
def test_what_a_scheduler_has_not_is_refused(
    name: str, options: dict[str, Any], words: str
) -> None:
    get_runner("mpquic-picoquic").check_options({"scheduler": "weighted", "weights": [3, 1]}, 4)
    with pytest.raises(SettingsError, match=words):
        get_runner(name).check_options(options, 4)
    with pytest.raises(ValueError, match="'minrtt'"):
        path_scheduler("minrtt")(type("Mine", (), {}))


REFUSING = ["refuse", "2022"]


def give_up_first(pair: Pair) -> None:
    """In the middle of a download over two paths."""
    open_paths(pair.connected(), 1)
    pair.get(50_000_000)
    pair.run(1)
    pair.client.connection.abandon_path(0, pair.now)
    pair.send()


def lasted_s(pair: Pair) -> float:
    """Until the server has no first path any more."""
    begin = pair.now
    while not any(isinstance(each, PathDeleted) for each in pair.server.events):
        assert pair.step(begin + 20_000_000_000)
    return (pair.now - begin) / 1e9


@pytest.mark.parametrize("name", DEMOTED)
def test_in_2022_a_path_that_was_given_up_stayed_for_three_seconds(
    make_pair: MakePair, name: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2, demoted_paths=name) as pair:
        give_up_first(pair)
        assert lasted_s(pair) < 1.5 if name == "as-now" else 2.9 < lasted_s(pair) < 4


@pytest.mark.parametrize("name", DEMOTED)
def test_only_then_and_only_if_it_refuses_the_same_addresses_have_to_wait(
    make_pair: MakePair, name: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=3, demoted_paths=name) as pair:
        give_up_first(pair)
        pair.run(0.3)
        if name in REFUSING:
            with pytest.raises(StackError, match="open_path"):
                pair.client.connection.open_path(CLIENTS[0], SERVER, pair.now)
            pair.run(4)
        open_paths(pair, 0)


@pytest.mark.parametrize(("name", "sends"), [("linger", False), ("fall-back", True)])
def test_pacing_hands_on_to_the_first_path_though_it_was_given_up_if_it_falls_back(
    make_pair: MakePair, name: str, sends: bool
) -> None:
    # A window of NewReno's holds a sender back before pacing does.
    fields = {"max_paths": 2, "congestion_control": "bbr1"}
    with make_pair(Network(rate_mbps=10), demoted_paths=name, **fields) as pair:
        give_up_first(pair)
        pair.run(0.2)
        before = by_address(pair)[CLIENTS[0][0]].bytes_sent
        pair.run(2)
        assert (by_address(pair)[CLIENTS[0][0]].bytes_sent - before > 100_000) is sends


@pytest.mark.parametrize("name", DEMOTED)
def test_everything_arrives_whatever_becomes_of_the_path(make_pair: MakePair, name: str) -> None:
    with make_pair(Network(rate_mbps=10, loss=0.01), max_paths=2, demoted_paths=name) as pair:
        open_paths(pair.connected(), 1)
        stream = pair.get(3_000_000)
        pair.run(0.5)
        pair.client.connection.abandon_path(0, pair.now)
        pair.network.down.add(CLIENTS[0])
        assert pair.wait_for(stream) == content(3_000_000)


@pytest.mark.parametrize("name", DEMOTED)
def test_it_ends_where_the_last_path_fails_though_others_that_were_given_up_are_still_there(
    make_pair: MakePair, name: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=4, demoted_paths=name) as pair:
        open_paths(pair.connected(), 1)
        pair.get(50_000_000)
        pair.run(1)
        pair.network.down.add(CLIENTS[2])
        pair.client.connection.open_path(CLIENTS[2], SERVER, pair.now)
        for path in pair.client.connection.paths():
            if path.local != CLIENTS[2]:
                pair.client.connection.abandon_path(path.path_id, pair.now)
        pair.run(10)
        closed = pair.client.closed()
        assert closed is not None
        assert any(words in closed.reason for words in ("no path is left", "application abandon"))


EXAMPLE = str(REPOSITORY / "examples" / "shortest_round_trip.py")


def test_the_example_sends_each_packet_as_minrtt_does(make_pair: MakePair) -> None:
    digests = []
    with registrations_kept():
        load_plugins([EXAMPLE])
        for name in ("minrtt", "shortest-round-trip", "roundrobin"):
            network = Network(slow={CLIENTS[1]: 5})
            with make_pair(network, max_paths=2, scheduler=name) as pair:
                open_paths(pair.connected(), 1)
                assert pair.wait_for(pair.get(300_000)) == content(300_000)
                digests.append(pair.digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_scheduler_sees_the_paths_of_its_end(make_pair: MakePair) -> None:
    seen: list[Sequence[PathView]] = []

    class Watching:
        def choose(self, paths: Sequence[PathView], now_ns: int) -> int:
            assert now_ns % 1000 == 0
            seen.append(paths)
            return next(place for place, path in enumerate(paths) if path.has_room)

    with registrations_kept():
        path_scheduler("watching")(Watching)
        with make_pair(max_paths=2, scheduler="watching") as pair:
            open_paths(pair.connected(), 1)
            pair.wait_for(pair.get(200_000))
            last = seen[-1]
    assert {path.leg for path in last} == {1, 2}
    assert all(path.smoothed_rtt_ns > 20_000_000 and path.packets_sent for path in last)
    assert all(path.cwnd_bytes >= path.segment_bytes == 1200 for path in last)


class OutOfRange:
    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        return len(paths)


class Broken:
    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        raise RuntimeError("no idea")


@pytest.mark.parametrize(
    ("scheduler", "reason"),
    [
        (OutOfRange, "scheduler 'bad': chose 2, allowed: 0 to 1"),
        (Broken, r"scheduler 'bad': RuntimeError: no idea \(.*test_picoquic_schedulers.py:\d+"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(
    make_pair: MakePair, scheduler: type, reason: str
) -> None:
    with registrations_kept():
        path_scheduler("bad")(scheduler)
        with make_pair(max_paths=2, scheduler="bad") as pair:
            pair.connected()
            with pytest.raises(StackError, match=reason):
                open_paths(pair, 1)
