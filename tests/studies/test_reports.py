"""Reports of tables with one run, with failed runs only, and without any."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import markupsafe
import pandas as pd
import pytest

from minitopo_dc.campaign.program import load_program, studies
from minitopo_dc.report import write_report

MEASURES = ("goodput_mbps", "completion_s", "capacity_share")
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
    return runs.head(400).assign(run="")


def few(runs: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A table with few runs or none."""
    if kind == "failed":
        empty: Any = dict.fromkeys([name for name in MEASURES if name in runs], float("nan"))
        return runs.head(3).assign(status="failed", reason="no route", **empty)
    return runs[runs["status"] == "ok"].head({"none": 0, "one": 1}[kind])


@pytest.mark.parametrize("kind", ["none", "one", "failed"])
@pytest.mark.parametrize("name", RECORDED)
def test_a_report_of_few_runs_is_a_page(name: str, kind: str, tmp_path: Path) -> None:
    program = load_program(studies()[name])
    runs = few(recorded(RECORDED[name]), kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sections = program.sections(runs)
        page = write_report(tmp_path, runs, title=name, sections=sections, formats=["pdf"])
    text = page.read_text(encoding="utf-8")
    assert all(str(markupsafe.escape(title)) in text for title, _ in sections)
    assert ("no route" in text) == (kind == "failed")
