"""Measures of a run by the names that campaigns have for them (docs/data-model.md)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from minitopo_dc.errors import InputError
from minitopo_dc.plugins import enter
from minitopo_dc.results.files import naming
from minitopo_dc.results.logs import sender_recovery
from minitopo_dc.results.measures.delays import (
    DELAY_MEASURES,
    answer_p95_ms,
    answer_worst_ms,
    delay_ms,
)
from minitopo_dc.results.measures.pdcp import given_up, leg_failures, reordering_wait_ms
from minitopo_dc.results.measures.recovery import (
    handover_recovery_s,
    handovers_per_minute,
    worst_recovery_s,
)
from minitopo_dc.results.measures.utilisation import (
    arrived_copies,
    leg_bytes_per_byte,
    leg_loss_percent,
    leg_share,
    link_utilisation,
    mp_capacity_mbps,
    mp_share,
    sp_capacity_mbps,
    sp_share,
)
from minitopo_dc.results.metrics import jain_index
from minitopo_dc.results.run_result import NUMBERS
from minitopo_dc.results.tables.runs import load_result
from minitopo_dc.spelling import did_you_mean

Read = Callable[[Path], Mapping[str, float]]
"""A function that reads measures of a run from its directory."""
SENDER_MEASURES = ("drop_occasions", "lost_packets", "rtt_ms")
FROM_FILES: dict[str, Callable[[Path], float]] = {
    "reordering_wait_ms": reordering_wait_ms,
    "given_up": given_up,
    "leg_failures": leg_failures,
    "answer_worst_ms": answer_worst_ms,
    "answer_p95_ms": answer_p95_ms,
    "recovery_s": worst_recovery_s,
    "leg_bytes_per_byte": leg_bytes_per_byte,
    "leg_loss_percent": leg_loss_percent,
    "mp_capacity_mbps": mp_capacity_mbps,
    "sp_capacity_mbps": sp_capacity_mbps,
    "mp_share": mp_share,
    "sp_share": sp_share,
    "handovers_per_minute": handovers_per_minute,
    "handover_recovery_s": handover_recovery_s,
    **{name: partial(delay_ms, name=name) for name in DELAY_MEASURES},
}
UTILISATION = "utilisation_leg_"
LEG_BYTES = "leg_bytes_"
THROUGHPUT = "throughput_mbps"
"""The throughput of a download, from its first byte on: the handshake's time does not count."""
LEG_SHARE = re.compile(r"leg_([0-9]{1,3})_(carried|sent)_from_([0-9]{1,6})_s")
"""Names such as `leg_2_carried_from_4_s`."""
COUNTED: dict[str, Literal["delivered_bytes", "pushed_bytes"]] = {
    "carried": "delivered_bytes",
    "sent": "pushed_bytes",
}
LINKS_PREFIX = "links_"
"""Names such as `links_flow_1_mbps`, and `links_jain_index`."""
FLOW = re.compile("flow_([0-9]+)_mbps")
ROW_SETTINGS = ("seed", "repetition", "size_bytes")
"""Numbers of a run's row that were asked for, not measured."""
PLAIN = (
    *(
        *NUMBERS,
        THROUGHPUT,
        "jain_index",
        *SENDER_MEASURES,
        *FROM_FILES,
    ),
    *("wall_s", "started_s", "first_byte_s", "client_cpu_s", "server_cpu_s"),
)
"""Names of measures that have no number in them; the last ones are in most runs' `details`."""
NUMBERED = re.compile(
    r"(links_)?flow_[0-9]+_mbps|links_jain_index|(utilisation_leg|leg_bytes)_[0-9]+"
)

_ADDED: dict[str, Read] = {}
"""What scripts and plugins have added, by the names of the measures."""


def is_known(name: str) -> bool:
    """Return whether a name is a measure's, whatever the transport and the workload.

    Any other name may still be that of a number that a transport or a program reports (`details`).
    """
    if name in PLAIN or name in ROW_SETTINGS or name in _ADDED:
        return True
    return bool(NUMBERED.fullmatch(name) or LEG_SHARE.fullmatch(name))


def run_measures(*names: str) -> Callable[[Read], Read]:
    """Register a function as measures of runs, for `with_measures`; it is a decorator.

    >>> @dc.run_measures("first_byte_ms")
    ... def first_byte(run: Path) -> dict[str, float]:
    ...     return {"first_byte_ms": 1000 * dc.RunResult.load(run).measures["first_byte_s"]}

    Args:
        names: the measures that the function returns of the directory of a run that is ok.

    Raises:
        ValueError: a name is taken, unless by the same function.
    """

    def register(read: Read) -> Read:
        for name in names:
            if name not in _ADDED and is_known(name):
                raise ValueError(f"there is a measure {name!r} already")
            enter("measure", _ADDED, name, read)
        _added.cache_clear()
        return read

    return register


@lru_cache(4096)
def _added(read: Read, run: Path, _version: int) -> Mapping[str, float]:
    """Return the measures of a run through a cache, as each of them is asked for."""
    return read(run)


def measure(row: dict[Any, Any], name: str) -> float:
    """Return a run's measure, from its row, else from its files; NaN when it has no such measure.

    Raises:
        ResultError: it should be in a file that is missing or broken.
    """
    with naming(Path(row.get("directory", "a run"))):
        return _measure(row, name)


def with_measures(runs: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return a campaign's table with more measures, read from the files of its runs.

    >>> runs = dc.with_measures(dc.load("results/mine"), "reordering_wait_ms")

    Args:
        runs: of `Campaign.run` or `load`.
        names: the measures (docs/data-model.md); a run that is not ok, or has none, gets NaN.

    Raises:
        InputError: there is no such measure.
        ResultError: it should be in a file of a run that is missing or broken.
    """
    for name in names:
        if not is_known(name):
            known = (*PLAIN, *_ADDED)
            hint = did_you_mean(name, known)
            raise InputError(f"no measure {name}; {hint}{hint and '; '}known: {', '.join(known)}")
    root = Path(runs.attrs.get("directory", ""))
    rows = [
        {**row, "directory": root / row["run"]} if row["status"] == "ok" else None
        for row in runs.to_dict("records")
    ]
    columns = {
        name: [math.nan if row is None else measure(row, name) for row in rows] for name in names
    }
    return runs.assign(**columns)


def _measure(row: dict[Any, Any], name: str) -> float:
    if name in SENDER_MEASURES:
        return _float(getattr(sender_recovery(Path(row["directory"])), name))
    if name in _ADDED:
        run = Path(row["directory"])
        version = (run / "result.json").stat().st_mtime_ns  # a run may be repeated in its place
        return _added(_ADDED[name], run, version).get(name, math.nan)
    if name.startswith(LINKS_PREFIX):
        return _on_links(row, name.removeprefix(LINKS_PREFIX))
    if name in FROM_FILES:
        return FROM_FILES[name](Path(row["directory"]))
    if name.startswith((UTILISATION, LEG_BYTES)) or LEG_SHARE.fullmatch(name):
        return _of_legs(Path(row["directory"]), name)
    return _throughput(row) if name == THROUGHPUT else _of_row(row, name)


def _of_row(row: dict[Any, Any], name: str) -> float:
    of_flow = FLOW.fullmatch(name)
    return _goodput(row, int(of_flow[1])) if of_flow else _float(row.get(name))


def _goodput(row: dict[Any, Any], flow: int) -> float:
    """Return a flow's goodput by its column in the table of a Python campaign, or a YAML one."""
    name = f"flow_{flow}_mbps"
    return _float(row.get(name, row.get(f"flow_{flow}_goodput_mbps")))


def _throughput(row: dict[Any, Any]) -> float:
    seconds = _float(row.get("completion_s")) - _float(row.get("first_byte_s"))
    return _float(row.get("size_bytes")) * 8 / seconds / 1e6 if seconds else math.nan


def _of_legs(directory: Path, name: str) -> float:
    """Return a measure of one leg, by its name."""
    if found := LEG_SHARE.fullmatch(name):
        column = COUNTED[found[2]]
        return leg_share(directory, column, leg=int(found[1]), from_s=float(found[3]))
    if name.startswith(UTILISATION):
        prefix, values = UTILISATION, link_utilisation(directory)
    else:
        counts = load_result(directory).leg_bytes or ()
        prefix, values = LEG_BYTES, [float(count) for count in counts]
    return {f"{prefix}{leg}": value for leg, value in enumerate(values, 1)}.get(name, math.nan)


def _on_links(row: dict[Any, Any], name: str) -> float:
    """Return a measure of flows in which every copy that arrived counts, as on the links."""
    copies = arrived_copies(Path(row["directory"]))
    rates: dict[str, float] = {}
    for number in itertools.count(1):
        goodput = _goodput(row, number)
        if math.isnan(goodput):
            break
        rates[f"flow_{number}_mbps"] = goodput * copies.get(number, 1.0)
    if name != "jain_index":
        return rates.get(name, math.nan)
    return jain_index(list(rates.values())) if len(rates) > 1 else math.nan


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)
