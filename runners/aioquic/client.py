"""HTTP/3 client on aioquic: a download of `/bytes/N`, or requests for `/respond/N`.

It prints one line of JSON about what it saw. An error is in there too (`error`): the exit code is 0
all the same.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Protocol

from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicFileLogger

from minitopo_dc.runners.addresses import address_family, socket_address
from minitopo_dc.runners.aioquic.call import CallingClient
from minitopo_dc.runners.aioquic.endpoint import Transmit, transmit
from minitopo_dc.runners.aioquic.http3_client import Http3Client
from minitopo_dc.runners.aioquic.requests import RequestClient
from minitopo_dc.runners.aioquic.settings import ClientSettings, datagram_frame, protocols
from minitopo_dc.runners.aioquic.tuned import make_connection
from minitopo_dc.runners.aioquic.video import VideoClient
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.request_reports import plan_of
from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.processes.udp_socket import (
    Address,
    receive_batch,
    set_receive_buffer,
    socket_drops,
    wait_readable,
)
from minitopo_dc.workloads import Realtime, RequestResponse, Video, Workload, as_download


@dataclass
class Outcome:
    """The client's results; times in seconds from the first datagram it sent."""

    status: int = 0
    bytes_received: int = 0
    sha256: str = ""
    completion_s: float | None = None
    stopped_s: float | None = None  # in place of completion_s: the duration was over before
    handshake_s: float | None = None
    first_byte_s: float | None = None
    receive_buffer_bytes: int = 0
    socket_drops: int = 0
    error: str | None = None


class Download(Http3Client):
    """One HTTP/3 connection that downloads one resource.

    From its deadline on nothing counts any more, and the connection is closed.
    """

    def __init__(
        self,
        connection: QuicConnection,
        path: str,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
        *,
        duration_s: float = math.inf,
    ) -> None:
        """Take what to download, how to send, and when to stop: s after the start."""
        super().__init__(connection, transmit, clock)
        self.outcome = Outcome()
        self._path = path
        self._digest = hashlib.sha256()
        self._start = 0.0
        self._duration = duration_s
        self._deadline = math.inf

    def _on_start(self, now: float) -> None:
        self._start = now
        self._deadline = now + self._duration

    def _on_time(self, now: float) -> None:
        if now >= self._deadline:
            self._deadline = math.inf
            self._stop()

    def _timeout(self) -> float:
        return self._deadline

    def _stop(self) -> None:
        if self.outcome.completion_s is None:
            self.outcome.stopped_s = self._elapsed()
            self._end_body()

    def _on_handshake(self) -> None:
        self.outcome.handshake_s = self._elapsed()
        self._request("GET", self._path)

    def _on_event(self, event: H3Event) -> None:
        if self.outcome.stopped_s is not None:
            return
        if isinstance(event, HeadersReceived):
            self.outcome.status = int(dict(event.headers)[b":status"])
            self.outcome.first_byte_s = self._elapsed()
            self._only_receives = True
        elif isinstance(event, DataReceived):
            self._digest.update(event.data)
            self.outcome.bytes_received += len(event.data)
        if isinstance(event, HeadersReceived | DataReceived) and event.stream_ended:
            self.outcome.completion_s = self._elapsed()
            self._end_body()

    def _on_end(self, reason: str) -> None:
        if self.outcome.completion_s is None and self.outcome.stopped_s is None:
            self.outcome.error = reason

    def _end_body(self) -> None:
        self.outcome.sha256 = self._digest.hexdigest()
        self._close()

    def _elapsed(self) -> float:
        return self._clock() - self._start


def make_client(
    workload: Workload,
    connection: QuicConnection,
    transmit: Transmit,
    clock: Callable[[], float] = time.monotonic,
) -> Download | RequestClient | VideoClient | CallingClient:
    """Return the client of a workload."""
    if isinstance(workload, Realtime):
        return CallingClient(connection, workload, transmit, clock)
    if isinstance(workload, Video):
        return VideoClient(connection, workload, transmit, clock)
    if isinstance(workload, RequestResponse):
        return RequestClient(connection, plan_of(workload), transmit, clock)
    wanted = as_download(workload)
    path, duration_s = f"/bytes/{wanted.requested_bytes}", wanted.duration_s or math.inf
    return Download(connection, path, transmit, clock, duration_s=duration_s)


class SteppedClient(Protocol):
    """A client without input or output, of either aioquic."""

    ended: bool

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, do what is due; return when to be called again (s)."""


def run(client: SteppedClient, udp: socket.socket, server: Address) -> None:
    """Connect, do what the client is for, close; return when the connection has ended."""
    timer = client.start(server)
    while not client.ended:
        wait_readable([udp], timer)
        timer = client.step(time.monotonic(), receive_batch(udp))


def main() -> None:
    """Download once, or send requests, and print the outcome as one line of JSON."""
    told = ClientSettings.given()
    connection = make_connection(_configuration(told), told.options.tuning)
    with socket.socket(address_family(told.bind), socket.SOCK_DGRAM) as udp:
        if told.options.receive_buffer_bytes:
            set_receive_buffer(udp, told.options.receive_buffer_bytes)
        udp.bind((told.bind, 0))
        client = make_client(told.workload, connection, partial(transmit, udp=udp))
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        wait_for_start()
        started_ns = time.monotonic_ns()
        run(client, udp, socket_address(told.address, told.port))
        client.outcome.receive_buffer_bytes = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        client.outcome.socket_drops = socket_drops(udp)
    print(json.dumps(asdict(client.outcome) | {"started_ns": started_ns}), flush=True)  # noqa: T201


def _configuration(told: ClientSettings) -> QuicConfiguration:
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=protocols(told.workload),
        max_datagram_frame_size=datagram_frame(told.workload),
        congestion_control_algorithm=told.congestion_control,
        max_datagram_size=told.options.max_datagram_bytes,
        max_data=told.options.max_data,
        max_stream_data=told.options.max_stream_data,
        server_name=SERVER_NAME,
        quic_logger=QuicFileLogger(str(told.qlog)) if told.qlog else None,
    )
    configuration.load_verify_locations(str(told.certificate))
    return configuration


if __name__ == "__main__":
    main()
