"""The server's certificate in virtual time: the same in every run, to the byte."""

from __future__ import annotations

import datetime
import functools
from pathlib import Path

from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from minitopo_dc.runners.certificate import SERVER_NAME

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
"""Nothing secret: it signs in simulations only. Ed25519, because its signatures all have 64 bytes;
ECDSA's length varies, and with it the length, hence the time, of a handshake."""
_VALID = (datetime.datetime(2020, 1, 1), datetime.datetime(2120, 1, 1))


def trust(client: QuicConfiguration) -> None:
    """Have a client accept the server's certificate, and no other."""
    client.load_verify_locations(cadata=_certificate().public_bytes(Encoding.PEM))


def identify(server: QuicConfiguration) -> None:
    """Give a server the certificate and its key."""
    server.certificate, server.private_key = _certificate(), _KEY


def write_files(directory: Path) -> tuple[Path, Path]:
    """Write the certificate and its key as PEM files; their paths."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    certificate.write_bytes(_certificate().public_bytes(Encoding.PEM))
    key.write_bytes(_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, key


@functools.cache
def _certificate() -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(_KEY.public_key())
        .serial_number(1)
        .not_valid_before(_VALID[0])
        .not_valid_after(_VALID[1])
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)]), critical=False)
        .sign(_KEY, None)
    )
