"""The two ends of a connection of noq, as its C interface gives them."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from minitopo_dc.noq import library as noq
from minitopo_dc.runners.certificate import write_files

pytestmark = pytest.mark.skipif(noq.missing() is not None, reason=noq.missing() or "")

MS = 1_000_000
ONE_WAY = 10 * MS
READY = 3
"""The kind of the event that the handshake is complete (src/lib.rs)."""


class Pair:
    """A client and a server, with a delay and nothing else between them."""

    def __init__(self, tmp_path: Any, seed: int) -> None:
        module = noq.library()
        self.ffi, self.lib = module.ffi, module.lib
        files = write_files(tmp_path)
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = load_pem_private_key(files.key.read_bytes(), None)
        der = certificate.public_bytes(Encoding.DER)
        own = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        self.lib.noq_seed(seed)
        self.ends = [self._end(is_client, der, own) for is_client in (True, False)]
        self.sent: list[bytes] = []
        self.ready_ms: list[float | None] = [None, None]

    def _end(self, is_client: bool, der: bytes, own: bytes) -> Any:
        ffi = self.ffi
        kept = ffi.from_buffer("uint8_t[]", der), ffi.from_buffer("uint8_t[]", own)
        given = ffi.new(
            "configuration *",
            {
                **{"is_client": is_client, "max_paths": 1, "datagram_bytes": 1200},
                **{"initial_window": 12_000, "max_data": 2**24, "max_stream_data": 2**24},
                **{"idle_timeout_ms": 30_000, "certificate": kept[0], "key": kept[1]},
                **{"certificate_length": len(der), "key_length": len(own)},
            },
        )
        error = ffi.new("char[200]")
        end = self.lib.noq_create(given, error, 200)
        assert end != ffi.NULL, ffi.string(error)
        for host in (b"10.0.0.1", b"10.0.0.2"):
            assert self.lib.noq_address(end, host, 4433) >= 0
        return ffi.gc(end, self.lib.noq_free)

    def run(self, until: int) -> None:
        """Connect, and carry datagrams until a moment (ns)."""
        assert self.lib.noq_connect(self.ends[0], 0, 1, 0) == 0
        under_way: list[tuple[int, int, bytes]] = []
        for now in range(0, until, MS):
            arriving = [each for each in under_way if each[0] <= now]
            under_way = [each for each in under_way if each[0] > now]
            for _, to, data in arriving:
                args = (data, len(data), 1 - to, to, 0, now)
                assert self.lib.noq_receive(self.ends[to], *args) == 0
            for place, end in enumerate(self.ends):
                for data in self._step(place, end, now):
                    self.sent.append(data)
                    under_way.append((now + ONE_WAY, 1 - place, data))

    def _step(self, place: int, end: Any, now: int) -> list[bytes]:
        assert self.lib.noq_send(end, now) >= 0
        state = self.lib.noq_state(end)
        if any(state.events[i].kind == READY for i in range(state.event_count)):
            self.ready_ms[place] = now / MS
        made = []
        for i in range(state.datagram_count):
            each = state.datagrams[i]
            made.append(bytes(self.ffi.buffer(state.output + each.offset, each.length)))
        self.lib.noq_taken(end)
        return made


def test_handshake_takes_one_round_trip(tmp_path: Any) -> None:
    pair = Pair(tmp_path, seed=1)
    pair.run(100 * MS)
    assert pair.ready_ms == [20, 30]


def test_same_seed_gives_the_same_bytes(tmp_path: Any) -> None:
    sent = []
    for seed in (1, 1, 2):
        pair = Pair(tmp_path, seed)
        pair.run(100 * MS)
        sent.append(pair.sent)
    assert sent[0] == sent[1]
    assert sent[0] != sent[2]
