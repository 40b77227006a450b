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
from aioquic.quic.connection import QuicConnection

from minitopo_dc.runners.aioquic.client import AioquicClient, make_client
from minitopo_dc.runners.processes import kernel_socket
from minitopo_dc.runners.tcp import server
from minitopo_dc.runners.tcp.server import Application, Message
from minitopo_dc.workloads import Download
from minitopo_dc.workloads.exchange import content_sha256

SERVER = ("192.0.2.1", 4433)
ENDLESS: Message = {
    **{"type": "http", "method": "GET", "path": f"/bytes/{10**12}"},
    **{"client": ("192.0.2.2", 50_000), "headers": []},
}


class Clock:
    """A clock that tests set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def download(clock: Clock, duration_s: float) -> AioquicClient:
    """A client in a network without a server."""

    def transmit(connection: QuicConnection) -> int:
        return len(connection.datagrams_to_send(clock()))

    connection = QuicConnection(configuration=QuicConfiguration(server_name="example"))
    return make_client(Download(duration_s=duration_s), connection, transmit, clock)


def test_a_client_wakes_at_its_deadline_and_stops_there_with_what_it_has() -> None:
    clock = Clock()
    stopped = download(clock, 0.25)
    assert stopped.start(SERVER) == stopped._connection.get_timer()
    clock.now += 0.2
    assert stopped.step(clock.now, []) == 1000.25
    assert stopped.report()["stopped_s"] is None
    clock.now += 0.05
    stopped.step(clock.now, [])
    report = stopped.report()
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
