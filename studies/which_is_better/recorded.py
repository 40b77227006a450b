"""Write what is recorded of the study: `python studies/which_is_better/recorded.py results/DIR`.

`reference/runs.parquet` gets the campaign's table (labels, seed, status, some measures, and in
`run` the digest that joins a row to its scenario), and `findings.md` the report's tables of it.
Without a directory only `findings.md` is made anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from report import REFERENCE, report

import minitopo_dc as dc

RUNS = REFERENCE / "runs.parquet"
FINDINGS = REFERENCE.with_name("findings.md")
MEASURES = ["goodput_mbps", "completion_s", "capacity_share", "leg_bytes_1", "leg_bytes_2",
            "unanswered", "delay_p95_ms", "delay_max_ms"]  # fmt: skip


def record(directory: Path) -> None:
    """Write the table of a campaign's directory, without runs that are missing."""
    runs = dc.load(directory)
    kept = runs[runs["status"] != "missing"]
    table = kept[[*runs.attrs["labels"], "seed", "status", "reason", *MEASURES]]
    table = table.assign(run=kept["run"].map(lambda run: Path(run).name))
    table.reset_index(drop=True).to_parquet(RUNS, index=False, compression="zstd")


def recorded() -> pd.DataFrame:
    """Return the recorded runs, with the names of their labels."""
    runs = pd.read_parquet(RUNS)
    runs.attrs["labels"] = list(runs.loc[:, :"seed"])[:-1]
    return runs


def findings(runs: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of the page."""
    failed = runs[runs["status"] == "failed"].drop_duplicates("run")
    done = runs.drop_duplicates("run")
    yield "# Findings: which is better, Dual Connectivity or multipath?\n"
    yield "Made of `reference/runs.parquet` by `python studies/which_is_better/recorded.py`.\n"
    yield f"{len(done):,} runs on the virtual clock, of which {len(failed)} failed, which count as "
    yield "goodput 0 and without an end. Shares of points and means have 95 % intervals.\n"
    for title, content in report(runs):
        parts = [part for part in (content if isinstance(content, list) else [content])
                 if isinstance(part, str | pd.DataFrame)]  # fmt: skip
        if parts:
            yield f"## {title}\n"
            for part in parts:
                yield from [f"{part}\n"] if isinstance(part, str) else markdown(part)


def markdown(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a table."""
    shown = table if isinstance(table.index, pd.RangeIndex) else table.reset_index()
    rows: list[list[Any]] = [list(shown), ["---"] * shown.shape[1], *shown.to_numpy().tolist()]
    for row in rows:
        cells = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(Path(sys.argv[1]))
    FINDINGS.write_text("\n".join(findings(recorded())), encoding="utf-8")
