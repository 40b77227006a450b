"""The content of every server: N deterministic bytes, so that clients are checked by hash."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


def blocks(size_bytes: int) -> Iterator[bytes]:
    """Yield the content of a transfer of `size_bytes`: one block repeated, the last one cut."""
    whole, rest = divmod(size_bytes, BLOCK_BYTES)
    for _ in range(whole):
        yield BLOCK
    if rest:
        yield BLOCK[:rest]


@lru_cache(maxsize=8)
def content_sha256(size_bytes: int) -> str:
    """Return the SHA-256 of the content of a transfer of `size_bytes`, in hexadecimal digits.

    It is also that of the first `size_bytes` of a longer transfer, whose content begins with the
    same bytes: so what a client had when it stopped can be checked.
    """
    digest = hashlib.sha256()
    for block in blocks(size_bytes):
        digest.update(block)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_content(path: Path, size_bytes: int) -> None:
    """Write the content of a transfer of `size_bytes` into a file."""
    with path.open("wb") as file:
        file.writelines(blocks(size_bytes))


class Received:
    """Bytes that arrived, compared with the first bytes of the content.

    Each byte is compared, which takes a tenth of the time of a hash.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self.is_right = True
        """Whether all that has arrived is what was sent."""

    def take(self, data: bytes) -> None:
        """Take the next piece of the bytes."""
        start = self.size_bytes % BLOCK_BYTES
        is_short = start + len(data) <= len(SEVERAL_BLOCKS)
        content = SEVERAL_BLOCKS if is_short else BLOCK * (2 + len(data) // BLOCK_BYTES)
        self.is_right = self.is_right and content.startswith(data, start)
        self.size_bytes += len(data)

    def is_content(self, size_bytes: int) -> bool:
        """Return whether it is the content of a transfer of `size_bytes`, no byte more or less."""
        return self.is_right and self.size_bytes == size_bytes


def requested_size(path: str) -> int | None:
    """Return N of the request path `/bytes/N`, None for any other path."""
    return _size(path, "/bytes")


def response_size(path: str) -> int | None:
    """Return N of the request path `/respond/N`, None for any other path."""
    return _size(path, "/respond")


def _size(path: str, folder: str) -> int | None:
    prefix, _, size = path.rpartition("/")
    return int(size) if prefix == folder and size.isdecimal() and size.isascii() else None


BLOCK_BYTES = 64 * 1024
BLOCK = random.Random(38323).randbytes(BLOCK_BYTES)
"""A fixed seed: the content is the same in every run and on every machine. Random bytes, so that
nothing on the way can shorten them."""
SEVERAL_BLOCKS = BLOCK * 4
"""Longer than most pieces that arrive."""
