"""A directory with one file for servers that serve files, and one for the client's copy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.runners.base import Transfer, TransferFailed
from minitopo_dc.runners.payload.content import write_content


@contextmanager
def website(transfer: Transfer) -> Iterator[None]:
    """Give directories `www`, with a file named by its size, and `download`, for a block."""
    www, download = transfer.directory / "www", transfer.directory / "download"
    try:
        for directory in (www, download):
            shutil.rmtree(directory, ignore_errors=True)  # of an earlier run that was killed
            directory.mkdir()
        size = transfer.download.requested_bytes
        write_content(www / str(size), size)
        yield
    finally:
        for directory in (www, download):
            shutil.rmtree(directory, ignore_errors=True)


def downloaded_file(transfer: Transfer) -> Path:
    """Return the file that the client wrote.

    Raises:
        TransferFailed: it wrote none, or more than one.
    """
    files = list((transfer.directory / "download").iterdir())
    if len(files) != 1:
        raise TransferFailed(f"client wrote {len(files)} files, not one")
    return files[0]
