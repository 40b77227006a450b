"""Write `findings.md` from the recorded runs: `python studies/cellular/findings.py`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from report import report

from minitopo_dc import claims
from minitopo_dc.results.tables.markdown import as_markdown

HERE = Path(__file__).parent
NOTES = """
This page is what `python studies/cellular/findings.py` writes. It has what recorded runs say of
Krämer et al., Electronics 11 (2022) 1492: virtual clock, 40 MB from eighteen starts of each drive,
one run each.

{verdicts} Means are of runs that are ok: {failed} of {runs} failed.
"""
LEFT_OUT = ("goodput (Mbit/s)", "What the open choices", "One change")
"""Of the report: cell by cell, and experiments of which only one cell is recorded."""


def page() -> str:
    """Return the text of the findings."""
    runs = pd.read_parquet(HERE / "reference" / "runs.parquet")
    made = [
        (title, content)
        for title, content in report(runs)
        if not any(part in title for part in LEFT_OUT)
    ]
    judged = [table for title, table in made if title.startswith("Claims")]
    single = runs.drop_duplicates("run")
    notes = NOTES.format(
        verdicts=claims.summary(judged),
        failed=int((single["status"] == "failed").sum()),
        runs=f"{len(single):,}",
    )
    return as_markdown("What the study of cellular networks shows", notes, made)


if __name__ == "__main__":
    (HERE / "findings.md").write_text(page(), encoding="utf-8")
