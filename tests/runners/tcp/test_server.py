"""The sockets that the server of TCP makes."""

from __future__ import annotations

import socket

from minitopo_dc.runners.tcp.server import listen


def test_connections_have_the_segment_size_that_was_asked_for() -> None:
    with (
        listen("127.0.0.1", 0, socket.IPPROTO_TCP, "reno", 1280) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as server,
    ):
        timestamps = 12
        assert server.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= 1280 - timestamps
