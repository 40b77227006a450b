"""Reports of the hostile benchmarks."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 160
"""Of a table in a file."""


@dataclass(frozen=True)
class Report:
    """A table, and each fault once, with the command that reproduces it."""

    rows: Sequence[Mapping[str, Any]]
    """All with the same columns."""
    faults: Sequence[str] = field(default_factory=list)

    def show(self, *, as_json: bool) -> int:
        """Print the report; return the exit status: 1 when there is a fault."""
        if as_json:
            print(json.dumps(asdict(self), indent=1))  # noqa: T201
        else:
            table = Table(*(self.rows[0] if self.rows else ()))
            for row in self.rows:
                table.add_row(*(str(value) for value in row.values()))
            console = Console(width=None if sys.stdout.isatty() else WIDTH)
            console.print(table)
            for fault in self.faults:
                console.print(fault, markup=False)
        return 1 if self.faults else 0
