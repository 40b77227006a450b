#!/usr/bin/env python3
"""Write the findings of the papers' studies, and the page of all published numbers.

`python scripts/findings.py` makes `studies/NAME/findings.md` and `studies/papers.md` of the runs
that are recorded in `studies/NAME/reference/runs.parquet`. `findings.toml` of a study has the words
of its page. `reference/fits.csv` says which numbers a parameter was fitted to or selected by, and
at which others it acts; its patterns are regular expressions, and an empty one fits all.
"""

from __future__ import annotations

import importlib
import math
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from minitopo_dc import claims
from minitopo_dc.campaign.plan import load_program
from minitopo_dc.campaign.store import read_table
from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible
from minitopo_dc.numbers import with_spread
from minitopo_dc.results.tables.sheet import as_markdown
from minitopo_dc.statistics import CONFIDENCE, agreement

STUDIES = Path(__file__).resolve().parents[1] / "studies"
NAMES = ("thesis", "cellular", "mpquic_design", "mesh")
HELD_OUT = "held out"
CLAIMS = "claims"
"""What the fits call the claims of a study in place of an item."""
INDEX, FEW = "Jain's index", 2
"""The curve of Jain's index, and the most runs with which a test has next to no power."""
WEAK = ", Jain's index or n < 3"
NOTES = """
`python scripts/findings.py` writes this page from recorded runs, all on the virtual clock. It has
each published number of five texts beside ours. A kind is data, not judgement: `fits.csv` of a
study lists each parameter that was chosen with published numbers in view.

*Predicted*: no parameter that acts on this number was chosen with the paper's in view. *Held out*:
one was, with others in view. *Fitted*: a parameter was chosen with this number in view, and
*selected*: a seed, a version or a condition was chosen because this number then agrees.

A number is *near* within 5 %. Of Jain's index, which is 1 at most, and of one or two runs that is
no evidence: the first table counts them apart. The test is Welch's; where ours is a single run it
is taken to have the deviation of theirs. *Two means* are those that differ at 5 %, of which chance
alone would make one in twenty. *Reproduced* is what is near and no two means. A number without a
published deviation cannot be tested, and is not called reproduced. A bias is the mean signed error.
"""
SPLITS = """
The errors of numbers by which a parameter was chosen, and of those at which it acts and which were
held out. A number may be held out of one fit and have been used for another.
"""


class Study:
    """A study of a paper: its recorded runs, its words, and its fits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = STUDIES / name
        self.words = tomllib.loads((self.folder / "findings.toml").read_text(encoding="utf-8"))
        self.campaigns = self.words.get("campaigns", ["campaign"])
        self.runs = read_table(self.folder / "reference" / "runs.parquet")
        fits = self.folder / "reference" / "fits.csv"
        self.fits = pd.read_csv(fits, dtype=str).fillna("")

    @cached_property
    def sections(self) -> list[tuple[str, Any]]:
        """Return the sections of the findings; claims have their kind."""
        return [
            (title, self.judged(content) if title.startswith("Claims") else content)
            for title, content in self._reported()
            if title.startswith(tuple(self.words["shown"]))
        ]

    def _reported(self) -> Iterator[tuple[str, Any]]:
        for campaign in self.campaigns:
            program = load_program(self.folder / f"{campaign}.py")
            runs, name = self.runs, ""
            if len(self.campaigns) > 1:
                runs, name = runs[runs["campaign"] == campaign], f": {campaign}"
            for version, part in self._versions(runs):
                for title, content in program.sections(part):
                    yield f"{title}{name}{version}", content

    def _versions(self, runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield runs of the full version, and of the quick one what has more cases there."""
        if not self.words.get("quick"):
            yield "", runs
            return
        labels = list(runs.columns[: runs.columns.get_loc("seed")])
        cases = runs.drop_duplicates(labels).groupby(["experiment", "version"]).size()
        number = cases.unstack(fill_value=0)
        whole = runs["experiment"].isin(number.index[number["full"] >= number["quick"]])
        yield "", runs[whole & (runs["version"] == "full")]
        yield ", quick", runs[~whole & (runs["version"] == "quick")]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Return the published numbers, ours, and their kind."""
        load_program(self.folder / f"{self.campaigns[0]}.py")
        module = importlib.import_module(self.words["cells"])
        (_, runs), *_ = self._versions(self.runs)
        cells: pd.DataFrame = module.cells(runs)
        cells["x"] = [f"{x:g}" if isinstance(x, float) else str(x) for x in cells["x"]]
        cells = pd.DataFrame({"why": "", "set_up": "", **dict(cells.items())})
        return cells.assign(paper=self.words["paper"] + cells["set_up"], kind=self.kinds(cells))

    def judged(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table of claims with the kind of each."""
        cells = pd.DataFrame({"item": CLAIMS, "curve": table["claim"], "x": ""})
        return table.assign(kind=self.kinds(cells))

    def kinds(self, cells: pd.DataFrame) -> pd.Series[str]:
        """Return the kind of each cell: that of the first fit that has it, held out, or predicted.

        A cell is held out where a parameter acts that was chosen by others of the same paper.
        """
        kind = pd.Series("predicted", cells.index)
        apart = self.fits["role"].str.startswith(HELD_OUT)
        for fits in (self.fits[apart].assign(role=HELD_OUT), self.fits[~apart][::-1]):
            for fit in fits.itertuples():
                kind[matching(cells, fit)] = str(fit.role)
        return kind

    def splits(self) -> Iterator[pd.DataFrame]:
        """Yield the numbers of each fit by which it was made, and those that were held out."""
        for parameter, fits in self.fits.groupby("parameter", sort=False):
            used = pd.Series(False, self.cells.index)
            for part, rows in fits.groupby("role", sort=False):
                mine = np.any([matching(self.cells, row) for row in rows.itertuples()], axis=0)
                yield self.cells[mine & ~used].assign(parameter=parameter, part=part)
                used |= mine

    def page(self) -> str:
        """Return the findings in Markdown."""
        judged = [table for title, table in self.sections if title.startswith("Claims")]
        single = self.runs.drop_duplicates("run")
        notes = self.words["notes"].format(
            verdicts=claims.summary(judged),
            failed=int((single["status"] == "failed").sum()),
            runs=f"{len(single):,}",
        )
        limits = [("What to know of the runs", self.words.get("limits", []))]
        return as_markdown(self.words["title"], notes, [*self.sections, *limits])


def matching(cells: pd.DataFrame, fit: Any) -> pd.Series[bool]:
    """Return which cells the patterns of a row of fits have."""
    matches = pd.Series(True, cells.index)
    for column in ("item", "curve", "x"):
        if pattern := getattr(fit, column):
            matches &= cells[column].astype(str).str.fullmatch(pattern)
    return matches


def papers(studies: list[Study]) -> str:
    """Return the page of all published numbers."""
    cells = pd.concat([study.cells for study in studies], ignore_index=True)
    judged = [
        table.assign(paper=study.words["paper"])
        for study in studies
        for title, table in study.sections
        if title.startswith("Claims")
    ]
    verdicts = pd.concat(judged).groupby(["paper", "kind", "verdict"], sort=False).size()
    settings = [(s.words["paper"], *row) for s in studies for row in s.words["settings"]]
    drawn = [(s.words["paper"], *row) for s in studies for row in s.words.get("figures", [])]
    splits = pd.concat([part for study in studies for part in study.splits()])
    of_fits = with_chance(agreement(splits, ["paper", "parameter", "part"]))
    other = pd.DataFrame(settings, columns=["paper", "published", "here"])
    without = pd.DataFrame(drawn, columns=["paper", "figure or section", "what was run"])
    sections: dict[str, Any] = {
        "Numbers": totals(cells),
        "Claims in words": verdicts.unstack(fill_value=0).reset_index(),
        "What was fitted, and the rest": [SPLITS, of_fits],
        "Other settings than the published": other,
        "Run without a published number": without,
        "Tables": with_chance(agreement(cells, ["paper", "item", "kind", "why"])),
    }
    for (paper, item), part in cells.groupby(["paper", "item"], sort=False):
        sections[f"{paper}: {item}"] = shown(part)
    return as_markdown("Published numbers, and ours", NOTES, sections.items())


def totals(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement by paper and kind; of all papers without what was run once more."""
    weak = cells["curve"].eq(INDEX) | cells["runs"].le(FEW)
    cells = cells.assign(kind=cells["kind"].where(~weak, cells["kind"] + WEAK))
    once = cells[cells["set_up"] == ""].assign(paper="all")
    table = agreement(pd.concat([cells, once]), ["paper", "kind"])
    # Errors of losses near 0 are hundreds of percent: a mean over all papers says nothing.
    table.loc[table["paper"] == "all", ["mean_error_percent", "bias_percent"]] = math.nan
    return with_chance(table)


def with_chance(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of agreement with how many `two_means` chance alone would make."""
    place = list(table).index("two_means") + 1
    table.insert(place, "by_chance", (table["tested"] * (1 - CONFIDENCE)).round(1))
    return table.rename(columns=lambda name: name.replace("_", " ").replace(" percent", " (%)"))


def shown(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of an item as a reader wants them."""
    quantile = stdtrit((cells["runs"] - 1).clip(lower=1), (1 + CONFIDENCE) / 2)
    reach = quantile * cells["ours_sd"] / cells["runs"] ** 0.5
    return pd.DataFrame(
        {
            "of": cells["curve"],
            "at": cells["x"],
            "published": list(map(with_spread, cells["theirs"], cells["theirs_sd"])),
            "ours (95 %)": list(map(with_spread, cells["ours"], reach)),
            "n": cells["runs"],
            "error (%)": cells["error_percent"],
            "p": cells["p_value"],
            "kind": cells["kind"],
        }
    ).reset_index(drop=True)


def pages(studies: list[Study]) -> Iterator[tuple[Path, str]]:
    """Yield the findings of each study, and the page of all numbers, with their files."""
    for study in progress(studies, lambda study: study.name):
        yield study.folder / "findings.md", study.page()
    yield STUDIES / "papers.md", papers(studies)


if __name__ == "__main__":
    with interruptible("the pages that are done are written"):
        for file, text in pages([Study(name) for name in NAMES]):
            file.write_text(text, encoding="utf-8")
