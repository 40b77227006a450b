"""Reader of the CSV of Raca et al. (ACM MMSys 2018 and 2020): its bit rates, and its cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from minitopo_dc.trace.drives.cells import HeardCell
from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.formats.columns import KBPS, RACA_CLOCK, Column, index_of
from minitopo_dc.trace.formats.fields import Row, power_dbm
from minitopo_dc.trace.formats.table import MISSING, moment_of, parse_table
from minitopo_dc.trace.model import RateTrace
from minitopo_dc.units import NS_PER_S

TIMESTAMP = "Timestamp"
TIME = Column(TIMESTAMP, RACA_CLOCK)
_RESOLUTION_NS = 1_000_000_000
"""Of the time stamps, so that the last row lasts 1 s."""


def parse_raca(path: Path, rows: list[Row], column: str) -> RateTrace:
    """Return one bit rate column (kbit/s), by :func:`~minitopo_dc.trace.formats.table.parse_table`.

    The 5G files have the columns of the 4G ones and others; both are found by their names.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    line, header = rows[0]
    bitrates = [name for name in header if name.endswith("_bitrate")]
    index_of(path, line, header, TIMESTAMP)
    if column not in bitrates:
        allowed = " or ".join(bitrates) or "*_bitrate"
        raise TraceError(path, line, f"no column {column!r}", allowed)
    return parse_table(path, rows, TIME, Column(column, KBPS), _RESOLUTION_NS)


Sample = tuple[int, HeardCell]
"""A cell and the second (from any moment) in which it was heard."""

LONGEST_GAP_S = 86_400
"""A longer one is a wrong unit or two logs in one; a day is more than any drive."""
_COLUMNS = ("Operatorname", "CellID", "NetworkMode", "RSRP", "NRxRSRP")
_CARRIER = "LTE"
_MISSING = (*MISSING, "0", "0.0")
"""0 dBm is no power that a terminal hears: some rows have it where others have nothing."""
_NEIGHBOUR = "neighbour"
"""The set does not say which cell `NRxRSRP` is of."""


def parse_raca_cells(path: Path, rows: list[Row]) -> Iterator[Sample]:
    """Yield an operator's LTE cells: `RSRP` of the serving one, `NRxRSRP` of a neighbour.

    The set names no carriers: each operator has one, `LTE`, on which the neighbour interferes. As
    with bit rates (:func:`~minitopo_dc.trace.formats.table.parse_table`) a row holds up to the next
    time stamp, the last one for one second. A row of another network (`NetworkMode`) has no cell.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    line, header = rows[0]
    places = [index_of(path, line, header, name) for name in _COLUMNS]
    seconds = _seconds(path, rows, index_of(path, line, header, TIME.name))
    check_gaps(path, sorted(set(seconds)))
    ends = _ends(seconds)
    for (line, fields), second in zip(rows[1:], seconds, strict=True):
        for cell in _cells(path, line, [fields[place] for place in places]):
            yield from ((each, cell) for each in range(second, ends[second]))


def check_gaps(path: Path, seconds: list[int]) -> None:
    """Refuse a log with a gap that no drive has, before all its seconds are made.

    Raises:
        TraceError: there is one.
    """
    for before, after in pairwise(seconds):
        if after - before > LONGEST_GAP_S:
            what = f"no row for {after - before} s after {before} s"
            raise TraceError(path, 0, what, f"gaps of at most {LONGEST_GAP_S} s")


def _seconds(path: Path, rows: list[Row], time: int) -> list[int]:
    seconds: list[int] = []
    for line, fields in rows[1:]:
        if len(fields) != len(rows[0][1]):
            allowed = f"{len(rows[0][1])} columns, as the header has"
            raise TraceError(path, line, f"{len(fields)} columns", allowed)
        seconds.append(moment_of(path, line, fields[time], TIME) // NS_PER_S)
        if len(seconds) > 1 and seconds[-1] < seconds[-2]:
            raise TraceError(path, line, "time goes backwards", "time stamps that do not descend")
    return seconds


def _ends(seconds: list[int]) -> dict[int, int]:
    """Return, for each second, until which second its rows hold."""
    distinct = sorted(set(seconds))
    return dict(pairwise([*distinct, distinct[-1] + 1])) if distinct else {}


def _cells(path: Path, line: int, fields: list[str]) -> Iterator[HeardCell]:
    operator, serving, network, *powers = fields
    if network != _CARRIER:
        return
    for name, text, column in zip((serving, _NEIGHBOUR), powers, _COLUMNS[3:], strict=True):
        if text not in _MISSING:
            power = power_dbm(path, line, text, column)
            yield HeardCell(operator, _CARRIER, name, power)
