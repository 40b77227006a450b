"""What calls and players need: DATAGRAM frames, streams of one direction, streams given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minitopo_dc.picoquic.connection import PicoquicError
from minitopo_dc.picoquic.events import DatagramFrame, StreamReset
from minitopo_dc.runners.certificate import Certificate
from tests.picoquic.conftest import MakePair, configurations
from tests.picoquic.extension import needs_picoquic
from tests.picoquic.pair import Network, Pair, content

pytestmark = needs_picoquic


def pair_with_datagrams(files: Certificate, network: Network | None = None) -> Pair:
    """Only the client asks for DATAGRAM frames: a server follows it."""
    client, server = configurations(files)
    return Pair(replace(client, datagram_frame=65_535), server, network or Network())


def datagrams(events: list[object]) -> list[bytes]:
    return [event.data for event in events if isinstance(event, DatagramFrame)]


def test_datagram_frames_go_both_ways(files: Certificate) -> None:
    with pair_with_datagrams(files) as pair:
        pair.connected()
        pair.client.connection.send_datagram(b"up")
        pair.server.connection.send_datagram(content(1100))
        pair.send()
        pair.run(0.2)
        assert datagrams(list(pair.server.events)) == [b"up"]
        assert datagrams(list(pair.client.events)) == [content(1100)]


def test_a_lost_datagram_frame_is_not_sent_again(files: Certificate) -> None:
    with pair_with_datagrams(files, Network(loss=0.3, seed=3)) as pair:
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
    files: Certificate, make_pair: MakePair
) -> None:
    with make_pair() as pair:
        pair.connected()
        with pytest.raises(PicoquicError, match="queue_datagram_frame"):
            pair.server.connection.send_datagram(b"small")
    with pair_with_datagrams(files) as pair:
        pair.connected()
        pair.client.connection.send_datagram(content(1150))
        with pytest.raises(PicoquicError, match="queue_datagram_frame"):
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


def test_a_stream_whose_end_was_acknowledged_cannot_be_given_up(make_pair: MakePair) -> None:
    with make_pair() as pair:
        connection = pair.connected().server.connection
        stream = connection.open_stream(unidirectional=True)
        connection.write(stream, b"all", end_stream=True)
        pair.send()
        pair.run(1)
        with pytest.raises(PicoquicError, match="reset_stream"):
            connection.reset_stream(stream)
