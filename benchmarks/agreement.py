"""The virtual clock against the papers' testbed: ``python -m benchmarks.agreement``.

Runs cells of the thesis' tables 5.3, 5.4, 5.6 and 5.7 ('QUIC bm.'; 5.8 when asked for) and prints
ours against theirs. What the testbed had is said by ``TESTBED`` and ``_leg``. All tables at 40 MB
with five seeds take about 25 minutes of one core.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from rich.console import Console
from rich.table import Table

from minitopo_dc.scenario import Scenario
from minitopo_dc.simulation.run import run_virtual

REFERENCE = Path(__file__).resolve().parents[1] / "reference"
Row = Mapping[str, str]

DATAGRAM_BYTES = 1280
"""UDP payload of the thesis' aioquic (section 4.1)."""
PDU_BYTES = DATAGRAM_BYTES + 28 + 2
"""With UDP, IPv4 and the thesis' 16-bit PDCP number."""
ETHERNET_BYTES = 14
"""netem's rate counts the frame's header (qdisc_pkt_len), a leg's the IP packet."""
RATE_MBPS = 20 * PDU_BYTES / (PDU_BYTES + ETHERNET_BYTES)

TESTBED: dict[str, Any] = {
    "transport": "quic",
    "clock": "virtual",
    "mode": "dc",
    "congestion_control": "reno",
    # Both proxies together add 2.06 ms to the round-trip time (table 5.1).
    "virtual": {"processing_delay_ms": 1, "recovery": "draft-27"},
    # 'QUIC bm.' (table 4.4).
    "options": {"receive_buffer_bytes": 33_554_432, "max_datagram_bytes": DATAGRAM_BYTES},
}
SN_BITS = 16  # section 4.2
FAIRNESS_S = 180  # section 4.4: the first three minutes of 1 GB


@dataclass(frozen=True)
class Cell:
    """What one configuration of theirs gave, and the scenario fields that mean the same."""

    table: str
    name: str
    measured_mbps: Mapping[str, float]
    """By flow, in the scenario's order; a single one has no name."""
    fields: Mapping[str, Any]


def _leg(delay_ms: float = 10.0, loss_percent: float = 0.0) -> dict[str, Any]:
    """The defaults of table 4.3 and listing 4.2; netem's jitter reorders packets.

    The thesis gives the jitter for 10 ms only, as "1ms" (listing 4.2) and as 10 % (section 4.4).
    Since it varies one attribute at a time, the jitter stays 1 ms here whatever the delay is.
    """
    return {
        "downlink": {
            "rate_mbps": RATE_MBPS,
            "delay_ms": delay_ms,
            "jitter_ms": 1,
            "loss_percent": loss_percent,
            "reorder": True,
        },
        "uplink": {"rate_mbps": 20, "delay_ms": 10, "queue_packets": 10_000, "reorder": True},
    }


def _fields(*legs: dict[str, Any], mode: str = "dc", **pdcp: Any) -> dict[str, Any]:
    return {"mode": mode, "legs": legs or (_leg(), _leg()), "pdcp": {"sn_bits": SN_BITS} | pdcp}


def _batch(row: Row) -> tuple[str, dict[str, Any]]:
    size = row["batch_size_packets"]
    return f"batch {size}", _fields(batch=int(size))


def _ratio(row: Row) -> tuple[str, dict[str, Any]]:
    percent = int(row["link1_percent"])
    return f"{percent} % on leg 1", _fields(ratio=[percent, 100 - percent])


def _delay(row: Row) -> tuple[str, dict[str, Any]]:
    delays = (row["link1_delay_ms"], row["link2_delay_ms"])
    return f"{delays[0]} / {delays[1]} ms", _fields(*(_leg(float(delay)) for delay in delays))


def _loss(row: Row) -> tuple[str, dict[str, Any]]:
    lossy = _leg(loss_percent=float(row["loss_percent"]))
    mode = "dc-duplicate" if row["case"] == "duplicate" else "dc"
    return f"{row['case']} {row['loss_percent']} %", _fields(lossy, lossy, mode=mode)


Meaning = Callable[[Row], tuple[str, dict[str, Any]]]
TABLES: dict[str, tuple[str, Meaning]] = {
    "5.3": ("thesis_table_5_3_batch_size.csv", _batch),
    "5.4": ("thesis_table_5_4_dc_ratio.csv", _ratio),
    "5.6": ("thesis_table_5_6_delay_ratio.csv", _delay),
    "5.7": ("thesis_table_5_7_loss.csv", _loss),
}
FAIRNESS = "5.8"


def cells(table: str, every: int) -> Iterator[Cell]:
    """Every so many cells of a table, the first one included."""
    if table == FAIRNESS:
        yield from _fairness_cells(every)
        return
    name, meaning = TABLES[table]
    for row in _rows(name)[::every]:
        title, fields = meaning(row)
        yield Cell(table, title, {"": float(row["quic_bm_mbps"])}, fields)


def _fairness_cells(every: int) -> Iterator[Cell]:
    """One DC connection on both legs, one SC connection on each."""
    flows = [{"mode": "dc"}, {"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 2}]
    for row in _rows("thesis_table_5_8_fairness_batch_size.csv")[::every]:
        title, fields = _batch(row)
        fields |= {"mode": "flows", "flows": flows, "duration_s": FAIRNESS_S}
        measured = {flow: float(row[f"{flow}_mbps"]) for flow in ("dc", "sc1", "sc2")}
        yield Cell(FAIRNESS, title, measured, fields)


def _rows(name: str) -> list[Row]:
    with (REFERENCE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def goodputs(cell: Cell, seed: int, size_mb: float) -> list[float]:
    """Ours, in Mbit/s, of one seed: a number a flow.

    Raises:
        RuntimeError: the run failed.
    """
    wanted = Scenario.check(
        {**TESTBED, **cell.fields, "size_mb": size_mb, "seed": seed, "timeout_s": 3600}, cell.name
    )
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name:
        result = run_virtual(wanted, Path(name))
    if result.goodput_mbps is None:
        raise RuntimeError(f"{cell.table} {cell.name}: {result.reason}")
    if not wanted.flows:
        return [result.goodput_mbps]
    return [flow["goodput_mbps"] for flow in result.details["flows"]]


@dataclass(frozen=True)
class Compared:
    """A flow of a cell, and what it is here with each seed."""

    table: str
    name: str
    theirs_mbps: float
    ours_mbps: tuple[float, ...]

    @property
    def mean_mbps(self) -> float:
        """Over all seeds."""
        return mean(self.ours_mbps)

    @property
    def error_percent(self) -> float:
        """Of our mean."""
        return 100 * (self.mean_mbps / self.theirs_mbps - 1)

    def columns(self) -> list[str]:
        """Table, cell, theirs, ours, our standard deviation, error."""
        spread = stdev(self.ours_mbps) if len(self.ours_mbps) > 1 else 0.0
        return [
            *(self.table, self.name, f"{self.theirs_mbps:.1f}"),
            *(f"{self.mean_mbps:.1f}", f"{spread:.2f}", f"{self.error_percent:+.1f}"),
        ]


def compare(chosen: Sequence[Cell], seeds: int, size_mb: float, jobs: int) -> Iterator[Compared]:
    """Run every cell with seeds 1 to ``seeds``; yield the cells in order, as they come."""
    tasks = [(cell, seed) for cell in chosen for seed in range(1, seeds + 1)]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        outcomes = pool.map(partial(goodputs, size_mb=size_mb), *zip(*tasks, strict=True))
        for cell in chosen:
            by_flow = zip(*(next(outcomes) for _ in range(seeds)), strict=True)
            for (flow, theirs), ours in zip(cell.measured_mbps.items(), by_flow, strict=True):
                yield Compared(cell.table, f"{cell.name} {flow}".strip(), theirs, ours)


HEADER = ("table", "cell", "thesis", "ours", "sd", "error %")


def report(compared: Iterable[Compared]) -> Table:
    """Every cell, and the mean absolute error of each table."""
    table = Table(*HEADER[:2], box=None)
    for column in HEADER[2:]:
        table.add_column(column, justify="right")
    errors: dict[str, list[float]] = {}
    for each in compared:
        table.add_row(*each.columns())
        part = each.name.split()[0] if each.table == "5.7" else ""
        errors.setdefault(f"{each.table} {part}".strip(), []).append(abs(each.error_percent))
    for name, values in errors.items():
        table.add_row(name, "mean absolute error", "", "", "", f"{mean(values):.1f}", style="bold")
    return table


def main() -> None:
    """Run and print; each cell also goes to standard error as it comes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    names = [*TABLES, FAIRNESS]
    parser.add_argument("--tables", nargs="+", choices=names, default=list(TABLES))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of N cells the first")
    parser.add_argument("--size", type=float, default=40, metavar="MB", help="(40)")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="(5)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (1)")
    options = parser.parse_args()
    chosen = [cell for table in options.tables for cell in cells(table, options.every)]
    done = []
    for each in compare(chosen, options.seeds, options.size, options.jobs):
        print(*each.columns(), sep="  ", file=sys.stderr, flush=True)  # noqa: T201
        done.append(each)
    Console().print(report(done))


if __name__ == "__main__":
    main()
