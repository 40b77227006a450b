"""What the tests of picoquic's connection share."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from minitopo_dc.picoquic.configuration import Configuration
from minitopo_dc.picoquic.connection import seed
from tests.picoquic.pair import Files, Network, Pair

SERVER_NAME = "server.test"
MakePair = Callable[..., Pair]


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """What the server has, and the client trusts."""
    return make_files(tmp_path_factory.mktemp("certificate"))


def make_files(directory: Path) -> Files:
    """An Ed25519 certificate: its signatures have one length."""
    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, SERVER_NAME)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(SERVER_NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, None)
    )
    made = Files(directory / "certificate.pem", directory / "key.pem")
    made.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made


@pytest.fixture(scope="session")
def make_pair(files: Files) -> MakePair:
    """Makes pairs: `with make_pair(network, max_paths=2, seed_value=1, ...) as pair:`."""

    def make(network: Network | None = None, *, seed_value: int = 1, **fields: Any) -> Pair:
        seed(seed_value)
        return Pair(*configurations(files, **fields), network or Network())

    return make


def configurations(files: Files, **fields: Any) -> tuple[Configuration, Configuration]:
    """A client's and a server's."""
    server = Configuration(
        is_client=False,
        certificate=files.certificate,
        key=files.key,
        alpn="test",
        server_name=SERVER_NAME,
        **fields,
    )
    return replace(server, is_client=True, key=None), server
