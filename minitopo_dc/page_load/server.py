"""The site's server: `python -m minitopo_dc.page_load.server --http 2`.

HTTP/2 over TLS 1.3 and TCP or MPTCP (hypercorn), or HTTP/3 over QUIC (aioquic). With HTTP/2 it
prints a line of JSON at each connection's end: what the kernel said of its subflows. A browser
takes the certificate, as it knows its key.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from minitopo_dc.page_load.http3 import serve_http3
from minitopo_dc.page_load.site import OBJECTS, Site
from minitopo_dc.runners.certificate import Certificate, make_certificate
from minitopo_dc.runners.processes.kernel_socket import PROTOCOLS
from minitopo_dc.runners.tcp.application import Application
from minitopo_dc.runners.tcp.server import listen, serve_requests
from minitopo_dc.runners.tcp.watch import ReportingApplication
from minitopo_dc.settings.defaults import CONGESTION_CONTROL
from minitopo_dc.workloads.exchange import ContentServer

PORT = 4433
"""The usual one of test servers of QUIC."""
SCALAR = int.from_bytes(hashlib.sha256(b"minitopo-dc page load").digest())
"""The private key of every site."""


def main() -> None:
    """Serve the site until SIGTERM or SIGINT."""
    options = _options()
    site = Site(objects=options.objects, seed=options.seed)
    with TemporaryDirectory(prefix="minitopo-dc-site-") as directory:
        certificate = make_certificate(Path(directory), [options.address], site_key())
        _serve(options, site, certificate)


def _serve(options: argparse.Namespace, site: Site, certificate: Certificate) -> None:
    where, algorithm = (options.address, options.port), options.congestion_control
    if options.http == "3":
        serve_http3(*where, site.find, certificate, algorithm)
        return
    listener = listen(*where, PROTOCOLS["mptcp" if options.mptcp else "tcp"], algorithm)
    application = ReportingApplication(Application(partial(ContentServer, find=site.find)))
    serve_requests(listener, application, certificate.certificate, certificate.key)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the program's options."""
    made = argparse.ArgumentParser(
        prog="python -m minitopo_dc.page_load.server", description=__doc__
    )
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


def _options() -> argparse.Namespace:
    options = parser().parse_args()
    if options.mptcp and options.http == "3":
        parser().error("--mptcp: only with --http 2")
    if options.objects < 1:
        parser().error(f"--objects: {options.objects}; allowed: 1 and more")
    return options


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
