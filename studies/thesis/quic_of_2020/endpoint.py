"""Both ends of a download over aioquic 0.8, without input or output, as asyncio drove them in 2020.

Rules, those of aioquic 0.8's `QuicConnectionProtocol` on Python's event loop:

* Each datagram is taken in alone, and what the connection then has to send is sent.
* A timer fires at a whole number of milliseconds after it was looked at, rounded up, as epoll_wait
  takes them; but a datagram that arrives before also lets a timer fire that is due.
* The server hands a body over in pieces: 1 GB need not be copied before the first packet.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from minitopo_dc.runners.addresses import SERVER_NAME
from minitopo_dc.runners.aioquic.http3 import LOW_WATER_BYTES
from minitopo_dc.runners.processes.udp_socket import Address
from minitopo_dc.runners.quic import QuicOptions
from minitopo_dc.workloads import Download
from minitopo_dc.workloads.exchange import Outcome, requested_content

from .library import module


class Log2020:
    """A connection's `quic_logger`; aioquic's own reads the machine's clock."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Take a file, and a clock in s, the same for both ends: their packets are compared."""
        self._log = module("quic.logger").QuicLogger()
        self._path = path
        self._clock = clock

    def start_trace(self, *, is_client: bool, odcid: bytes) -> Any:
        """Start the log of a connection (aioquic's hook)."""
        trace = self._log.start_trace(is_client=is_client, odcid=odcid)
        trace.log_event = partial(self._add, trace._events)
        return trace

    def end_trace(self, trace: Any) -> None:
        """Do nothing (aioquic's hook): `save` has what there is."""

    def save(self) -> None:
        """Write the log into its file, whose directory is made."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._log.to_dict()), encoding="utf-8")

    def _add(self, events: Any, *, category: str, event: str, data: dict[str, Any]) -> None:
        events.append((self._clock(), category, event, data))


Transmit = Callable[[Any], int]
"""Sends what a connection has to send now; returns the number of bytes."""
MS_PER_S = 1000


def transmit(connection: Any, udp: socket.socket) -> int:
    """Send what a connection has to send now; return the number of bytes."""
    sent = 0
    for data, address in connection.datagrams_to_send(time.monotonic()):
        udp.sendto(data, address)
        sent += len(data)
    return sent


def epoll_moment(timer: float | None, now: float) -> float | None:
    """Return when asyncio acts on a timer that it looks at now; both in s, None for never."""
    if timer is None:
        return None
    return now + math.ceil(max(0.0, timer - now) * MS_PER_S) / MS_PER_S


class End:
    """One end: a connection of aioquic 0.8, HTTP/3 on it, and what it does with events."""

    connection: Any = None
    """None: a server's client has not sent anything yet."""

    def __init__(self, transmit: Transmit) -> None:
        self.ended = False
        self._transmit = transmit
        self._http: Any = None

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, do what is due; return when to be called again (s)."""
        for data, address in datagrams:
            self._receive(data, address, now)
        if self.connection is None:
            return None
        timer = self.connection.get_timer()
        if timer is not None and timer <= now:
            self.connection.handle_timer(now=now)
            self._act(now)
        self._on_time(now)
        return None if self.ended else epoll_moment(self.connection.get_timer(), now)

    def _receive(self, data: bytes, address: Address, now: float) -> None:
        if self.connection is None:
            self._accept(data)
        self.connection.receive_datagram(data, address, now=now)
        self._act(now)

    def _act(self, now: float) -> None:
        """Handle the connection's events, and send what there is to send."""
        events = module("quic.events")
        while (event := self.connection.next_event()) is not None:
            if isinstance(event, events.ConnectionTerminated):
                self.ended = True
                self._on_end(event.reason_phrase or str(event.error_code))
            elif isinstance(event, events.ProtocolNegotiated):
                self._http = module("h3.connection").H3Connection(self.connection)
            elif isinstance(event, events.HandshakeCompleted):
                self._on_handshake(now)
            for received in () if self._http is None else self._http.handle_event(event):
                self._on_http(received, now)
        self._on_sent(self._transmit(self.connection))

    def _accept(self, data: bytes) -> None:
        """Make the connection of a server, whose client has sent its first datagram."""
        raise NotImplementedError

    def _on_time(self, now: float) -> None:
        """Do what is due beside the connection's timer."""

    def _on_sent(self, sent: int) -> None:
        """Note that so many bytes were sent."""

    def _on_end(self, reason: str) -> None:
        """Note that the connection has ended, in the words of the side that closed it."""

    def _on_handshake(self, now: float) -> None:
        """Note that the handshake is complete."""

    def _on_http(self, event: Any, now: float) -> None:
        """Act on an event of HTTP/3."""
        raise NotImplementedError


@dataclass
class DownloadOutcome(Outcome):
    """Also the answer's status and digest, and when it began."""

    status: int = 0
    sha256: str = ""
    stopped_s: float | None = None  # in place of completion_s: the duration was over before
    first_byte_s: float | None = None


class DownloadingClient(End):
    """The client: it asks for N bytes, checks them, and stops when its time is over."""

    def __init__(
        self,
        workload: Download,
        options: QuicOptions,
        transmit: Transmit,
        clock: Callable[[], float] = time.monotonic,
        log: Log2020 | None = None,
    ) -> None:
        """Take what to download, how to send, a clock in s, and what logs the connection."""
        super().__init__(transmit)
        self._clock = clock
        self.outcome = DownloadOutcome()
        self.connection = module("quic.connection").QuicConnection(
            configuration=module("quic.configuration").QuicConfiguration(
                is_client=True,
                alpn_protocols=module("h3.connection").H3_ALPN,
                server_name=SERVER_NAME,
                # It checks certificates by a part of `cryptography` that is gone; the content's
                # hash tells that it came from the right server.
                verify_mode=ssl.CERT_NONE,
                max_data=options.max_data,
                max_stream_data=options.max_stream_data,
                quic_logger=log,
            )
        )
        self._size = workload.requested_bytes
        self._duration = workload.duration_s or math.inf
        self._digest = hashlib.sha256()
        self._start = 0.0

    def report(self) -> dict[str, Any]:
        """Return what it has seen until now."""
        return asdict(self.outcome)

    @property
    def is_done(self) -> bool:
        """Return whether it has all that it asked for, or its time is over."""
        return self.outcome.completion_s is not None or self.outcome.stopped_s is not None

    def start(self, server: Address) -> float | None:
        """Connect; return when to be called again (s)."""
        self._start = now = self._clock()
        self.connection.connect(server, now=now)
        self._transmit(self.connection)
        return self._earlier(epoll_moment(self.connection.get_timer(), now))

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Take in what arrived, do what is due; return when to be called again (s)."""
        return self._earlier(super().step(now, datagrams))

    def _earlier(self, timer: float | None) -> float | None:
        if self.ended or self.is_done or self._duration == math.inf:
            return timer
        deadline = self._start + self._duration
        return deadline if timer is None else min(timer, deadline)

    def _on_time(self, now: float) -> None:
        if not self.is_done and now >= self._start + self._duration:
            self.outcome.stopped_s = now - self._start
            self._close()
            self._transmit(self.connection)

    def _on_handshake(self, now: float) -> None:
        self.outcome.handshake_s = now - self._start
        stream = self.connection.get_next_available_stream_id()
        headers = {"method": "GET", "scheme": "https", "authority": SERVER_NAME}
        headers["path"] = f"/bytes/{self._size}"
        pairs = [(f":{name}".encode(), text.encode()) for name, text in headers.items()]
        self._http.send_headers(stream, pairs, end_stream=True)

    def _on_http(self, event: Any, now: float) -> None:
        events = module("h3.events")
        if self.is_done:
            return
        if isinstance(event, events.HeadersReceived):
            self.outcome.status = int(dict(event.headers)[b":status"])
            self.outcome.first_byte_s = now - self._start
        elif isinstance(event, events.DataReceived):
            self._digest.update(event.data)
            self.outcome.bytes_received += len(event.data)
        if event.stream_ended:
            self.outcome.completion_s = now - self._start
            self._close()

    def _on_end(self, reason: str) -> None:
        if not self.is_done:
            self.outcome.error = f"connection ended: {reason}"

    def _close(self) -> None:
        self.outcome.sha256 = self._digest.hexdigest()
        self.connection.close()


class BodyServer(End):
    """The server: it accepts one connection and answers `GET /bytes/N`."""

    def __init__(
        self, transmit: Transmit, log: Log2020 | None = None, *, pacing: bool = True
    ) -> None:
        """Take how to send, what logs the connection, and whether its pacer works."""
        super().__init__(transmit)
        self._log = log
        self._pacing = pacing
        self._body: Iterator[bytes] | None = None
        self._stream = 0
        self._unsent = 0

    def close(self) -> None:
        """Have the connection closed, and tell the client."""
        if self.connection is not None:
            self.connection.close()
            self._transmit(self.connection)

    def _accept(self, data: bytes) -> None:  # noqa: ARG002 (0.8 takes what it needs of it itself)
        configuration = module("quic.configuration").QuicConfiguration(
            is_client=False,
            alpn_protocols=module("h3.connection").H3_ALPN,
            quic_logger=self._log,
        )
        configuration.certificate, configuration.private_key = _certificate()
        self.connection = module("quic.connection").QuicConnection(configuration=configuration)
        if not self._pacing:
            self.connection._loss._pacer.next_send_time = lambda now: None  # noqa: ARG005

    def _on_http(self, event: Any, now: float) -> None:  # noqa: ARG002
        if not isinstance(event, module("h3.events").HeadersReceived):
            return
        answer = requested_content(dict(event.headers)[b":path"].decode())
        if answer is None:
            self._http.send_headers(event.stream_id, [(b":status", b"404")], end_stream=True)
            return
        length = (b"content-length", str(answer.size_bytes).encode())
        self._http.send_headers(event.stream_id, [(b":status", b"200"), length])
        self._stream, self._body = event.stream_id, iter(answer.pieces)
        self._refill()

    def _on_sent(self, sent: int) -> None:
        # Headers and retransmissions make this too small, never too large: refills come early.
        self._unsent = max(0, self._unsent - sent)
        if self._body is not None and self._unsent < LOW_WATER_BYTES:
            self._refill()
            self._unsent = max(0, self._unsent - self._transmit(self.connection))

    def _refill(self) -> None:
        """Give the connection more of the body while little of it is left to send."""
        while self._body is not None and self._unsent < LOW_WATER_BYTES:
            block = next(self._body, None)
            if block is None:
                self._body = None
            self._http.send_data(self._stream, block or b"", end_stream=block is None)
            self._unsent += len(block or b"")


@functools.cache
def _certificate() -> tuple[x509.Certificate, rsa.RSAPrivateKey]:
    """Return a certificate and its key: RSA, whose signatures all have the same length.

    aioquic 0.8 has no Ed25519, and the length of ECDSA's varies, and with it a handshake's time.
    """
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(1)
    valid = builder.not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2120, 1, 1))
    return valid.sign(key, hashes.SHA256()), key
