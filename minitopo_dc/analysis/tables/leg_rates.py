"""What each leg of a run delivered over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from minitopo_dc.analysis.tables.series import leg_series
from minitopo_dc.settings import Direction

BIN_S = 0.2
"""Two samples of the default interval: with one, rates would show where in it the samples were."""


def leg_rates(run: Path, direction: Direction = "downlink", bin_s: float = BIN_S) -> pd.DataFrame:
    """Mean rate of the IP bytes that each leg delivered, in bins of `bin_s`.

    Columns: `time_s`, the begin of a bin, `leg` and `rate_mbps`. Between two samples the bytes are
    spread evenly; after the last one there are none.

    Raises:
        ResultError: a file of the element's is broken.
        OSError: one of them cannot be read.
    """
    series = leg_series(run, direction)
    edges = np.arange(max(1, np.ceil(series["time_s"].max() / bin_s)) + 1) * bin_s
    tables = []
    for leg, rows in series.groupby("leg"):
        delivered = np.interp(edges, rows["time_s"], rows["delivered_bytes"])
        rates = np.diff(delivered) * 8 / bin_s / 1e6
        tables.append(pd.DataFrame({"time_s": edges[:-1], "leg": leg, "rate_mbps": rates}))
    return pd.concat(tables, ignore_index=True)
