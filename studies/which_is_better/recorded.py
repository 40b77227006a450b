"""Write what is recorded of the study, and the page of its findings.

    python studies/which_is_better/recorded.py [results/DIRECTORY CAMPAIGN]

The table of a campaign (`campaign`, `deployable`, ...: labels, seed, status, some measures, and in
`run` the digest that joins a row to its scenario) becomes `reference/CAMPAIGN.parquet`, and the
tables of all reports become `findings.md`. Of a directory with a part of the recorded runs only
the rows of these runs are replaced. Without a directory that page and the pictures are made anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import answer_report
import atsss
import cells
import deployable
import frontier
import grants
import marking
import media
import pandas as pd
import schedulers
import stacks
from ratios import REFERENCE
from report import downloads, effect_curves, report

import minitopo_dc as dc
from minitopo_dc import plots
from minitopo_dc.campaign.store import read_table
from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible
from minitopo_dc.results.tables.sheet import as_markdown

REPORTS = {
    "answer": answer_report.report,
    "deployable": deployable.report,
    "campaign": report,
    "schedulers": schedulers.report,
    "grants": grants.report,
    "atsss": atsss.report,
    "media": media.report,
    "marking": marking.report,
    "cells": cells.report,
    "stacks": stacks.report,
    "frontier": frontier.report,
}
HEAD = """# Findings: which is better, Dual Connectivity or multipath?

Made of the tables in `reference` by `python studies/which_is_better/recorded.py`. A run that failed
counts as goodput 0, and as an answer that never comes. Shares of points and means have 95 %
intervals.
"""
FINDINGS = REFERENCE.with_name("findings.md")
PICTURES = REFERENCE.parents[2] / "docs" / "images"
MEASURES = ["goodput_mbps", "completion_s", "capacity_share", "leg_bytes_1", "leg_bytes_2",
            "bound_mbps", "network_p95_ms", "size_bytes", "unanswered", "delay_p95_ms",
            "delay_max_ms",
            "stall_s", "bitrate_mbps", "linear_qoe_mbps", "late_share", "freezes",
            "frame_delay_p95_ms", "load_mbps", "loaded_p95_ms", "idle_delay_ms",
            *(f"flow_{flow}_goodput_mbps" for flow in range(1, 6)), *cells.MEASURES]  # fmt: skip


def file_of(campaign: str) -> Path:
    """Return where the table of a campaign is recorded."""
    return REFERENCE / ("runs.parquet" if campaign == "campaign" else f"{campaign}.parquet")


def record(directory: Path, campaign: str) -> None:
    """Write the table of a campaign's directory, without runs that are missing.

    Where all its runs are recorded already and others are, too, it replaces their rows.
    """
    runs = dc.load(directory)
    if campaign == "cells":
        runs = cells.with_measures(runs)
    if campaign == "frontier":
        runs = frontier.with_measures(runs)
    kept = runs[runs["status"] != "missing"]
    measures = [name for name in MEASURES if name in kept]
    table = kept[[*runs.attrs["labels"], "seed", "status", "reason", *measures]]
    table = table.assign(run=kept["run"].map(lambda run: Path(run).name))
    table = table.reset_index(drop=True)
    table.attrs.pop("directory", None)  # of this machine
    if file_of(campaign).exists():
        table = with_part(read_table(file_of(campaign)), table)
    table.to_parquet(file_of(campaign), index=False, compression="zstd")


def with_part(before: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return recorded runs with the rows of a part replaced; the table itself if it is no part."""
    ran = before["run"].isin(table["run"])
    if ran.all() or not table["run"].isin(before["run"]).all():
        return table
    own = [name for name in before.loc[:, "status":] if name in table and name != "run"]
    rows = table.drop_duplicates("run").set_index("run").loc[before.loc[ran, "run"], own]
    after = before.copy()
    after.loc[ran, own] = rows.to_numpy()
    return after.astype(before.dtypes)


def recorded(campaign: str = "campaign") -> pd.DataFrame:
    """Return the recorded runs of a campaign, with the names of their labels."""
    runs = read_table(file_of(campaign))
    runs.attrs["labels"] = list(runs.loc[:, :"seed"])[:-1]
    return runs


def pages() -> Iterator[str]:
    """Yield the head of the findings, and the tables of each campaign."""
    yield HEAD
    for campaign, sections in progress([*REPORTS.items()], lambda report: report[0]):
        runs = recorded(campaign)
        done = runs.drop_duplicates("run")
        failed = (done["status"] == "failed").sum()
        title = f"Campaign `{campaign}`: {len(done):,} runs, of which {failed} failed"
        yield as_markdown(title, "", sections(runs))


if __name__ == "__main__":
    with interruptible("git tells which files are already written anew"):
        if len(sys.argv) > 1:
            record(Path(sys.argv[1]), sys.argv[2])
        FINDINGS.write_text("\n".join(pages()), encoding="utf-8")
        networks = deployable.ratios(recorded("deployable"), "download")
        plots.save(deployable.figure(networks), PICTURES, "answer", ["png"])
        effects = effect_curves(downloads(recorded(), "download"))
        plots.save(effects, PICTURES, "study-effects", ["png"])
        decides = answer_report.figure_of(answer_report.tornado(recorded("answer"), "assumption"))
        plots.save(decides, PICTURES, "what-decides", ["png"])
        plots.save(frontier.figure(recorded("frontier")), PICTURES, "frontier", ["png"])
