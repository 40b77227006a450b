"""The CSV of the 4G and 5G data sets of Raca et al. (ACM MMSys 2018 and 2020)."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.fields import Row, number
from minitopo_dc.trace.model import RateTrace

TIMESTAMP = "Timestamp"
_TIME_FORMAT = "%Y.%m.%d_%H.%M.%S"
_MISSING = ("-", "")
_EPOCH = datetime(1970, 1, 1)


def parse_raca(path: Path, rows: list[Row], column: str) -> RateTrace:
    """One bit rate column (kbit/s) as a function of the time stamps.

    The files are sampled irregularly, so it is the time stamp that counts, not the row's number:

    * a value holds from its time stamp up to the next one, over gaps of any length;
    * a second that occurs in several rows has the mean of its rows' values;
    * a missing value (`-` or empty) is no value: the previous one goes on holding, and a second
      with values and missing values has the mean of the values;
    * rows before the first value are left out: time 0 is the first value's time stamp;
    * the last row lasts one second, the resolution of the time stamps.

    Raises:
        TraceError: a column is missing, a field is not readable, or time goes backwards.
    """
    header_line, header = rows[0]
    time_index = _column(path, header_line, header, TIMESTAMP, [TIMESTAMP])
    bitrates = [name for name in header if name.endswith("_bitrate")]
    rate_index = _column(path, header_line, header, column, bitrates)
    seconds: list[int] = []
    values: list[list[Decimal]] = []
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            what = f"{len(fields)} columns"
            raise TraceError(path, line, what, f"{len(header)} columns, as the header has")
        second = _second(path, line, fields[time_index])
        if not seconds or second > seconds[-1]:
            seconds.append(second)
            values.append([])
        elif second < seconds[-1]:
            raise TraceError(path, line, "time goes backwards", "time stamps that do not descend")
        if fields[rate_index] not in _MISSING:
            values[-1].append(number(path, line, fields[rate_index], column))
    return _assemble(path, column, seconds, values)


def _column(path: Path, line: int, header: list[str], name: str, allowed: list[str]) -> int:
    if name not in header or name not in allowed:
        raise TraceError(path, line, f"no column {name!r}", " or ".join(allowed) or "*_bitrate")
    return header.index(name)


def _second(path: Path, line: int, text: str) -> int:
    try:
        moment = datetime.strptime(text, _TIME_FORMAT)
    except ValueError as error:
        raise TraceError(path, line, f"time stamp {text!r}", _TIME_FORMAT) from error
    return (moment - _EPOCH) // timedelta(seconds=1)


def _assemble(
    path: Path, column: str, seconds: list[int], values: list[list[Decimal]]
) -> RateTrace:
    known = [(second, found) for second, found in zip(seconds, values, strict=True) if found]
    if not known:
        raise TraceError(path, 0, f"no value in column {column!r}", "at least one number")
    zero = known[0][0]
    return RateTrace(
        name=path.name,
        times_ns=tuple((second - zero) * 1_000_000_000 for second, _ in known),
        rates_bps=tuple(round(sum(found) * 1000 / len(found)) for _, found in known),
        duration_ns=(seconds[-1] + 1 - zero) * 1_000_000_000,
    )
