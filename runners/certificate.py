"""Self-signed certificates for the servers of a run, on either clock."""

from __future__ import annotations

import datetime
import functools
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from minitopo_dc.runners.addresses import SERVER_NAME

if TYPE_CHECKING:  # half of what a client of HTTP/2 would import
    from aioquic.quic.configuration import QuicConfiguration

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


def write_files(directory: Path, addresses: Sequence[str] = ()) -> tuple[Path, Path]:
    """Write the certificate and its key as PEM files; return their paths.

    It is for `server.test` and the addresses.
    """
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    certificate.write_bytes(_certificate(*addresses).public_bytes(Encoding.PEM))
    key.write_bytes(_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, key


@functools.cache
def _certificate(*addresses: str) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(_KEY.public_key())
        .serial_number(1)
        .not_valid_before(_VALID[0])
        .not_valid_after(_VALID[1])
        .add_extension(_names(addresses), critical=False)
        .sign(_KEY, None)
    )


VALIDITY = datetime.timedelta(days=30)
CLOCK_SKEW = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """The files of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


def make_certificate(
    directory: Path, addresses: Sequence[str], key: ec.EllipticCurvePrivateKey | None = None
) -> Certificate:
    """Write a self-signed certificate for `server.test` and the server's IP addresses.

    The key is on curve P-256, which every TLS 1.3 stack must have (RFC 8446 section 9.1) and
    which costs a Python server the least; without one given, it is new.

    Raises:
        ValueError: an address is not an IP address.
    """
    key = key or ec.generate_private_key(ec.SECP256R1())
    certificate = _self_signed(key, addresses)
    made = Certificate(directory / "certificate.pem", directory / "key.pem")
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


def _self_signed(key: ec.EllipticCurvePrivateKey, addresses: Sequence[str]) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALIDITY)
        .add_extension(_names(addresses), critical=False)
        .sign(key, hashes.SHA256())
    )


def _names(addresses: Sequence[str]) -> x509.SubjectAlternativeName:
    names: list[x509.GeneralName] = [x509.DNSName(SERVER_NAME)]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    return x509.SubjectAlternativeName(names)
