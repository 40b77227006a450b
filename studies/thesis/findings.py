"""Write findings.md from the recorded runs: `python studies/thesis/findings.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import behaviour
import fairness
import pandas as pd
import throughput
from comparison import item_rows
from published import NEAR_PERCENT

from minitopo_dc.claims import summary, table
from minitopo_dc.results.tables.markdown import as_markdown

HERE = Path(__file__).parent
CAMPAIGNS: dict[str, Any] = {
    "behaviour": behaviour,
    "throughput": throughput,
    "fairness": fairness,
}
NOTES = """
`python studies/thesis/findings.py` writes this page from `reference/runs.parquet`. A claim is about
one point; its interval is Student's over the seeds, of which there are two to ten.
"""
LIMITS = (
    "All are on the virtual clock.",
    "Fairness lasts 30 s here, 180 s in the thesis.",
    "TCP's throughput lacks the proxies' delay of 1 ms, which all other ways have. It is a mistake "
    "of the first version of the campaign, kept so that its runs stay joined (`throughput.py`).",
    "All runs are of before legs with `reorder` were mended on the virtual clock. With the mend "
    "and the proxies' delay 143 of TCP's runs (two seeds) differ by -1.0 % on average and -0.5 % "
    "in the median: with 200 ms of delay together by -24 to 19 %, with loss by -5.4 to 0 %, else "
    "by at most 5 %.",
    "Nothing is random in the runs of reordering and overhead. All their seeds give the same "
    "numbers, so that their intervals have no width.",
    "Runs of the LTE trace have 10 MB, or 20 MB in appendix E. Those of appendix F have 40 MB.",
)


def page(runs: pd.DataFrame) -> str:
    """Return the page in Markdown."""
    rows = item_rows(runs)
    known = rows[rows["published"] > 0]
    near = (known["mean_error_percent"] <= NEAR_PERCENT).sum()
    agreement = (
        f"Of {len(known)} tables {near} agree within {NEAR_PERCENT:g} % on average. Of "
        f"{known['published'].sum()} cells\n{known['cells'].sum()} were run, and "
        f"{known['within_5_percent'].sum()} are within {NEAR_PERCENT:g} %. A bias is the mean "
        "signed error.\nIn "
        f"{known['rejected'].sum()} of {known['tested'].sum()} cells with deviations Welch's test "
        f"finds two means at 5 %; by chance it would be {known['tested'].sum() / 20:.0f}."
    )
    verdicts = table(claim for name, study in CAMPAIGNS.items()
                     for claim in study.claims(runs[runs["campaign"] == name]))  # fmt: skip
    columns = ["item", "shows", "cells", "mean_error_percent", "bias_percent", "within_5_percent"]
    tables = known[[*columns, "tested", "rejected", "why"]]
    sections = [
        ("Tables", [agreement, tables.reset_index(drop=True)]),
        ("Claims", [summary([verdicts]), verdicts]),
        ("What to know of the runs", [*LIMITS]),
    ]
    return as_markdown("What the thesis says, and what these runs show", NOTES, sections)


if __name__ == "__main__":
    recorded = pd.read_parquet(HERE / "reference" / "runs.parquet")
    (HERE / "findings.md").write_text(page(recorded), encoding="utf-8")
