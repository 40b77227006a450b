"""The recovery of 2020: what a probe timeout does, and what it does not."""

from __future__ import annotations

import pytest
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from minitopo_dc.runners.aioquic.tuned import use_draft_27
from minitopo_dc.runners.payload.certificate import identify, trust

CLIENT, SERVER = ("10.2.1.2", 50_000), ("10.0.0.2", 4433)
MINIMUM_WINDOW = 2 * 1200
"""Bytes (RFC 9002, 7.2)."""
SMALL = 60
"""Bytes: a probe alone is smaller than this, a packet with data larger."""


def connected(*, draft_27: bool) -> tuple[QuicConnection, QuicConnection]:
    """A client and a server after their handshake; the server recovers as asked."""
    ours, theirs = QuicConfiguration(is_client=True), QuicConfiguration(is_client=False)
    ours.server_name = "server.test"
    trust(ours)
    identify(theirs)
    client = QuicConnection(configuration=ours)
    server = QuicConnection(
        configuration=theirs,
        original_destination_connection_id=client.original_destination_connection_id,
    )
    if draft_27:
        use_draft_27(server)
    client.connect(SERVER, now=1.0)
    for step in range(1, 8):
        exchange(client, server, now=1.0 + step / 100)
    return client, server


def exchange(client: QuicConnection, server: QuicConnection, now: float) -> None:
    for data, _ in client.datagrams_to_send(now):
        server.receive_datagram(data, CLIENT, now)
    for data, _ in server.datagrams_to_send(now):
        client.receive_datagram(data, SERVER, now)


def probes(server: QuicConnection) -> list[int]:
    """Send data that is lost; the sizes of what the first probe timeout sends."""
    now = 2.0
    server.send_stream_data(1, bytes(1000))
    assert [len(data) > 1000 for data, _ in server.datagrams_to_send(now)] == [True]
    sent: list[int] = []
    while not sent:  # a pacing timer may come before
        timer = server.get_timer()
        assert timer is not None
        now = timer + 1e-6
        server.handle_timer(now)
        sent = [len(data) for data, _ in server.datagrams_to_send(now)]
    return sent


def test_modern_recovery_answers_a_probe_timeout_with_data() -> None:
    _, server = connected(draft_27=False)
    assert max(probes(server)) > 1000


def test_draft_27_answers_a_probe_timeout_with_a_bare_ping() -> None:
    _, server = connected(draft_27=True)
    [size] = probes(server)
    assert size < SMALL


@pytest.mark.parametrize("draft_27", [True, False])
def test_only_modern_recovery_has_persistent_congestion(draft_27: bool) -> None:
    client, server = connected(draft_27=draft_27)
    for step in range(6):  # lost over more than three probe timeouts
        server.send_stream_data(1, bytes(1000))
        server.datagrams_to_send(now=2.0 + 2 * step)
    server.send_stream_data(1, bytes(1000))
    for data, _ in server.datagrams_to_send(now=20.0):
        client.receive_datagram(data, SERVER, 20.01)
    for data, _ in client.datagrams_to_send(now=20.1):
        server.receive_datagram(data, CLIENT, 20.11)
    collapsed = server._loss.congestion_window < 2 * MINIMUM_WINDOW
    assert collapsed != draft_27


def test_draft_27_finishes_a_handshake_whose_first_packets_are_lost() -> None:
    ours, theirs = QuicConfiguration(is_client=True), QuicConfiguration(is_client=False)
    ours.server_name = "server.test"
    trust(ours)
    identify(theirs)
    client = QuicConnection(configuration=ours)
    use_draft_27(client)
    server = QuicConnection(
        configuration=theirs,
        original_destination_connection_id=client.original_destination_connection_id,
    )
    client.connect(SERVER, now=1.0)
    assert client.datagrams_to_send(now=1.0)  # lost
    timer = client.get_timer()
    assert timer is not None
    client.handle_timer(timer + 1e-6)
    for step in range(8):
        exchange(client, server, now=timer + 0.01 * step + 1e-6)
    assert client._handshake_confirmed
