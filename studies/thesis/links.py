"""What arrived of each connection at the links and behind PDCP, as the thesis measured it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import minitopo_dc as dc

FLOWS = 3
"""The connections of a run in which they share the links."""
END_TOLERANCE = 0.01
"""The part of a bin that may be missing: a client that is told to stop after whole seconds may do
so a few ms before."""


def arrived_copies(run: Path) -> dict[int, float]:
    """Return the PDUs that arrived for each PDU delivered, by the number of the flow (1, 2, ...).

    It is 1 without duplication, and 2 over two legs without losses.
    """
    summary = json.loads((run / "ue-summary.json").read_text(encoding="utf-8"))
    copies = {}
    for bearer, counted in summary["receive"].items():
        arrived = sum(count for name, count in counted.items() if name.startswith("pdus_"))
        copies[(int(bearer) + 1) // 2] = arrived / counted["delivered"]
    return copies


@dc.run_measures(*(f"links_flow_{n}_mbps" for n in range(1, FLOWS + 1)), "links_jain_index")
def links(run: Path) -> dict[str, float]:
    """Return the flows' rates in which every copy that arrived counts, and Jain's index of them."""
    flows, copies = dc.results.RunResult.load(run).details["flows"], arrived_copies(run)
    rates = [flow["goodput_mbps"] * copies.get(n, 1.0) for n, flow in enumerate(flows, start=1)]
    fair = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    return {f"links_flow_{n}_mbps": rate for n, rate in enumerate(rates, start=1)} | {
        "links_jain_index": fair
    }


def flow_rates(run: Path, bin_s: float = 1.0) -> pd.DataFrame:
    """Return the mean rate of IP bytes that PDCP delivered of each flow, in whole bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, counted from the flow's own start of connecting; `flow`
    (1, 2, ...), `rate_mbps`. The bins end with the run's completion time; bytes that arrive later,
    when connections close and queues drain, are in none.

    Raises:
        ResultError: a file of the run is missing or broken.
    """
    series, result = dc.results.pdcp_series(run), dc.results.RunResult.load(run)
    edges = np.arange(int((result.completion_s or 0) / bin_s + END_TOLERANCE) + 1) * bin_s
    tables = []
    for number, rows in series.groupby((series["bearer"] + 1) // 2):
        start = result.details["flows"][number - 1].get("started_s", 0.0)
        delivered = np.interp(start + edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "flow": number, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)
