"""One row for all runs of a transport in a mode."""

from __future__ import annotations

from typing import Any

import pandas as pd

from minitopo_dc.analysis.load import leg_columns


def compare_table(results: pd.DataFrame) -> pd.DataFrame:
    """Sum up runs (`load_results`) per transport and mode, in the order of first appearance.

    Columns: ``transport``, ``mode``; numbers of ``runs`` and of those ``ok``, ``failed`` and
    ``unsupported``; ``goodput_mbps`` (mean), ``goodput_sd_mbps`` (sample standard deviation, n - 1;
    NaN for one run), ``completion_s``, ``leg_bytes_1``, ... and ``capacity_share`` (means); and
    ``reason``, the first of a run that is not ok. Only runs that are ``ok`` count in means; without
    any they are NaN.
    """
    groups = results.groupby(["transport", "mode"], sort=False)
    return pd.DataFrame(
        {"transport": transport, "mode": mode} | _summarise(runs)
        for (transport, mode), runs in groups
    )


def _summarise(runs: pd.DataFrame) -> dict[str, Any]:
    ok, others = runs[runs["status"] == "ok"], runs[runs["status"] != "ok"]
    return {
        "runs": len(runs),
        "ok": len(ok),
        "failed": int((runs["status"] == "failed").sum()),
        "unsupported": int((runs["status"] == "unsupported").sum()),
        "goodput_mbps": ok["goodput_mbps"].mean(),
        "goodput_sd_mbps": ok["goodput_mbps"].std(ddof=1),
        "completion_s": ok["completion_s"].mean(),
        **{leg: ok[leg].astype("float64").mean() for leg in leg_columns(runs)},
        "capacity_share": ok["capacity_share"].mean(),
        "reason": "" if others.empty else others["reason"].iloc[0],
    }
