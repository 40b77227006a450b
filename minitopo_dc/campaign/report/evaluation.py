"""A campaign's results as curves, beside those of a reference."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from minitopo_dc.analysis.errors import naming
from minitopo_dc.analysis.logs.connection_log import sender_recovery
from minitopo_dc.analysis.measures.behaviour import BEHAVIOUR_MEASURES, behaviour
from minitopo_dc.analysis.measures.features import FEATURES, connection_features
from minitopo_dc.analysis.measures.handovers import handover_recovery_s, handovers_per_minute
from minitopo_dc.analysis.measures.open_links import (
    mp_capacity_mbps,
    mp_share,
    sp_capacity_mbps,
    sp_share,
)
from minitopo_dc.analysis.measures.pdcp import given_up, leg_failures, reordering_wait_ms
from minitopo_dc.analysis.measures.recovery import worst_recovery_s
from minitopo_dc.analysis.measures.request_delays import answer_p95_ms, answer_worst_ms
from minitopo_dc.analysis.measures.utilisation import (
    arrived_copies,
    leg_bytes_per_byte,
    leg_share,
    link_utilisation,
)
from minitopo_dc.analysis.tables.load import load_result
from minitopo_dc.analysis.tables.reference import compare, read_reference, same_value
from minitopo_dc.campaign.execution.store import Store
from minitopo_dc.campaign.execution.table import cell_table, save_table
from minitopo_dc.campaign.file.fields import Curve, Experiment, Reference
from minitopo_dc.campaign.file.plan import Plan
from minitopo_dc.run.metrics import jain_index

OF_SENDER = ("drop_occasions", "lost_packets", "rtt_ms")
FROM_FILES: dict[str, Callable[[Path], float]] = {
    "reordering_wait_ms": reordering_wait_ms,
    "given_up": given_up,
    "leg_failures": leg_failures,
    "answer_worst_ms": answer_worst_ms,
    "answer_p95_ms": answer_p95_ms,
    "recovery_s": worst_recovery_s,
    "leg_bytes_per_byte": leg_bytes_per_byte,
    "mp_capacity_mbps": mp_capacity_mbps,
    "sp_capacity_mbps": sp_capacity_mbps,
    "mp_share": mp_share,
    "sp_share": sp_share,
    "handovers_per_minute": handovers_per_minute,
    "handover_recovery_s": handover_recovery_s,
}
UTILISATION = "utilisation_leg_"
LEG_BYTES = "leg_bytes_"
THROUGHPUT = "throughput_mbps"
"""Of a download, from its first byte on: the handshake's time does not count."""
LEG_SHARE = re.compile(r"leg_([0-9]{1,3})_(carried|sent)_from_([0-9]{1,6})_s")
"""`leg_2_carried_from_4_s`."""
COUNTED: dict[str, Literal["delivered_bytes", "pushed_bytes"]] = {
    "carried": "delivered_bytes",
    "sent": "pushed_bytes",
}
ON_LINKS = "links_"
"""`links_flow_1_mbps`, ..., `links_jain_index`."""


@dataclass(frozen=True)
class Source:
    """One campaign directory."""

    label: str
    """Its clock; with its directory's name when another has the same clock."""
    store: Store
    plan: Plan
    cells: pd.DataFrame
    """`cell_table`."""

    def cells_of(self, experiment: str, configuration: str | None = None) -> pd.DataFrame:
        """The rows of an experiment, and of one configuration only."""
        chosen = self.cells["experiment"] == experiment
        if configuration is not None:
            chosen &= self.cells["configuration"] == configuration
        return self.cells[chosen]


def load_sources(directories: Sequence[Path]) -> list[Source]:
    """Read campaign directories, in this order.

    Raises:
        StoreError, ResultError: one of them holds no campaign, or a broken run.
    """
    stores = [Store(directory) for directory in directories]
    plans = [store.plan() for store in stores]
    clocks = [plan.clock for plan in plans]
    sources = []
    for store, plan in zip(stores, plans, strict=True):
        alone = clocks.count(plan.clock) == 1
        label = plan.clock if alone else f"{plan.clock}, {store.root.name}"
        cells = cell_table(plan, save_table(plan, store))
        sources.append(Source(label, store, plan, cells))
    return sources


def our_points(source: Source, name: str, curve: Curve, x: str) -> pd.DataFrame:
    """`x`, `mean`, `sd` (sample; NaN of one run) and `runs` of each value of x that has any."""
    rows = source.cells_of(name, curve.configuration)
    rows = rows[rows["status"] == "ok"]
    values = [measure(row, curve.measure) for row in rows.to_dict("records")]
    xs = [factors.get(x) for factors in rows["factors"]]
    table = rows.assign(value=values, x=xs, key=[json.dumps(value) for value in xs])
    groups = table.dropna(subset=["value"]).groupby("key", sort=False)
    points = [
        {
            "x": cell["x"].iloc[0],
            "mean": float(cell["value"].mean()),
            "sd": float(cell["value"].std(ddof=1)),
            "runs": len(cell),
        }
        for _, cell in groups
    ]
    return pd.DataFrame(points, columns=["x", "mean", "sd", "runs"])


def their_points(reference: Reference, curve: Curve) -> pd.DataFrame:
    """`x`, `mean` and `sd` of a reference's curve; no row when it has none.

    Raises:
        ResultError: the reference lacks a column.
    """
    if curve.mean is None:
        return pd.DataFrame(columns=["x", "mean", "sd"])
    table = read_reference(reference.table, {**reference.where, **curve.where})
    spread = table[curve.sd] if curve.sd is not None else pd.Series([""] * len(table))
    return pd.DataFrame(
        {
            "x": [_number(text) for text in table[reference.x]],
            "mean": pd.to_numeric(table[curve.mean], errors="coerce"),
            "sd": pd.to_numeric(spread, errors="coerce"),
        }
    )


def comparison(sources: Sequence[Source], name: str, experiment: Experiment) -> pd.DataFrame:
    """One row per curve, value of x and source: ours and theirs, with errors (`compare`)."""
    rows = list(_pairs(sources, name, experiment))
    columns = ["curve", "source", "x", "ours", "ours_sd", "runs", "theirs", "theirs_sd"]
    return compare(pd.DataFrame(rows, columns=columns))


def curve_label(curve: Curve) -> str:
    """Its name in figures and tables."""
    return curve.label or curve.configuration


def measure(row: dict[Any, Any], name: str) -> float:
    """A run's measure: from its row, else from its files; NaN when it has no such measure.

    Raises:
        ResultError: it should be in a file that is missing or broken.
    """
    with naming(Path(row.get("directory", "a run"))):
        return _measure(row, name)


def _measure(row: dict[Any, Any], name: str) -> float:
    if name in OF_SENDER:
        return _float(getattr(sender_recovery(Path(row["directory"])), name))
    if name in FEATURES or name in BEHAVIOUR_MEASURES:
        return _of_connection(Path(row["directory"]), name)
    if name.startswith(ON_LINKS):
        return _on_links(row, name.removeprefix(ON_LINKS))
    if name in FROM_FILES:
        return FROM_FILES[name](Path(row["directory"]))
    if name.startswith((UTILISATION, LEG_BYTES)) or LEG_SHARE.fullmatch(name):
        return _of_legs(Path(row["directory"]), name)
    return _throughput(row) if name == THROUGHPUT else _float(row.get(name))


def _throughput(row: dict[Any, Any]) -> float:
    seconds = _float(row.get("completion_s")) - _float(row.get("first_byte_s"))
    return _float(row.get("size_bytes")) * 8 / seconds / 1e6 if seconds else math.nan


def _of_connection(run: Path, name: str) -> float:
    """A feature of the first flow's connection, or what its behaviour was."""
    found = connection_features(run) if name in FEATURES else behaviour(run).measures()
    return found[name]


def _of_legs(directory: Path, name: str) -> float:
    """A measure of one leg."""
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
    """A measure of flows in which every copy that arrived counts, as on the links."""
    copies = arrived_copies(Path(row["directory"]))
    rates: dict[str, float] = {}
    for number in itertools.count(1):
        goodput = _float(row.get(f"flow_{number}_mbps"))
        if math.isnan(goodput):
            break
        rates[f"flow_{number}_mbps"] = goodput * copies.get(number, 1.0)
    return jain_index(list(rates.values())) if name == "jain_index" else rates.get(name, math.nan)


def _pairs(
    sources: Sequence[Source], name: str, experiment: Experiment
) -> Iterator[dict[str, Any]]:
    figure, reference = experiment.figure, experiment.reference
    for curve in figure.curves if figure is not None and reference is not None else ():
        assert figure is not None
        assert reference is not None
        theirs = their_points(reference, curve).to_dict("records")
        for source in sources:
            for point in our_points(source, name, curve, figure.x).to_dict("records"):
                same = [each for each in theirs if same_value(point["x"], str(each["x"]))]
                found = same[0] if same else {"mean": float("nan"), "sd": float("nan")}
                yield {
                    "curve": curve_label(curve),
                    "source": source.label,
                    "x": point["x"],
                    "ours": point["mean"],
                    "ours_sd": point["sd"],
                    "runs": point["runs"],
                    "theirs": found["mean"],
                    "theirs_sd": found["sd"],
                }


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _float(value: Any) -> float:
    return math.nan if value is None else float(value)
