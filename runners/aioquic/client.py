"""HTTP/3 client on aioquic: a download of `/bytes/N`, or requests for `/respond/N`.

It prints one line of JSON about what it saw. What went wrong is told there too (`error`): the
exit code is 0 all the same.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import math
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from aioquic.h3.connection import H3_ALPN
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicFileLogger

from minitopo_dc.runners.addresses import address_family, socket_address
from minitopo_dc.runners.aioquic.endpoint import Transmit, transmit
from minitopo_dc.runners.aioquic.http3_client import Http3Client
from minitopo_dc.runners.aioquic.requests import RequestClient
from minitopo_dc.runners.aioquic.tuned import make_connection
from minitopo_dc.runners.aioquic.tuning import MODERN, Tuning
from minitopo_dc.runners.payload.certificate import SERVER_NAME
from minitopo_dc.runners.payload.requests import RequestPlan, add_request_options, request_plan
from minitopo_dc.runners.processes.udp_socket import (
    Address,
    receive_batch,
    set_receive_buffer,
    socket_drops,
    wait_readable,
)


@dataclass
class Outcome:
    """What the client saw; times in seconds from the first datagram it sent."""

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


def run(client: Http3Client, udp: socket.socket, server: Address) -> None:
    """Connect, do what the client is for, close; returns when the connection has ended."""
    timer = client.start(server)
    while not client.ended:
        wait_readable([udp], timer)
        timer = client.step(time.monotonic(), receive_batch(udp))


def main() -> None:
    """Download once, or send requests, and print the outcome as one line of JSON."""
    options, plan = _options()
    connection = make_connection(_configuration(options), options.tuning)
    with socket.socket(address_family(options.bind), socket.SOCK_DGRAM) as udp:
        if options.receive_buffer:
            set_receive_buffer(udp, options.receive_buffer)
        udp.bind((options.bind, 0))
        send = partial(transmit, udp=udp)
        client: Download | RequestClient
        if plan is None:
            client = Download(connection, options.path, send, duration_s=options.duration)
        else:
            client = RequestClient(connection, plan, send)
        gc.freeze()  # what was imported is never garbage: full collections need not visit it
        started_ns = time.monotonic_ns()
        run(client, udp, socket_address(options.address, options.port))
        client.outcome.receive_buffer_bytes = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        client.outcome.socket_drops = socket_drops(udp)
    print(json.dumps(asdict(client.outcome) | {"started_ns": started_ns}), flush=True)  # noqa: T201


def _configuration(options: argparse.Namespace) -> QuicConfiguration:
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        max_datagram_size=options.max_datagram,
        max_data=options.max_data,
        max_stream_data=options.max_stream_data,
        server_name=SERVER_NAME,
        quic_logger=QuicFileLogger(str(options.qlog)) if options.qlog else None,
    )
    configuration.load_verify_locations(str(options.certificate))
    return configuration


def _options() -> tuple[argparse.Namespace, RequestPlan | None]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", required=True, help="the server's")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--bind", required=True, help="the client's address")
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--congestion-control", choices=("reno", "cubic"), required=True)
    parser.add_argument("--receive-buffer", type=int, help="bytes; without: the kernel's default")
    parser.add_argument("--max-data", type=int, required=True, help="bytes")
    parser.add_argument("--max-stream-data", type=int, required=True, help="bytes")
    parser.add_argument("--max-datagram", type=int, required=True, help="bytes of UDP payload")
    parser.add_argument("--tuning", type=Tuning.from_json, default=MODERN, help="JSON")
    parser.add_argument("--qlog", type=Path, help="directory for the qlog file")
    download = parser.add_argument_group("download")
    download.add_argument("--path", help="what to download; without: requests")
    download.add_argument("--duration", type=float, default=math.inf, help="s; without: to the end")
    add_request_options(parser, required=False)
    options = parser.parse_args()
    plan = request_plan(parser, options)
    if (plan is None) == (options.path is None):
        parser.error("either --path or requests are needed, and not both")
    if plan is not None and options.duration != math.inf:
        parser.error("--duration is for a download")
    return options, plan


if __name__ == "__main__":
    main()
