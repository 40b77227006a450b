"""What a terminal hears: the received power of each visible cell, second by second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class HeardCell(NamedTuple):
    """One cell in one second.

    `carrier` is a frequency of `operator`; `cell` tells the cells of one carrier apart.
    """

    operator: str
    carrier: str
    cell: str
    rsrp_dbm: float

    @property
    def name(self) -> str:
        """Unique in the log: `OPERATOR/CARRIER/CELL`."""
        return f"{self.operator}/{self.carrier}/{self.cell}"


@dataclass(frozen=True, slots=True)
class CellLog:
    """The visible cells of each second of a drive, from second 0 on.

    Raises:
        ValueError: no cell in any second.
    """

    name: str
    seconds: tuple[tuple[HeardCell, ...], ...]

    def __post_init__(self) -> None:
        """Refuse a drive without a cell."""
        if not any(self.seconds):
            raise ValueError(f"drive {self.name}: no cell in any second")

    def carriers(self) -> list[tuple[str, str]]:
        """Each (operator, carrier) that is ever heard, sorted."""
        return sorted({(c.operator, c.carrier) for second in self.seconds for c in second})
