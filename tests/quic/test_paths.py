"""Several paths of one connection: opened, given up, kept in reserve, lost.

Each stack is a client of itself and of the other one.
"""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.quic.connection import StackError
from minitopo_dc.quic.events import PathDeleted, PathStatistics, PathUsable, Ready
from minitopo_dc.quic.noq import NOQ
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.stack import Stack
from minitopo_dc.runners.addresses import Certificate
from tests.quic.conftest import MakePair, configurations
from tests.quic.extension import STACKS_OF_ENDS, needs_picoquic
from tests.quic.pair import CLIENTS, SERVER, Network, Pair, content


@pytest.fixture(scope="module", params=STACKS_OF_ENDS)
def stacks(request: pytest.FixtureRequest) -> tuple[Stack, Stack]:
    return cast("tuple[Stack, Stack]", request.param)


@pytest.fixture(scope="module")
def stack(stacks: tuple[Stack, Stack]) -> Stack:
    """The client's."""
    return stacks[0]


@pytest.fixture(scope="module")
def server_stack(stacks: tuple[Stack, Stack]) -> Stack:
    return stacks[1]


def open_paths(pair: Pair, *numbers: int) -> None:
    """From the client's addresses of these numbers; returns when they can be used."""
    for number in numbers:
        before = available(pair)
        try:
            pair.client.connection.open_path(CLIENTS[number], SERVER, pair.now)
        except StackError:  # the peer's connection identifiers are under way
            pair.run(0.1)
            pair.client.connection.open_path(CLIENTS[number], SERVER, pair.now)
        pair.send()
        pair.run(0.3)
        assert available(pair) > before


def available(pair: Pair) -> int:
    return sum(isinstance(each, PathUsable) and each.usable for each in pair.client.events)


def by_address(pair: Pair) -> dict[str, PathStatistics]:
    """The server's paths, which is the sender's view, by the client's IP address."""
    return {path.remote[0]: path for path in pair.server.connection.paths()}


def test_both_ends_agree_on_multipath_and_validate_a_second_path(make_pair: MakePair) -> None:
    with make_pair(max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        for end in (pair.client, pair.server):
            assert Ready(True, 1, "newreno") in end.events
            assert {path.path_id: path.validated for path in end.connection.paths()} == {
                0: True,
                1: True,
            }


def test_a_path_that_is_opened_too_early_can_be_opened_later(
    make_pair: MakePair, stack: Stack, server_stack: Stack
) -> None:
    """noq gives connection identifiers later, and only for the paths that it allows."""
    with make_pair(max_paths=2) as pair:
        client = pair.connected().client.connection
        if (stack, server_stack) == (PICOQUIC, NOQ):
            with pytest.raises(StackError, match="open_path"):
                client.open_path(CLIENTS[1], SERVER, pair.now)
            assert len(client.paths()) == 1
        open_paths(pair, 1)
        assert {path.path_id for path in pair.server.connection.paths()} == {0, 1}


@pytest.mark.parametrize("legs", [2, 3, 4, 8])
def test_a_download_uses_every_path_that_was_opened(make_pair: MakePair, legs: int) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=legs) as pair:
        open_paths(pair.connected(), *range(1, legs))
        size = legs * 1_000_000
        begin = pair.now
        assert pair.wait_for(pair.get(size)) == content(size)
        assert size * 8e3 / (pair.now - begin) > legs * 10 * 0.7
        paths = by_address(pair)
        assert set(paths) == {address for address, _ in CLIENTS[:legs]}
        for path in paths.values():
            assert path.validated
            assert path.bytes_acknowledged > 500_000
            assert 20 < (path.minimum_rtt_ms or 0) < 30
            assert path.bytes_sent >= path.bytes_acknowledged
        # The last acknowledgements are still under way.
        assert sum(path.bytes_acknowledged for path in paths.values()) > 0.98 * size


def test_statistics_are_of_the_path_that_they_name(make_pair: MakePair) -> None:
    with make_pair(Network(), max_paths=2) as pair:
        pair.wait_for(pair.connected().get(100_000))
        open_paths(pair, 1)
        paths = by_address(pair)
        first, second = paths[CLIENTS[0][0]], paths[CLIENTS[1][0]]
        assert first.path_id == 0
        assert second.path_id > 0
        assert first.local == second.local == SERVER
        assert first.bytes_acknowledged > 100_000 > second.bytes_acknowledged
        assert first.in_flight_bytes <= first.cwnd_bytes + 1200


@pytest.mark.parametrize("by", ["client", "server"])
def test_an_abandoned_path_carries_nothing_and_the_rest_arrives(
    make_pair: MakePair, by: str
) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        stream = pair.get(3_000_000)
        pair.run(0.5)
        (pair.client if by == "client" else pair.server).connection.abandon_path(0, pair.now)
        pair.send()
        pair.run(0.1)
        sent = len(pair.sent)
        assert pair.wait_for(stream) == content(3_000_000)
        assert CLIENTS[0] not in {to for _, _, to, _ in pair.sent[sent:]}
        pair.run(5.0)
        assert {path.local for path in pair.client.connection.paths()} == {CLIENTS[1]}
        assert set(by_address(pair)) == {CLIENTS[1][0]}
        for end in (pair.client, pair.server):
            (deleted,) = (each for each in end.events if isinstance(each, PathDeleted))
            assert deleted.path_id == 0


def test_a_path_is_opened_again_from_the_same_address(make_pair: MakePair) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        stream = pair.get(6_000_000)
        pair.run(0.5)
        (second,) = (path for path in pair.client.connection.paths() if path.local == CLIENTS[1])
        pair.client.connection.abandon_path(second.path_id, pair.now)
        pair.send()
        pair.run(0.5)
        open_paths(pair, 1)
        sent = len(pair.sent)
        assert pair.wait_for(stream) == content(6_000_000)
        again = [len(data) for _, _, to, data in pair.sent[sent:] if to == CLIENTS[1]]
        assert sum(again) > 1_000_000


def test_a_backup_path_waits_until_it_is_needed(make_pair: MakePair) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        client = pair.client.connection
        (second,) = (path for path in client.paths() if path.local == CLIENTS[1])
        client.set_path_status(second.path_id, backup=True, now=pair.now)
        pair.send()
        pair.run(0.2)
        stream = pair.get(1_000_000)
        sent = len(pair.sent)
        assert pair.wait_for(stream) == content(1_000_000)
        held = [len(data) for _, _, to, data in pair.sent[sent:] if to == CLIENTS[1]]
        assert sum(held) < 20_000
        client.set_path_status(second.path_id, backup=False, now=pair.now)
        pair.send()
        pair.run(0.2)
        sent = len(pair.sent)
        assert pair.wait_for(pair.get(1_000_000)) == content(1_000_000)
        used = [len(data) for _, _, to, data in pair.sent[sent:] if to == CLIENTS[1]]
        assert sum(used) > 200_000


@pytest.mark.parametrize("legs", [1, 2])
def test_picoquic_sends_no_data_on_its_only_path_once_that_is_a_backup(
    make_pair: MakePair, server_stack: Stack, legs: int
) -> None:
    """docs/open-questions.md has it: noq sends, and picoquic does on one of several."""
    with make_pair(max_paths=2) as pair:
        open_paths(pair.connected(), *range(1, legs))
        stream = pair.get(100_000)
        client = pair.client.connection
        for path in client.paths():
            client.set_path_status(path.path_id, backup=True, now=pair.now)
        pair.send()
        pair.run(5.0)
        assert pair.client.closed() is None
        assert (stream in pair.client.finished) == (server_stack is NOQ or legs == 2)


def test_when_a_path_goes_dark_the_other_carries_on(make_pair: MakePair, stack: Stack) -> None:
    with make_pair(Network(rate_mbps=10), max_paths=2) as pair:
        open_paths(pair.connected(), 1)
        stream = pair.get(4_000_000)
        pair.run(0.3)
        pair.network.down.add(CLIENTS[1])
        assert pair.wait_for(stream) == content(4_000_000)
        dark = by_address(pair).get(CLIENTS[1][0])
        if dark is None:  # noq gives a silent path up
            end = pair.client if stack is NOQ else pair.server
            (gone,) = (each for each in end.events if isinstance(each, PathDeleted))
            assert not gone.statistics.abandoned
        else:
            assert dark.packets_lost > 50
            assert dark.cwnd_bytes < 10_000


@pytest.mark.parametrize(
    ("paths", "connects_first", "call", "path"),
    [
        (1, True, "open_path", 1),  # no multipath
        (2, False, "open_path", 1),
        (2, True, "abandon_path", 0),  # the last one
        (2, True, "abandon_path", 5),
        (2, True, "set_path_status", 5),
    ],
)
def test_what_cannot_be_done_to_paths_is_refused_and_changes_nothing(
    make_pair: MakePair, paths: int, call: str, path: int, *, connects_first: bool
) -> None:
    with make_pair(max_paths=paths) as pair:
        if connects_first:
            pair.connected()
        client = pair.client.connection
        with pytest.raises(StackError, match=call):
            if call == "abandon_path":
                client.abandon_path(path, pair.now)
            elif call == "set_path_status":
                client.set_path_status(path, backup=True, now=pair.now)
            else:
                client.open_path(CLIENTS[1], SERVER, pair.now)
        assert pair.wait_for(pair.connected().get(1000)) == content(1000)
        assert [path.local for path in pair.client.connection.paths()] == [CLIENTS[0]]


def test_more_paths_than_were_agreed_on_are_refused(make_pair: MakePair) -> None:
    with make_pair(max_paths=2) as pair:
        pair.connected()
        with pytest.raises(StackError, match="open_path"):
            for number in range(1, 8):
                open_paths(pair, number)
        assert pair.wait_for(pair.get(1000)) == content(1000)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.02]),
    jitter_ms=st.sampled_from([0.0, 5.0]),
    actions=st.lists(
        st.tuples(
            st.sampled_from(["open", "abandon", "backup", "use", "leg down", "leg up"]),
            st.integers(0, 2),
        ),
        max_size=8,
    ),
)
def test_whatever_is_done_to_paths_every_byte_is_right_or_the_end_has_a_reason(
    make_pair: MakePair,
    stack: Stack,
    server_stack: Stack,
    *,
    seed: int,
    loss: float,
    jitter_ms: float,
    actions: list[tuple[str, int]],
) -> None:
    network = Network(rate_mbps=10, loss=loss, jitter_ms=jitter_ms, seed=seed)
    with make_pair(network, seed_value=seed, max_paths=3, idle_timeout_s=10.0) as pair:
        stream = pair.connected().get(2_000_000)
        for action, number in actions:
            act(pair, action, number)
            pair.run(0.15)
        pair.network.down.clear()
        pair.run(60.0)
        if stream in pair.client.finished:
            assert pair.client.received[stream] == content(2_000_000)
        elif closed := pair.client.closed():
            assert closed.error
        else:  # noq's keep-alives hold a connection on which picoquic sends no data
            assert (stack, server_stack) == (NOQ, PICOQUIC)
            assert all(path.backup for path in pair.server.connection.paths())


@needs_picoquic
def test_bbr_over_two_paths_that_lose_packets_carries_nearly_twice_what_one_does(
    files: Certificate,
) -> None:
    """Acknowledgements of both paths come on one, whose counters are not the other's."""

    def goodput_mbps(paths: int) -> float:
        PICOQUIC.seed(1)
        ends = configurations(files, PICOQUIC, congestion_control="bbr", max_paths=2)
        size = paths * 4_000_000
        with Pair(*ends, Network(rate_mbps=20, delay_ms=30, loss=0.01)) as pair:
            pair.connected()
            open_paths(pair, *range(1, paths))
            begin = pair.elapsed_s
            pair.wait_for(pair.get(size))
            return size * 8e-6 / (pair.elapsed_s - begin)

    assert goodput_mbps(2) > 1.7 * goodput_mbps(1)


def act(pair: Pair, action: str, number: int) -> None:
    client = pair.client.connection
    found = [path.path_id for path in client.paths() if path.local == CLIENTS[number]]
    try:
        if action == "leg down":
            pair.network.down.add(CLIENTS[number])
        elif action == "leg up":
            pair.network.down.discard(CLIENTS[number])
        elif action == "open":
            client.open_path(CLIENTS[number], SERVER, pair.now)
        elif action == "abandon" and found:
            client.abandon_path(found[-1], pair.now)
        elif found:
            client.set_path_status(found[-1], backup=action == "backup", now=pair.now)
    except StackError:
        pass  # too many, the last one, or the connection has ended
    pair.send()
