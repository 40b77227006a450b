"""The received power of each cell that a terminal hears, second by second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class HeardCell(NamedTuple):
    """One cell that the terminal hears in one second.

    `carrier` is a frequency of `operator`; `cell` tells the cells of one carrier apart.
    """

    operator: str
    carrier: str
    cell: str
    rsrp_dbm: float

    @property
    def name(self) -> str:
        """Return the cell's name, unique in the log: `OPERATOR/CARRIER/CELL`."""
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
        """Refuse a drive without a cell with a ValueError."""
        if not any(self.seconds):
            raise ValueError(f"drive {self.name}: no cell in any second")

    def carriers(self) -> list[tuple[str, str]]:
        """Return each (operator, carrier) that is ever heard, sorted."""
        return sorted({(c.operator, c.carrier) for second in self.seconds for c in second})
