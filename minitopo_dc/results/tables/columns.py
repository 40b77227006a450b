"""Columns of tables of runs: which are there, which are measures, and their names with units."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd

from minitopo_dc.errors import InputError, did_you_mean

UNITS: Final[Mapping[str, str]] = {
    **{"mbps": "Mbit/s", "ms": "ms", "s": "s", "mb": "MB", "kb": "kB", "dbm": "dBm"},
    **{"bytes": "bytes", "percent": "%", "packets": "packets"},
}
"""The unit that the end of a field's or a measure's name tells."""
_WORDS = (
    *((r"\brtt\b", "round-trip time"), (r"\bqoe\b", "QoE"), (r"\bpdcp\b", "PDCP")),
    *((r" p(\d+)\b", r", \1th percentile"), (r" median\b", ", median")),
    *((r" max\b", ", greatest"), (r"^answer worst\b", "worst answer")),
)
WHOLE = 1e12
"""Whole numbers below are written with all their digits, such as bytes of a buffer."""
FELT: Final = (
    *("linear_qoe_mbps", "loaded_p95_ms", "delay_p95_ms", "frame_delay_p95_ms", "rtt_median_ms"),
)
"""The main measure of video, requests, a call and echoes, alone or beside a download."""
MINOR: Final = (
    *("completion_s", "capacity_share", "bound_mbps", "first_byte_s", "handshake_s"),
    *("client_cpu_s", "server_cpu_s"),
)
"""Measures of all kinds of runs, which say less than those of their own."""
LEG_BYTES: Final = "leg_bytes_"
BOOKKEEPING: Final = frozenset(
    {
        *("experiment", "seed", "status", "reason", "run", "repeats", "wall_s"),
        *("started_s", "socket_drops", "server_socket_drops", "receive_buffer_bytes"),
        *("quic_version", "multipath", "bytes_received", "size_bytes", "trust"),
        *("client_status", "leg", "stopped_s"),
    }
)
"""Columns, also of a flow, that are neither labels nor measures that a table of means shows."""
_FLOW = re.compile(r"flow_\d+_")


class ColumnError(InputError):
    """A name that no column of a table of runs has."""


def check_columns(table: pd.DataFrame, *names: str | None) -> None:
    """Refuse names that a table has no column of.

    Raises:
        ColumnError: a column is not there; the message has the known ones.
    """
    for name in names:
        if name is not None and name not in table:
            hint = did_you_mean(name, list(map(str, table)))
            known = ", ".join(map(str, table))
            raise ColumnError(f"no column {name}; {hint}{hint and '; '}known: {known}")


def label_of(name: str) -> str:
    """Return a field's or a measure's name as an axis has it.

    >>> label_of("goodput_mbps"), label_of("delay_p95_ms")
    ('goodput (Mbit/s)', 'delay, 95th percentile (ms)')
    """
    text, unit = name_and_unit(name)
    return f"{text} ({unit})" if unit else text


def name_and_unit(name: str) -> tuple[str, str]:
    """Return a field's or a measure's name in words, and its unit: `goodput`, `Mbit/s`."""
    words, _, end = name.rpartition("_")
    unit = UNITS.get(end, "") if words else ""
    text = re.sub("[_.]", " ", words if unit else name)
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    return text, unit


def setting_of(name: str, value: Any) -> str:
    """Return a factor with a value of it: `loss 0.1 %`; of a text the value alone."""
    text, unit = name_and_unit(name)
    return value if isinstance(value, str) else f"{text} {value_name(value)} {unit}".rstrip()


def way_names(values: pd.Series[Any]) -> pd.Series[str]:
    """Return the names of a column that tells ways apart: numbers with what they are of."""
    return values.map(lambda value: setting_of(str(values.name), value))


def value_name(value: Any) -> str:
    """Return a label's value as text: 1.0 is `1`, and (1, 1) is `1:1`."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < WHOLE else f"{value:g}"
    if isinstance(value, list | tuple | np.ndarray):
        return ":".join(map(value_name, value))
    return str(value)


def is_number(values: pd.Series[Any]) -> bool:
    """Return whether a factor's values are numbers, which have their place on an axis."""
    is_bool = pd.api.types.is_bool_dtype(values)
    return pd.api.types.is_numeric_dtype(values) and not is_bool


def measures_of(runs: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """Return the columns with finite numbers that are neither labels nor bookkeeping."""
    # A name with a point is a scenario's field, such as `pdcp.t_reordering_ms`, and no measure.
    columns = [str(name) for name in runs if name not in labels and "." not in str(name)]
    numbers = [name for name in columns if _FLOW.sub("", name) not in BOOKKEEPING]
    return [
        name
        for name in numbers
        if is_number(runs[name]) and np.isfinite(runs[name].to_numpy(float, na_value=np.nan)).any()
    ]


def main_measure(runs: pd.DataFrame, labels: Collection[str] = ()) -> str:
    """Return the measure of runs by their workload: goodput, the delay of answers or frames, QoE.

    Of several flows it is what one of them feels, else Jain's index; of a user's program its first
    own measure. Without any number, as before the first run, it is the goodput.
    """
    known = measures_of(runs, labels)
    felt = [name for measure in FELT for name in known if _FLOW.sub("", name) == measure]
    own = [name for name in known if name not in MINOR and not name.startswith(LEG_BYTES)]
    order = (FELT[0], "goodput_mbps", *FELT[1:], *felt, "jain_index", *own, *MINOR, *known)
    return next((name for name in order if name in known), "goodput_mbps")


def is_better_low(measure: str) -> bool:
    """Return whether less of a measure is better: of times and losses."""
    return measure.endswith(("_s", "_ms")) or "loss" in measure or "lost" in measure
