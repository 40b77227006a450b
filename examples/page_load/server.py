"""The site's server: `python -m examples.page_load.server --http 2`.

HTTP/2 over TLS 1.3 and TCP or MPTCP (hypercorn), or HTTP/3 over QUIC (aioquic). With HTTP/2 it
prints a line of JSON at each connection's end: what the kernel said of its subflows. A browser
takes the certificate, as it knows its key.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import signal
import socket
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from examples.page_load.site import OBJECTS, Site
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.runners.addresses import Certificate, address_family
from minitopo_dc.runners.aioquic.connection import AioquicConnection
from minitopo_dc.runners.aioquic.http3 import AioquicServer
from minitopo_dc.runners.aioquic.runner import MODERN
from minitopo_dc.runners.certificate import make_certificate
from minitopo_dc.runners.processes.udp_socket import (
    Address,
    StopSignal,
    receive_batch,
    wait_readable,
)
from minitopo_dc.runners.tcp.info import TcpWatch
from minitopo_dc.runners.tcp.server import Application, listen, serve_requests
from minitopo_dc.units import NS_PER_S
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
        self._sessions: dict[Address, AioquicServer] = {}

    def run(self, stop: StopSignal) -> None:
        """Serve until the signal; then have connections closed, and end."""
        while self._sessions or not stop.requested:
            timers = [session.next_timeout() for session in self._sessions.values()]
            more = [] if stop.requested else [stop.waiting]
            due = min((timer for timer in timers if timer is not None), default=None)
            wait_readable([self._udp, *more], None if due is None else due / NS_PER_S)
            self._receive(accepts=not stop.requested)
            for address, session in list(self._sessions.items()):
                now = time.monotonic_ns()
                if stop.requested:
                    session.connection.close(now)
                for data, _, to in session.drive(now):
                    self._udp.sendto(data, to)
                if session.ended or not session.connection.has_begun:
                    del self._sessions[address]

    def _receive(self, *, accepts: bool) -> None:
        now, own = time.monotonic_ns(), self._udp.getsockname()[:2]
        for data, address in receive_batch(self._udp):
            if accepts and address not in self._sessions:
                connection = AioquicConnection(self._configuration, MODERN)
                server = partial(ContentServer, find=self._find)
                session = AioquicServer(connection, [], 0, make=server, bare=False)
                self._sessions[address] = session
            if address in self._sessions:
                self._sessions[address].receive_all([(data, address[:2], own, 0)], now)


PORT = 4433
"""The usual one of test servers of QUIC."""
SCALAR = int.from_bytes(hashlib.sha256(b"minitopo-dc page load").digest())
"""The private key of every site."""


def main() -> None:
    """Serve the site until SIGTERM or SIGINT."""
    options = parser().parse_args()
    if options.mptcp and options.http == "3":
        parser().error("--mptcp: only with --http 2")
    if options.objects < 1:
        parser().error(f"--objects: {options.objects}; allowed: 1 and more")
    find = Site(objects=options.objects, seed=options.seed).find
    with TemporaryDirectory(prefix="minitopo-dc-site-") as directory:
        certificate = make_certificate(Path(directory), [options.address], site_key())
        (serve_http3 if options.http == "3" else serve_http2)(options, find, certificate)


def serve_http2(options: argparse.Namespace, find: Find, certificate: Certificate) -> None:
    """Serve a site over HTTP/2."""
    where, algorithm = (options.address, options.port), options.congestion_control
    listener = listen(*where, "mptcp" if options.mptcp else "tcp", algorithm)
    application = Application(partial(ContentServer, find=find), TcpWatch)
    serve_requests(listener, application, certificate.certificate, certificate.key)


def serve_http3(options: argparse.Namespace, find: Find, certificate: Certificate) -> None:
    """Serve a site over HTTP/3."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=H3_ALPN,
        congestion_control_algorithm=options.congestion_control,
        max_datagram_size=DATAGRAM_BYTES,
    )
    configuration.load_cert_chain(certificate.certificate, certificate.key)
    with socket.socket(address_family(options.address), socket.SOCK_DGRAM) as udp:
        udp.bind((options.address, options.port))
        Http3Site(udp, configuration, find).run(StopSignal(signal.SIGTERM, signal.SIGINT))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the program's options."""
    made = argparse.ArgumentParser(prog="python -m examples.page_load.server", description=__doc__)
    here = os.environ.get("MINITOPO_DC_SERVER", "127.0.0.1")
    made.add_argument("--http", choices=("2", "3"), required=True, help="version")
    made.add_argument("--mptcp", action="store_true", help="take MPTCP, with HTTP/2")
    made.add_argument("--address", default=here, help="$MINITOPO_DC_SERVER, else 127.0.0.1")
    made.add_argument("--port", type=int, default=PORT, help="%(default)s")
    made.add_argument("--objects", type=int, default=OBJECTS, help="%(default)s")
    made.add_argument("--seed", type=int, default=1, help="of the sizes' order (%(default)s)")
    made.add_argument(
        "--congestion-control",
        default=CONGESTION_CONTROL,
        metavar="NAME",
        help="%(default)s; HTTP/3 also reno",
    )
    return made


def site_key() -> ec.EllipticCurvePrivateKey:
    """Return the private key of every site, which is public and protects nothing.

    So the browser knows it without having been told: site and browser share no file.
    """
    return ec.derive_private_key(SCALAR, ec.SECP256R1())


def site_key_hash() -> str:
    """Return the SHA-256 of its public key in base64 (RFC 7469, section 2.4), for Chromium."""
    public = site_key().public_key()
    information = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(information).digest()).decode()


if __name__ == "__main__":
    main()
