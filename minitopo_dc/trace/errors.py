"""The one error that a trace file can raise."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.errors import InputError


class TraceError(InputError):
    """Error: a trace file says something that cannot be read.

    Attributes:
        path: the file.
        line: its line (from 1), or 0 when the whole file is meant.
        what: what is wrong there.
        allowed: what would have been right.
    """

    def __init__(self, path: Path, line: int, what: str, allowed: str) -> None:
        """Join the parts into the message `file:line: what (allowed: ...)`."""
        where = f"{path}:{line}" if line else str(path)
        super().__init__(f"{where}: {what} (allowed: {allowed})")
        self.path = path
        self.line = line
        self.what = what
        self.allowed = allowed
