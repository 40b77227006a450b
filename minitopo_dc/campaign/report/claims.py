"""The claims of a campaign and what becomes of them, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import pandas as pd

from minitopo_dc.campaign.report.evaluation import Source
from minitopo_dc.campaign.report.joined import Verdict, joined_table, verdicts

COLUMNS = (
    *("experiment", "source", "claim", "published", "least", "most"),
    *("value", "low", "high", "points", "verdict"),
)


def claims_table(sources: Sequence[Source]) -> pd.DataFrame:
    """One row per source and claim: its limits, the number, its interval, and the verdict.

    Raises:
        SettingsError: an expression names what is not there.
        ResultError: a file of a run is broken.
    """
    rows = [row for source in sources for row in _rows(source)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(source: Source) -> Iterator[dict[str, object]]:
    used = {cell.experiment for cell in source.plan.cells}
    for name, experiment in source.plan.file.experiments.items():
        if name not in used or not experiment.claims:
            continue
        table = joined_table(source, name, experiment)
        for verdict in verdicts(table, name, experiment):
            yield {"experiment": name, "source": source.label} | _row(verdict)


def _row(verdict: Verdict) -> dict[str, object]:
    claim = verdict.claim
    limits = {"least": claim.least, "most": claim.most}
    found = {"points": 0} if verdict.estimate is None else asdict(verdict.estimate)
    said = {"claim": claim.text, "published": claim.source, "verdict": verdict.word}
    return {**said, **limits, **found}
