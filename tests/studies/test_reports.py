"""Reports of tables with one run, with failed runs only, and without any."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import markupsafe
import pandas as pd
import pytest

from minitopo_dc.campaign.plan import load_program, studies
from minitopo_dc.report import write_report

RECORDED = {
    name: table
    for name, path in studies().items()
    for table in (
        path.parent / "reference" / f"{'runs' if path.stem == 'campaign' else path.stem}.parquet",
    )
    if table.exists()
}
"""The recorded tables of the studies that have one."""


def recorded(table: Path) -> pd.DataFrame:
    """The beginning of a recorded table, as `dc.load` returns one."""
    runs = pd.read_parquet(table)
    runs.attrs["labels"] = list(runs.columns[: list(runs.columns).index("seed")])
    return runs.head(100).assign(run="")


def few(runs: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A table with few runs or none."""
    ok = runs[runs["status"] == "ok"]
    if kind in ("none", "one"):
        return ok.head({"none": 0, "one": 1}[kind])
    numbers = runs.loc[:, "reason":"run"].columns[1:-1]
    empty: Any = dict.fromkeys(numbers, float("nan"))
    status, rows = ("failed", runs.head(3)) if kind == "failed" else ("missing", runs)
    lacking = rows.assign(status=status, reason="no route", **empty)
    return lacking if kind == "failed" else pd.concat([ok.tail(1), lacking.drop(ok.index[-1])])


@pytest.mark.parametrize("kind", ["none", "one", "failed", "missing but one"])
@pytest.mark.parametrize("name", RECORDED)
def test_a_report_of_few_runs_is_a_page(name: str, kind: str, tmp_path: Path) -> None:
    program = load_program(studies()[name])
    runs = few(recorded(RECORDED[name]), kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sections = program.sections(runs)
        # PDF, which takes as long as all else, of what has a bar or a point in each figure.
        formats = ["pdf"] if kind == "one" else []
        page = write_report(tmp_path, runs, title=name, sections=sections, formats=formats)
    assert "not shown" not in dict(sections)
    text = page.read_text(encoding="utf-8")
    assert all(str(markupsafe.escape(title)) in text for title, _ in sections)
    assert ("no route" in text) == (kind in ("failed", "missing but one"))
