"""Drives as files: the log of visible cells (long CSV) and the channels made of it (wide CSV)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Literal

from minitopo_dc.trace.channels import Capacities, CellLog, HeardCell
from minitopo_dc.trace.formats.columns import MBPS, SECONDS, TraceColumn, words_of
from minitopo_dc.trace.formats.fields import Row, Rows, read_rows, write_lines
from minitopo_dc.trace.formats.table import (
    LONGEST_GAP_S,
    TIMESTAMP,
    Sample,
    check_gaps,
    parse_raca_cells,
)
from minitopo_dc.trace.model import RateTrace, Source, TraceError

CELL_COLUMNS = ["time_s", "operator", "carrier", "cell", "rsrp_dbm"]


def read_cells(*paths: str | Path) -> CellLog:
    """Read a log of visible cells, or several that were taken at the same time.

    Each file is a long CSV (:func:`parse_cells`) or one of Raca et al.
    (:func:`~minitopo_dc.trace.formats.table.parse_raca_cells`). Times of several files count from
    the same moment. Second 0 is the first one with a cell; a second without a row has no visible
    cell; a cell that occurs several times in a second has the mean of its values in dBm.

    Raises:
        TraceError: a file is neither, or says something that cannot be read.
        OSError: one cannot be opened.
    """
    files = [Path(path) for path in paths]
    heard: dict[int, dict[tuple[str, str, str], list[float]]] = {}
    for file in files:
        rows = read_rows(file)
        parse = parse_raca_cells if TIMESTAMP in rows[0].fields else parse_cells
        for second, cell in parse(rows):
            heard.setdefault(second, {}).setdefault(cell[:3], []).append(cell.rsrp_dbm)
    if not heard:
        raise TraceError(files[0], 0, "no cell", "at least one row with a cell of LTE")
    check_gaps(files[0], sorted(heard))
    seconds = tuple(
        tuple(
            HeardCell(*cell, math.fsum(powers) / len(powers))
            for cell, powers in heard.get(second, {}).items()
        )
        for second in range(min(heard), max(heard) + 1)
    )
    return CellLog(" + ".join(file.name for file in files), seconds)


def kind_of_drive(path: str | Path) -> Literal["cells", "channels"] | None:
    """Return what a file has of a drive by its header, None if it is another kind of trace.

    Raises:
        TraceError: it is no text, or empty.
        OSError: it cannot be opened.
    """
    header = read_rows(Path(path))[0].fields
    if header == CELL_COLUMNS:
        return "cells"
    return "channels" if _channel_count(header) else None


def parse_cells(rows: Rows) -> Iterator[Sample]:
    """Yield the cells of rows `time_s,operator,carrier,cell,rsrp_dbm`, whose times do not descend.

    Raises:
        TraceError: a row is none.
    """
    header, columns = rows[0], ",".join(CELL_COLUMNS)
    if header.fields != CELL_COLUMNS:
        raise header.error(f"header {','.join(header.fields)[:60]!r}", columns)
    if len(rows) == 1:
        raise header.error("no cell", "at least one row")
    before, samples = Decimal(0), False
    for row in rows[1:]:
        row.check_width(len(CELL_COLUMNS), columns)
        time = row.number(row.fields[0], "time_s")
        if time < before:
            raise row.error(f"time {time} goes backwards", f"{before} s or later")
        if samples and time - before > LONGEST_GAP_S:
            what = f"no row for {time - before} s after {before} s"
            raise row.error(what, f"gaps of at most {LONGEST_GAP_S} s")
        before, samples = time, True
        yield int(time), _cell(row)


def write_cells(log: CellLog, path: str | Path, *, comment: str = "") -> None:
    """Write a long CSV; reading gives the same log, with powers in tenths of a dB.

    Each line of `comment` becomes a line behind `#` at the top.
    """
    lines = [",".join(CELL_COLUMNS)]
    for second, cells in enumerate(log.seconds):
        lines += [f"{second},{','.join(cell[:3])},{cell.rsrp_dbm:.1f}" for cell in cells]
    write_lines(path, comment, lines)


def read_channels(path: str | Path) -> Capacities:
    """Read a wide CSV (:func:`parse_channels`).

    Raises:
        TraceError: it is none.
        OSError: it cannot be opened.
    """
    return parse_channels(read_rows(Path(path)))


def parse_channels(rows: Rows) -> Capacities:
    """Return the channels of rows `time_s,channel_1_mbps,...,channel_1_cell,...` for each second.

    A rate of 0 is an absent channel, whose cell is empty. A cell that is written as
    `OPERATOR/CARRIER/CELL` tells the channel's operator.

    Raises:
        TraceError: a row is none.
    """
    header, path = rows[0], rows[0].path
    _refuse_cells(header)
    count = _channel_count(header.fields)
    if not count or len(rows) == 1:
        raise header.error("no channels", ",".join(_header(1)) + " and a row a second")
    times: list[int] = []
    for row in rows[1:]:
        row.check_width(len(header.fields), f"{len(header.fields)} columns, as the header")
        time = row.number(row.fields[0], "time_s")
        if time != int(time):
            raise row.error(f"time {row.fields[0]}", "whole seconds")
        if times and time != times[-1] + 1:
            raise row.error(f"time {time} after {times[-1]}", "each second once")
        times.append(int(time))
    rates = [
        tuple(float(row.rate_bps(row.fields[place], name, MBPS) / MBPS.size) for row in rows[1:])
        for place, name in enumerate(header.fields[1 : 1 + count], start=1)
    ]
    cells = list(zip(*(row.fields[1 + count :] for row in rows[1:]), strict=True))
    if not any(map(any, rates)):
        raise TraceError(path, 0, "no channel has any capacity", "a rate above 0 in any second")
    # The operator is that of the first cell whose name has one.
    operators = tuple(
        next((cell.split("/")[0] for cell in row if cell.count("/") == 2), "") for row in cells
    )
    return Capacities(path.name, operators, tuple(rates), tuple(cells))


def channel_trace(rows: Rows, column: str) -> RateTrace | None:
    """Return one channel of a wide CSV by its column's name, None for another file or column.

    Raises:
        TraceError: a row of the wide CSV is none, or the file is a log of cells.
    """
    _refuse_cells(rows[0])
    header = rows[0].fields
    names = [_rate_column(channel) for channel in range(_channel_count(header))]
    if column not in names:
        return None
    trace = parse_channels(rows).trace(names.index(column))
    return replace(
        trace, source=Source(words_of(TraceColumn(header[0], SECONDS), TraceColumn(column, MBPS)))
    )


def write_channels(capacities: Capacities, path: str | Path, *, comment: str = "") -> None:
    """Write a wide CSV; reading gives the same capacities and cells.

    Each line of `comment` becomes a line behind `#` at the top.
    """
    lines = [",".join(_header(len(capacities.mbps)))]
    for step in range(capacities.steps):
        rates = [f"{rate:.3f}".rstrip("0").rstrip(".") for rate in capacities.at(step)]
        cells = [row[step] for row in capacities.cells]
        lines.append(",".join([str(step * capacities.step_s), *rates, *cells]))
    write_lines(path, comment, lines)


def _cell(row: Row) -> HeardCell:
    _, operator, carrier, cell, power = row.fields
    for column, name in zip(CELL_COLUMNS[1:4], (operator, carrier, cell), strict=True):
        if not name or "/" in name:
            raise row.error(f"{column} {name!r}", "a name without a slash")
    return HeardCell(operator, carrier, cell, row.power_dbm(power, "rsrp_dbm"))


def _refuse_cells(header: Row) -> None:
    if header.fields == CELL_COLUMNS:
        made = "channels, which `minitopo-dc trace channels` makes of it"
        raise header.error("a log of cells has no capacity", made)


def _channel_count(header: Sequence[str]) -> int:
    """Return how many channels a wide CSV's header has, 0 if it is no such header."""
    count = (len(header) - 1) // 2
    return count if list(header) == _header(count) else 0


def _header(count: int) -> list[str]:
    cells = [f"channel_{k + 1}_cell" for k in range(count)]
    return ["time_s", *map(_rate_column, range(count)), *cells]


def _rate_column(channel: int) -> str:
    return f"channel_{channel + 1}_mbps"
