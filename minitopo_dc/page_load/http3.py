"""A site over HTTP/3, for any number of connections at once."""

from __future__ import annotations

import signal
import socket
import time
from functools import partial

from aioquic.h3.connection import H3_ALPN, ErrorCode
from aioquic.quic.configuration import QuicConfiguration

from minitopo_dc.runners.addresses import address_family
from minitopo_dc.runners.aioquic.connection import OrderedConnection, transmit
from minitopo_dc.runners.aioquic.server import Session, initial_destination
from minitopo_dc.runners.certificate import Certificate
from minitopo_dc.runners.processes.stop_signal import StopSignal
from minitopo_dc.runners.processes.udp_socket import Address, receive_batch, wait_readable
from minitopo_dc.workloads.exchange import ContentServer, Find

DATAGRAM_BYTES = 1200
"""UDP payload, as that of runner `quic`."""


class Http3Site:
    """Serves sessions, which it knows by their clients' addresses.

    A browser whose host stays where it is does not change its address.
    """

    def __init__(self, udp: socket.socket, configuration: QuicConfiguration, find: Find) -> None:
        """Take a bound socket, the QUIC configuration and what finds the content of a path."""
        self._udp = udp
        self._configuration = configuration
        self._find = find
        self._sessions: dict[Address, Session] = {}

    def run(self, stop: StopSignal) -> None:
        """Serve until the signal; then have connections closed, and end."""
        while self._sessions or not stop.requested:
            timers = [session.connection.get_timer() for session in self._sessions.values()]
            more = [] if stop.requested else [stop.waiting]
            due = min((timer for timer in timers if timer is not None), default=None)
            wait_readable([self._udp, *more], due)
            self._receive(accepts=not stop.requested)
            for address, session in list(self._sessions.items()):
                if stop.requested:
                    session.connection.close(error_code=ErrorCode.H3_NO_ERROR)
                session.drive(time.monotonic(), lambda each: transmit(each, self._udp))
                if session.ended:
                    del self._sessions[address]

    def _receive(self, *, accepts: bool) -> None:
        now = time.monotonic()
        for data, address in receive_batch(self._udp):
            if accepts and address not in self._sessions:
                self._accept(data, address)
            if address in self._sessions:
                self._sessions[address].connection.receive_datagram(data, address, now)

    def _accept(self, data: bytes, address: Address) -> None:
        destination = initial_destination(data)
        if destination is not None:
            connection = OrderedConnection(
                configuration=self._configuration, original_destination_connection_id=destination
            )
            server = partial(ContentServer, find=self._find)
            self._sessions[address] = Session(connection, make_server=server)


def serve_http3(
    address: str, port: int, find: Find, certificate: Certificate, congestion_control: str
) -> None:
    """Serve a site over HTTP/3 until SIGTERM or SIGINT."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=congestion_control,
        max_datagram_size=DATAGRAM_BYTES,
    )
    configuration.load_cert_chain(certificate.certificate, certificate.key)
    with socket.socket(address_family(address), socket.SOCK_DGRAM) as udp:
        udp.bind((address, port))
        stop = StopSignal(signal.SIGTERM, signal.SIGINT)
        Http3Site(udp, configuration, find).run(stop)
