"""The QUIC endpoints of `runners`, driven by events in place of sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicLogger

from minitopo_dc.scenario import CongestionControl, Recovery
from minitopo_dc.simulation.certificate import identify, trust
from minitopo_dc.simulation.host import Host
from minitopo_dc.simulation.recovery import use_draft_27
from runners.certificate import SERVER_NAME
from runners.quic import QuicOptions
from runners.quic_client import Download
from runners.quic_endpoint import Address
from runners.quic_server import Session, initial_destination


@dataclass(frozen=True)
class Wanted:
    """What both ends of a connection are to do alike."""

    congestion_control: CongestionControl
    recovery: Recovery
    options: QuicOptions


class Client:
    """Downloads one resource; `ended` is called with the connection's end."""

    def __init__(
        self,
        wanted: Wanted,
        host: Host,
        *,
        path: str,
        ended: Callable[[], None],
        qlog: QuicLogger | None,
    ) -> None:
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=H3_ALPN,
            congestion_control_algorithm=wanted.congestion_control,
            max_datagram_size=wanted.options.max_datagram_bytes,
            max_data=wanted.options.max_data,
            max_stream_data=wanted.options.max_stream_data,
            server_name=SERVER_NAME,
            quic_logger=qlog,
        )
        trust(configuration)
        connection = _connection(wanted, configuration)
        self.download = Download(connection, path, host.transmit, host.clock)
        self._ended = ended

    def start(self, server: Address) -> float | None:
        """Connect; when to be called again."""
        return self.download.start(server)

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Act on what arrived and on what is due; when to be called again."""
        timer = self.download.step(now, datagrams)
        if self.download.ended:
            self._ended()
            return None
        return timer


class Server:
    """Accepts one connection and answers its request."""

    def __init__(self, wanted: Wanted, host: Host, *, qlog: QuicLogger | None) -> None:
        self.session: Session | None = None
        self._wanted = wanted
        self._host = host
        self._configuration = QuicConfiguration(
            is_client=False,
            alpn_protocols=H3_ALPN,
            congestion_control_algorithm=wanted.congestion_control,
            max_datagram_size=wanted.options.max_datagram_bytes,
            quic_logger=qlog,
        )
        identify(self._configuration)

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Act on what arrived and on what is due; when to be called again."""
        for data, address in datagrams:
            if self.session is None:
                self.session = self._accept(data)
            if self.session is not None:
                self.session.connection.receive_datagram(data, address, now)
        if self.session is None or self.session.ended:
            return None
        self.session.drive(now, self._host.transmit)
        return self.session.connection.get_timer()

    def _accept(self, data: bytes) -> Session | None:
        destination = initial_destination(data)
        if destination is None:
            return None
        return Session(_connection(self._wanted, self._configuration, destination=destination))


def _connection(
    wanted: Wanted, configuration: QuicConfiguration, *, destination: bytes | None = None
) -> QuicConnection:
    connection = QuicConnection(
        configuration=configuration, original_destination_connection_id=destination
    )
    if wanted.recovery == "draft-27":
        use_draft_27(connection)
    return connection
