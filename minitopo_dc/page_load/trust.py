"""Why a browser takes the site's certificate: it knows its key."""

from __future__ import annotations

import base64
import hashlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

SCALAR = int.from_bytes(hashlib.sha256(b"minitopo-dc page load").digest())


def site_key() -> ec.EllipticCurvePrivateKey:
    """The private key of every site. Everyone has it, so it protects nothing.

    So the browser knows it without having been told: site and browser share no file.
    """
    return ec.derive_private_key(SCALAR, ec.SECP256R1())


def site_key_hash() -> str:
    """SHA-256 of its public key in base64 (RFC 7469, section 2.4), as Chromium wants it."""
    public = site_key().public_key()
    information = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b64encode(hashlib.sha256(information).digest()).decode()
