"""Self-signed certificates for the servers of a run, on either clock."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from minitopo_dc.runners.addresses import SERVER_NAME, Certificate

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
"""Nothing secret: it signs in simulations only. Ed25519, because its signatures all have 64 bytes;
ECDSA's length varies, and with it the length, hence the time, of a handshake."""
_VALID = (datetime.datetime(2020, 1, 1), datetime.datetime(2120, 1, 1))


def write_files(directory: Path, addresses: Sequence[str] = ()) -> Certificate:
    """Write the certificate of simulations and its key.

    It is for `server.test` and the addresses; without any it is `addresses.SIMULATED`.
    """
    return _write(directory, addresses, _KEY, 1, _VALID)


VALIDITY = datetime.timedelta(days=30)
CLOCK_SKEW = datetime.timedelta(days=1)


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
    now, serial = datetime.datetime.now(datetime.UTC), x509.random_serial_number()
    valid = (now - CLOCK_SKEW, now + VALIDITY)
    return _write(directory, addresses, key, serial, valid)


def _write(
    directory: Path,
    addresses: Sequence[str],
    key: ec.EllipticCurvePrivateKey | Ed25519PrivateKey,
    serial: int,
    valid: tuple[datetime.datetime, datetime.datetime],
) -> Certificate:
    """Write a self-signed certificate of this key and serial number, and its key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    names: list[x509.GeneralName] = [x509.DNSName(SERVER_NAME)]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, None if isinstance(key, Ed25519PrivateKey) else hashes.SHA256())
    )
    made = Certificate(directory / "certificate.pem", directory / "key.pem")
    made.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    made.key.touch(mode=0o600)
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return made
