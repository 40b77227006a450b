"""Write `findings.md` from the recorded runs: `python studies/mesh/findings.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from report import report

from minitopo_dc import claims
from minitopo_dc.results.tables.markdown import as_markdown

HERE = Path(__file__).parent
NOTES = """
This page is what `python studies/mesh/findings.py` writes. It has what recorded runs say of "QUIC
in wireless mesh networks": virtual clock, aioquic 1.7.2, downloads of 10 MB, ten seeds or as many
as the campaign has. Sections marked *quick* are of 5 MB and two seeds.

{verdicts} Numbers of QUIC are predictions where a claim is not marked as fitted: the legs were
fitted to TCP alone, and a client's time for each packet to one of QUIC's.
"""
SHOWN = ("Claims", "The study's", "Trees")


def recorded() -> dict[str, pd.DataFrame]:
    """Return the recorded runs: of the full version, or of the quick one where that has more."""
    runs = pd.read_parquet(HERE / "reference" / "runs.parquet")
    labels = list(runs.columns[: runs.columns.get_loc("seed")])
    cases = runs.drop_duplicates(labels).groupby(["experiment", "version"]).size()
    number = cases.unstack(fill_value=0)
    whole = runs["experiment"].isin(number.index[number["full"] >= number["quick"]])
    return {
        "": runs[whole & (runs["version"] == "full")],
        ", quick": runs[~whole & (runs["version"] == "quick")],
    }


def sections() -> Iterator[tuple[str, Any]]:
    """Yield what the findings have of both reports."""
    for version, runs in recorded().items():
        for title, content in report(runs):
            if title.startswith(SHOWN):
                yield f"{title}{version}", content


def page() -> str:
    """Return the text of the findings."""
    made = list(sections())
    judged = [table for title, table in made if title.startswith("Claims")]
    notes = NOTES.format(verdicts=claims.summary(judged))
    return as_markdown("What the study of meshes shows", notes, made)


if __name__ == "__main__":
    (HERE / "findings.md").write_text(page(), encoding="utf-8")
