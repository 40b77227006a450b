"""A directory with one file for servers that serve files, and one for the client's copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from minitopo_dc.runners.base import Transfer, TransferFailed
from minitopo_dc.workloads.content import write_content


@contextmanager
def website(transfer: Transfer) -> Iterator[None]:
    """Give directories `www`, with a file named by its size, and `download`, for a block."""
    size = transfer.download.requested_bytes
    with _directory(transfer.directory / "www") as www, download_directory(transfer):
        write_content(www / str(size), size)
        yield


def download_directory(transfer: Transfer) -> AbstractContextManager[Path]:
    """Give directory `download` alone, for a block."""
    return _directory(transfer.directory / "download")


@contextmanager
def _directory(path: Path) -> Iterator[Path]:
    shutil.rmtree(path, ignore_errors=True)  # of an earlier run that was killed
    try:
        path.mkdir()
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def downloaded_file(transfer: Transfer) -> Path:
    """Return the file that the client wrote.

    Raises:
        TransferFailed: it wrote none, or more than one.
    """
    files = list((transfer.directory / "download").iterdir())
    if len(files) != 1:
        raise TransferFailed(f"client wrote {len(files)} files, not one")
    return files[0]
