"""One connection on one path: handshake, streams, DATAGRAM frames, time, what is refused."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.quic.connection import Connection, StackError
from minitopo_dc.quic.events import Confirmed, DatagramFrame, Ready, StreamData, StreamReset
from minitopo_dc.quic.noq import NOQ
from minitopo_dc.quic.picoquic import PICOQUIC
from minitopo_dc.quic.stack import Stack
from minitopo_dc.runners.addresses import Certificate
from minitopo_dc.runners.certificate import make_certificate
from tests.quic.conftest import MakePair, configurations
from tests.quic.extension import STACKS, needs_noq, needs_picoquic
from tests.quic.pair import BEGIN, CLIENTS, SERVER, Network, Pair, content


@pytest.mark.parametrize("paths", [1, 2])
def test_both_ends_shake_hands_in_a_round_trip_or_two(make_pair: MakePair, paths: int) -> None:
    with make_pair(Network(delay_ms=10), max_paths=paths) as pair:
        pair.connected()
        assert 0.02 < pair.elapsed_s < 0.06
        for end in (pair.client, pair.server):
            assert Ready(paths > 1, 1, "newreno") in end.events
        assert list(pair.client.connection.events(all_data=True)) == []  # all were told


def test_what_is_written_in_pieces_arrives_as_one(make_pair: MakePair) -> None:
    with make_pair() as pair:
        connection = pair.connected().client.connection
        stream = connection.open_stream()
        for piece in (b"GE", b"T ", b"30", b""):
            connection.write(stream, piece, end_stream=not piece)
        pair.send()
        assert pair.wait_for(stream) == content(30)


@pytest.mark.parametrize("size", [0, 1, 250, 251, 1756, 1757, 1758])
def test_repeated_content_ends_where_it_was_told_to(make_pair: MakePair, size: int) -> None:
    with make_pair() as pair:
        assert pair.wait_for(pair.connected().get(size)) == content(size)


def test_streams_do_not_mix(make_pair: MakePair) -> None:
    with make_pair() as pair:
        pair.connected()
        streams = {size: pair.get(size) for size in (300_000, 200_000, 100_000, 1)}
        assert len(set(streams.values())) == 4
        for size, stream in streams.items():
            assert pair.wait_for(stream) == content(size)
            assert pair.server.received[stream] == b"GET %d" % size
            assert stream in pair.server.finished
        for _ in range(300):  # one block answers many
            assert pair.wait_for(pair.get(100)) == content(100)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    loss=st.sampled_from([0.0, 0.01, 0.1]),
    jitter_ms=st.sampled_from([0.0, 1.0, 40.0]),
    duplicates=st.sampled_from([0.0, 0.1]),
    damage=st.sampled_from([0.0, 0.03]),
    control=st.integers(0, 100),
)
def test_every_byte_is_right_through_loss_reordering_duplicates_and_damage(
    make_pair: MakePair,
    stack: Stack,
    *,
    seed: int,
    loss: float,
    jitter_ms: float,
    duplicates: float,
    damage: float,
    control: int,
) -> None:
    network = Network(
        loss=loss, jitter_ms=jitter_ms, duplicates=duplicates, damage=damage, seed=seed
    )
    name = stack.congestion_controls[control % len(stack.congestion_controls)]
    with make_pair(network, seed_value=seed, congestion_control=name) as pair:
        assert pair.wait_for(pair.connected().get(200_000)) == content(200_000)


@pytest.mark.parametrize(
    ("stack", "control"),
    [
        pytest.param(*param.values, control, marks=param.marks)
        for param in STACKS
        for control in param.values[0].congestion_controls
    ],
)
def test_each_congestion_control_fills_most_of_a_path(
    files: Certificate, stack: Stack, control: str
) -> None:
    stack.seed(1)
    ends = configurations(files, stack, congestion_control=control)
    with Pair(*ends, Network(rate_mbps=20)) as pair:
        stream = pair.connected().get(4_000_000)
        pair.wait_for(stream)
        assert 4_000_000 * 8 / pair.elapsed_s > 14e6


def test_two_runs_with_one_seed_send_the_same_datagrams_at_the_same_times(
    make_pair: MakePair,
) -> None:
    def digest(seed_value: int) -> str:
        network = Network(loss=0.02, jitter_ms=3)
        with make_pair(network, seed_value=seed_value) as pair:
            pair.wait_for(pair.connected().get(300_000))
            return pair.digest()

    first = digest(7)
    assert digest(8) != first
    assert digest(7) == first


def test_silence_ends_the_connection_which_says_so_and_takes_no_more(make_pair: MakePair) -> None:
    with make_pair(idle_timeout_s=2.0) as pair:
        pair.connected().run(4.0)
        for end in (pair.client, pair.server):
            closed = end.closed()
            assert closed is not None
            assert closed.by == "this end"
            assert "idle" in closed.reason.lower()
            assert end.connection.ended
            assert end.connection.next_timeout() is None
        connection = pair.client.connection
        for call in (
            lambda: connection.write(0, b"x"),
            lambda: connection.write_repeated(0, b"x", 1),
            lambda: connection.open_path(CLIENTS[1], SERVER, pair.now),
            lambda: connection.abandon_path(0, pair.now),
            lambda: connection.set_path_status(0, backup=True, now=pair.now),
            lambda: connection.close(pair.now),
            connection.open_stream,
        ):
            with pytest.raises(StackError):
                call()


def test_without_an_answer_a_client_gives_up(make_pair: MakePair) -> None:
    with make_pair(Network(down={SERVER}), idle_timeout_s=3.0) as pair:
        pair.run(60.0)
        assert pair.client.closed() is not None
        assert pair.client.connection.ended
        assert pair.server.connection.ended  # never began


def test_closing_tells_the_peer(make_pair: MakePair) -> None:
    with make_pair() as pair:
        pair.connected().client.connection.close(pair.now, error=5, reason="enough")
        pair.send()
        pair.run(3.0)
        closed = pair.server.closed()
        assert closed is not None
        assert closed.by == "peer's application"
        assert closed.error == 5
        assert pair.client.connection.ended
        assert pair.server.connection.ended


def test_what_is_not_of_quic_does_nothing(make_pair: MakePair) -> None:
    with make_pair(Network()) as pair:
        stream = pair.connected().get(200_000)
        for number in range(200):
            for end, source, own in (
                (pair.client, SERVER, CLIENTS[0]),
                (pair.server, CLIENTS[0], SERVER),
            ):
                garbage = bytes((number * 7 + index * 13) % 256 for index in range(number * 7))
                end.connection.receive_all([(garbage, source, own, 0)], pair.now)
            pair.step(pair.now + 10**8)
        pair.server.connection.receive_all(
            [(bytes(4000), CLIENTS[0], SERVER, 0)], pair.now
        )  # too large
        assert pair.wait_for(stream) == content(200_000)


def test_a_server_of_garbage_has_no_connection(files: Certificate, stack: Stack) -> None:
    _, configuration = configurations(files, stack)
    server = Connection(configuration, BEGIN)
    for size in (0, 1, 20, 1200, 1500):
        data = b"\xc0\0\0\0\1" + bytes(size)
        server.receive_all([(data, CLIENTS[0], SERVER, 0)], BEGIN)
        server.datagrams(BEGIN)
    assert server.ended
    assert server.paths() == []


def test_a_client_that_sends_nothing_yet_wants_to_at_once(files: Certificate, stack: Stack) -> None:
    configuration, _ = configurations(files, stack)
    client = Connection(configuration, BEGIN)
    assert (client.next_timeout(), list(client.events())) == (None, [])
    for call in (client.open_stream, lambda: client.write(0, b"x")):
        with pytest.raises(StackError):
            call()
    client.connect(CLIENTS[0], SERVER, BEGIN)
    assert client.next_timeout() == BEGIN
    ((data, _, destination),) = client.datagrams(BEGIN)
    assert (len(data), destination) == (1200, SERVER)
    assert (client.next_timeout() or 0) > BEGIN


def test_a_file_that_is_no_certificate_is_refused(
    files: Certificate, stack: Stack, tmp_path: Path
) -> None:
    (tmp_path / "wrong.pem").write_text("nothing")
    _, configuration = configurations(files, stack)
    for wrong in (tmp_path / "wrong.pem", tmp_path / "none.pem"):
        with pytest.raises(StackError, match="certificate or the key"):
            Connection(replace(configuration, certificate=wrong), BEGIN)
        with pytest.raises(StackError, match="certificate or the key"):
            Connection(replace(configuration, key=wrong), BEGIN)


@pytest.mark.parametrize(
    ("stack", "trusted"),
    [
        pytest.param(PICOQUIC, "another", marks=needs_picoquic),
        pytest.param(PICOQUIC, "nothing", marks=needs_picoquic),
        pytest.param(NOQ, "another", marks=needs_noq),  # it refuses a file with nothing
    ],
)
def test_a_client_ends_when_it_does_not_trust_the_certificate(
    files: Certificate, stack: Stack, tmp_path: Path, trusted: str
) -> None:
    other = make_certificate(tmp_path, [])
    if trusted == "nothing":
        other.certificate.write_text("no certificate")
    client, server = configurations(files, stack)
    with Pair(replace(client, certificate=other.certificate), server, Network()) as pair:
        pair.run(20.0)
        closed = pair.client.closed()
        assert closed is not None
        assert closed.error
        assert not pair.client.is_ready()
        assert not pair.server.is_ready()


def test_ipv6_addresses_do_and_what_is_none_is_refused(files: Certificate, stack: Stack) -> None:
    configuration, _ = configurations(files, stack)
    client = Connection(configuration, BEGIN)
    with pytest.raises(StackError, match=r"address 10\.0\.0\.256"):
        client.connect(("10.0.0.256", 1), SERVER, BEGIN)
    client.connect(("fd00::1", 5), ("fd00::2", 4433), BEGIN)
    ((_, _, destination),) = client.datagrams(BEGIN)
    assert destination == ("fd00::2", 4433)


def test_all_data_is_had_when_asked_for(make_pair: MakePair) -> None:
    with make_pair() as pair:
        stream = pair.connected().get(20_000)
        pair.client.react = lambda **_: None  # type: ignore[method-assign]
        pair.run(0.03)
        events = pair.client.connection.events(all_data=True)
        early = [event for event in events if not isinstance(event, Confirmed)]
        assert early
        assert all(isinstance(each, StreamData) and each.stream_id == stream for each in early)


def test_memory_is_let_go_of_once(files: Certificate, stack: Stack) -> None:
    configuration, _ = configurations(files, stack)
    connection = Connection(configuration, BEGIN)
    connection.connect(CLIENTS[0], SERVER, BEGIN)
    connection.free()
    connection.free()
    del connection
    gc.collect()


@needs_picoquic
def test_a_log_is_written_when_a_connection_is_freed(files: Certificate, tmp_path: Path) -> None:
    with Pair(*configurations(files, qlog=tmp_path), Network()) as pair:
        pair.wait_for(pair.connected().get(1000))
    logs = list(tmp_path.glob("*.qlog"))
    assert logs
    assert "packet_sent" in logs[0].read_text(encoding="utf-8")


def pair_with_datagrams(files: Certificate, stack: Stack, network: Network | None = None) -> Pair:
    """Only the client asks for DATAGRAM frames: a server follows it."""
    client, server = configurations(files, stack)
    return Pair(replace(client, datagram_frame=65_535), server, network or Network())


def datagrams(events: list[object]) -> list[bytes]:
    return [event.data for event in events if isinstance(event, DatagramFrame)]


def test_datagram_frames_go_both_ways(files: Certificate, stack: Stack) -> None:
    with pair_with_datagrams(files, stack) as pair:
        pair.connected()
        pair.client.connection.send_datagram(b"up")
        pair.server.connection.send_datagram(content(1100))
        pair.send()
        pair.run(0.2)
        assert datagrams(list(pair.server.events)) == [b"up"]
        assert datagrams(list(pair.client.events)) == [content(1100)]


def test_a_lost_datagram_frame_is_not_sent_again(files: Certificate, stack: Stack) -> None:
    with pair_with_datagrams(files, stack, Network(loss=0.3, seed=3)) as pair:
        pair.connected()
        for number in range(40):
            pair.server.connection.send_datagram(bytes([number]) * 1000)
            pair.send()
            pair.run(0.02)
        pair.run(2)
        came = [data[0] for data in datagrams(list(pair.client.events))]
        assert 10 < len(came) < 40
        assert len(set(came)) == len(came)


def test_a_datagram_frame_without_the_peer_s_consent_or_too_large_for_a_packet_is_refused(
    files: Certificate, stack: Stack, make_pair: MakePair
) -> None:
    with make_pair() as pair:
        pair.connected()
        with pytest.raises(StackError, match="send_datagram"):
            pair.server.connection.send_datagram(b"small")
    with pair_with_datagrams(files, stack) as pair:
        pair.connected()
        pair.client.connection.send_datagram(content(1150))
        with pytest.raises(StackError, match="send_datagram"):
            pair.client.connection.send_datagram(content(1190))


def test_hundreds_of_streams_of_one_direction_arrive(make_pair: MakePair) -> None:
    """More than a peer allows at once: it allows more as they end."""
    with make_pair() as pair:
        pair.connected()
        connection, opened = pair.server.connection, []
        for number in range(1200):
            opened.append(connection.open_stream(unidirectional=True))
            connection.write(opened[-1], b"%d" % number, end_stream=True)
            pair.send()
            pair.run(0.002)
        pair.run(1)
        assert opened[:2] == [3, 7]
        assert all(
            pair.client.received[stream] == b"%d" % number for number, stream in enumerate(opened)
        )


def test_a_stream_that_is_given_up_is_not_sent_to_its_end(make_pair: MakePair) -> None:
    with make_pair(Network(rate_mbps=1)) as pair:
        connection = pair.connected().server.connection
        stream = connection.open_stream(unidirectional=True)
        connection.write(stream, content(1_000_000), end_stream=True)
        pair.send()
        pair.run(1)
        connection.reset_stream(stream, 1)
        pair.send()
        pair.run(20)
        assert StreamReset(stream) in pair.client.events
        assert len(pair.client.received[stream]) < 400_000


def test_a_peer_that_is_told_to_stop_learns_which_stream(make_pair: MakePair) -> None:
    with make_pair(Network(rate_mbps=1)) as pair:
        stream = pair.connected().get(1_000_000)
        pair.run(1)
        pair.client.connection.stop_sending(stream, 1)
        pair.send()
        pair.run(1)
        assert StreamReset(stream) in pair.server.events
        pair.server.connection.reset_stream(stream)
        pair.send()
        pair.run(20)
        assert len(pair.client.received[stream]) < 600_000


@needs_picoquic
def test_a_stream_whose_end_was_acknowledged_cannot_be_given_up(files: Certificate) -> None:
    with Pair(*configurations(files), Network()) as pair:
        connection = pair.connected().server.connection
        stream = connection.open_stream(unidirectional=True)
        connection.write(stream, b"all", end_stream=True)
        pair.send()
        pair.run(1)
        with pytest.raises(StackError, match="reset_stream"):
            connection.reset_stream(stream)
