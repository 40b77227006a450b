"""The CSV of the 4G and 5G data sets of Raca et al. (ACM MMSys 2018 and 2020)."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.fields import Row
from minitopo_dc.trace.model import RateTrace
from minitopo_dc.trace.table import Column, index_of, parse_table

TIMESTAMP = "Timestamp"
TIME = Column(TIMESTAMP, "raca")
_RESOLUTION_NS = 1_000_000_000
"""Of the time stamps, so that the last row lasts 1 s."""


def parse_raca(path: Path, rows: list[Row], column: str) -> RateTrace:
    """One bit rate column (kbit/s) as :func:`~minitopo_dc.trace.table.parse_table` reads it.

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
    return parse_table(path, rows, TIME, Column(column, "kbps"), _RESOLUTION_NS)
