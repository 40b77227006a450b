"""Downloads that end before they are complete: the client's deadline, the server's part."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from aioquic.quic.configuration import QuicConfiguration

from minitopo_dc.fields import PathPlan
from minitopo_dc.runners.aioquic.connection import TIMER_MARGIN_NS, AioquicConnection
from minitopo_dc.runners.aioquic.http3 import AioquicClient
from minitopo_dc.runners.aioquic.runner import MODERN
from minitopo_dc.runners.processes import kernel_socket
from minitopo_dc.runners.tcp import server
from minitopo_dc.runners.tcp.server import Application, Message
from minitopo_dc.units import NS_PER_MS, NS_PER_S
from minitopo_dc.workloads import Download
from minitopo_dc.workloads.exchange import content_sha256

SERVER = ("192.0.2.1", 4433)
ENDLESS: Message = {
    **{"type": "http", "method": "GET", "path": f"/bytes/{10**12}"},
    **{"client": ("192.0.2.2", 50_000), "headers": []},
}


def test_a_client_wakes_at_its_deadline_and_stops_there_with_what_it_has() -> None:
    connection = AioquicConnection(QuicConfiguration(server_name="example"), MODERN)
    workload, begin = Download(duration_s=0.25), 1000 * NS_PER_S
    stopped = AioquicClient(
        *(connection, PathPlan.whole(1), [("192.0.2.2", 50_000)], SERVER, begin),
        make=workload.make_client,
    )
    stopped.start(begin)
    assert stopped.drive(begin)  # the first datagram, in a network without a server
    assert stopped.next_timeout() == connection.next_timeout()
    stopped.drive(begin + 200 * NS_PER_MS)
    assert stopped.next_timeout() == begin + 250 * NS_PER_MS + TIMER_MARGIN_NS
    assert stopped.client.report()["stopped_s"] is None
    stopped.drive(begin + 250 * NS_PER_MS)
    report = stopped.client.report()
    assert (report["stopped_s"], report["completion_s"], report["error"]) == (0.25, None, None)
    assert report["sha256"] == content_sha256(0)


@pytest.mark.parametrize("hangs", [True, False])
def test_a_server_stops_when_its_client_has_gone(*, hangs: bool) -> None:
    """hypercorn's send neither returns nor raises then (0.18), or has come to do nothing."""
    sent: list[str] = []

    async def run() -> None:
        gone = asyncio.Event()

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message["type"])
            if len(sent) == 3:
                gone.set()
                if hangs:
                    await asyncio.Event().wait()

        await Application()(ENDLESS, receive, send)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert sent[:3] == ["http.response.start", *2 * ["http.response.body"]]
    assert len(sent) == 3 or not hangs


def test_a_server_s_connections_are_cut_off_a_while_after_its_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cut_off = asyncio.Event()

    async def serve(*_: object, shutdown_trigger: Callable[[], Awaitable[None]]) -> None:
        signal.raise_signal(signal.SIGTERM)
        await shutdown_trigger()
        assert not cut_off.is_set()
        await asyncio.wait_for(cut_off.wait(), 30)  # as for a client that has gone without a word

    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr(server, "shut_down_all", cut_off.set)
    monkeypatch.setattr(server, "CLOSE_S", 0.01)
    listener = server.listen("127.0.0.1", 0, "tcp", "cubic")
    server.serve_requests(listener, Application(), Path("certificate"), Path("key"))


def test_a_connection_whose_peer_reads_nothing_can_be_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer = socket.create_connection(listener.getsockname())
        connection, _ = listener.accept()
    with peer, connection:
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            while connection.send(b"0" * 1_000_000):
                pass
        monkeypatch.setattr(kernel_socket, "_process_sockets", lambda: [connection.dup()])
        kernel_socket.shut_down_all()
        with pytest.raises(BrokenPipeError):
            connection.send(b"0")


LATE = ssl.SSLError()
LATE.reason = "APPLICATION_DATA_AFTER_CLOSE_NOTIFY"


@pytest.mark.parametrize(
    ("error", "fails"),
    [
        (ExceptionGroup("a connection's", [KeyError(5)]), False),
        (LATE, False),
        (ExceptionGroup("a connection's", [LATE, KeyError(5)]), False),
        (ssl.SSLError(), True),
        (ExceptionGroup("a connection's", [KeyError(5), OSError()]), True),
    ],
)
def test_what_hypercorn_raises_of_a_late_request_is_no_failure(
    error: Exception, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(server, "serve", serve)
    listener = server.listen("127.0.0.1", 0, "tcp", "cubic")
    with pytest.raises((OSError, ExceptionGroup)) if fails else nullcontext():
        server.serve_requests(listener, Application(), Path("certificate"), Path("key"))
