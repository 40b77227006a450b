"""Write `findings.md` from the recorded runs: `python studies/mpquic_design/findings.py`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from report import report

from minitopo_dc import claims
from minitopo_dc.results.tables.markdown import as_markdown

HERE = Path(__file__).parent
NOTES = """
This page is what `python studies/mpquic_design/findings.py` writes. It has what {runs} recorded
runs say of "Multipath QUIC: Design and Evaluation": virtual clock, medians of three repetitions
over 253 networks of each class, TCP and MPTCP once at two classes.

{verdicts}
"""


def page() -> str:
    """Return the text of the findings."""
    runs = pd.read_parquet(HERE / "reference" / "runs.parquet")
    made = list(report(runs))
    judged = [table for title, table in made if title.startswith("Claims")]
    number = f"{runs['run'].nunique():,}"
    notes = NOTES.format(runs=number, verdicts=claims.summary(judged))
    return as_markdown("What Multipath QUIC's design shows", notes, made)


if __name__ == "__main__":
    (HERE / "findings.md").write_text(page(), encoding="utf-8")
