"""The papers, item by item: each published table and figure, and what campaigns' results say of it.

Rules:

* `reference/published.yaml` lists the items, and which experiment repeats which of them. Numbers,
  columns and measures are those of the experiment's own `reference` and figure.
* An item is *reproduced* when every run of the campaign's full version is there and ok, *reduced*
  when some runs are, else *absent*.
* Of several results of one campaign the first that has a cell counts.
* An item with numbers is within 5 % when the mean absolute error of all its cells is. A factor that
  a paper's own tables differ by (`scale`) gives a second error, which explains and counts nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field

from minitopo_dc.analysis.tables.reference import REFERENCE
from minitopo_dc.campaign.file.fields import CampaignFile, Experiment, find_campaign
from minitopo_dc.campaign.file.plan import read_plan
from minitopo_dc.campaign.file.scenarios import Overrides, read_file
from minitopo_dc.campaign.report.claims import verdicts
from minitopo_dc.campaign.report.evaluation import Source, comparison, reference_points
from minitopo_dc.campaign.report.joined import join
from minitopo_dc.campaign.report.words import NONE, counted, significant
from minitopo_dc.settings import Settings
from minitopo_dc.settings.base import read_yaml

PUBLISHED = REFERENCE / "published.yaml"
NEAR_PERCENT = 5.0
"""An error up to here is none to speak of."""
State = Literal["reproduced", "reduced", "absent"]
HEAD = ("item", "shows", "is", "by", "cells", "mean error (%)", "within 5 %", "claims", "why")


class Item(Settings):
    """A table or figure; several that show the same numbers are one."""

    item: str
    shows: str
    campaign: str = ""
    """That repeats it; none: nothing does."""
    experiments: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    """None: those of the experiment's figure."""
    scale: Annotated[float, Field(gt=0)] | None = None
    """What rates of another table of the same paper are higher by."""
    why: str = ""
    """It is off, reduced or absent."""


class Paper(Settings):
    """A publication and its items."""

    title: str
    items: tuple[Item, ...]


class Published(Settings):
    """All publications that the project compares itself with."""

    papers: tuple[Paper, ...]


@dataclass(frozen=True)
class Row:
    """What results say of an item."""

    item: Item
    state: State
    published: int
    """Cells that have a number in the paper."""
    compared: pd.DataFrame
    """Ours and theirs (`comparison`), of each cell once."""
    claims: Mapping[str, int]
    """How many have which verdict."""

    @property
    def error(self) -> float:
        """Return the mean absolute error in per cent; NaN without numbers."""
        return float(self.compared["error_percent"].abs().mean())

    @property
    def near(self) -> int:
        """Return the number of cells within 5 %."""
        return int((self.compared["error_percent"].abs() <= NEAR_PERCENT).sum())

    @property
    def is_near(self) -> bool:
        """Return whether the item is within 5 %."""
        return self.error <= NEAR_PERCENT

    @property
    def scaled(self) -> float:
        """Return the mean error with the paper's rates multiplied by the scale; an index stays."""
        rates = self.compared[self.compared["theirs"] > 1]
        ratio = rates["ours"] / (rates["theirs"] * (self.item.scale or 1))
        return float(100 * (ratio - 1).abs().mean())


def read_published() -> Published:
    """Read the list that comes with the package.

    Raises:
        SettingsError: it is malformed.
    """
    return Published.check(read_yaml(PUBLISHED), str(PUBLISHED))


def papers_page(sources: Sequence[Source]) -> str:
    """Return a page in Markdown: of each paper a summary, and a row for each item.

    Raises:
        ResultError: a file of a run is broken, or the reference lacks a column.
    """
    parts = [_section(paper, sources) for paper in read_published().papers]
    return "\n\n".join([head(sources), *parts]) + "\n"


def head(sources: Sequence[Source]) -> str:
    """Return what a reader has to know, and the results that the page is made from."""
    of_each: dict[str, list[str]] = {}
    for source in sources:
        of_each.setdefault(source.plan.file.title, []).append(made_from(source))
    return INTRODUCTION + "\n".join(
        fill(f"- {title}: {'; '.join(told)}", WIDTH, subsequent_indent="  ")
        for title, told in of_each.items()
    )


WIDTH = 110
"""Characters of a line of text at most; tables have longer ones."""
INTRODUCTION = """# The papers, item by item

This page is what `minitopo-dc campaign papers` prints
([its words](../campaign-file.md#the-papers-item-by-item)).

Made from:

"""


def made_from(source: Source) -> str:
    """Return a result's clock and version, what makes the runs smaller, and how many are ok."""
    plan, ok = source.plan, source.cells["status"] == "ok"
    told = [f"{plan.clock} clock", plan.version, *map(_setting, _settings(source).items())]
    good, runs = source.cells.loc[ok, "id"].nunique(), source.cells["id"].nunique()
    fine = f"{good} runs ok" if good == runs else f"{good} of {runs} runs ok"
    return ", ".join([*told, fine, *(source.condensed.notes if source.condensed else ())])


def _settings(source: Source) -> dict[str, Any]:
    """Return the parameters that are a number or a name, the version's fields, the repetitions.

    A size that the command line gave is known of a condensed result alone.
    """
    plan, its = source.plan, source.plan.file.parameters.items()
    simple = {name: value for name, value in its if isinstance(value, int | float | str)}
    [(repetitions, _)] = Counter(len(cell.runs) for cell in plan.cells).most_common(1)
    recipe = source.condensed.recipe if source.condensed else None
    given = {"workload.size_mb": f"{recipe.size_mb:g}"} if recipe and recipe.size_mb else {}
    fields = {**plan.file.smaller(plan.version).fields, **given}
    return {**simple, **fields, "repetitions": repetitions}


def _setting(setting: tuple[str, Any]) -> str:
    """Return a setting in words; of a path the file's name only."""
    name, value = setting
    return f"{name} {Path(value).name if isinstance(value, str) else value}"


def _section(paper: Paper, sources: Sequence[Source]) -> str:
    rows = [judge(item, sources) for item in paper.items]
    lines = [HEAD, ("---",) * len(HEAD), *map(_cells, rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"## {paper.title}\n\n{summary(rows)}\n\n{table}"


def summary(rows: Sequence[Row]) -> str:
    """Return what a paper's items come to, in a few lines."""
    numbers = [row for row in rows if row.published]
    states = Counter(row.state for row in rows)
    run, near = sum(len(row.compared) for row in rows), sum(row.near for row in rows)
    of_numbers = (
        f"**Within 5 %: {sum(row.is_near for row in numbers)} of {len(numbers)} items** with "
        f"numbers, by the cells that were run of them.\nThese are {run:,} of "
        f"{sum(row.published for row in rows):,} cells; {near:,} of them are within 5 %. "
    )
    published = of_numbers if numbers else "No numbers are published. "
    return (
        f"{published}Of {counted(len(rows), 'item')}\n"
        f"{states['reproduced']} are reproduced in full, "
        f"{states['reduced']} reduced, {states['absent']} absent."
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.item.item,
        row.item.shows,
        row.state,
        _experiments(row),
        f"{len(row.compared)} of {row.published}" if row.published else NONE,
        _errors(row) if len(row.compared) else NONE,
        f"{row.near}" if len(row.compared) else NONE,
        claims_text(row.claims),
        _reason(row),
    )


def _experiments(row: Row) -> str:
    """Return the campaign that has an item, and its experiments where any was run."""
    if not row.item.campaign:
        return NONE
    ran = f": {', '.join(row.item.experiments)}" if row.state != "absent" else ""
    return f"`{row.item.campaign}`{ran}"


def _reason(row: Row) -> str:
    """Return why an item is off, reduced or absent; that of a campaign without results is known."""
    not_run = ["not run"] if row.state == "absent" and row.item.campaign else []
    return "; ".join([*not_run, *([row.item.why] if row.item.why else [])]) or NONE


def claims_text(counts: Mapping[str, int]) -> str:
    """Return how many claims hold, of those that runs suffice to judge, and what is not judged."""
    few = counts.get("not enough evidence", 0)
    judged = sum(counts.values()) - counts.get("not run", 0) - few
    told = [f"{counts.get('holds', 0)} of {judged} hold"] if judged else []
    return ", ".join([*told, *([f"{few} lack runs"] if few else [])]) or NONE


def _errors(row: Row) -> str:
    found = row.compared.groupby("curve", sort=False)["error_percent"]
    each = [f"{curve} {significant(float(part.abs().mean()))}" for curve, part in found]
    if row.item.scale is not None:
        each.append(f"scaled by {row.item.scale:g}: {significant(row.scaled)}")
    return f"{significant(row.error)} ({', '.join(each)})"


def judge(item: Item, sources: Sequence[Source]) -> Row:
    """Compare an item with all results of its campaign."""
    if not item.campaign:
        return Row(item, "absent", 0, pd.DataFrame(columns=["error_percent"]), {})
    file = _file_at(find_campaign(item.campaign))
    its = [source for source in sources if source.plan.file.title == file.title]
    experiments = {name: _asked(item, file.experiments[name]) for name in item.experiments}
    published = sum(map(_published, experiments.values()))
    compared = [_compared(its, name, experiment) for name, experiment in experiments.items()]
    cells = pd.concat(compared, ignore_index=True)
    state = _state(item, its)
    if state == "reproduced" and len(cells) < published:
        state = "reduced"
    return Row(item, state, published, cells, _claims(item, its))


@cache
def _file_at(path: Path) -> CampaignFile:
    """Return a shipped campaign, of which most repeat several items."""
    return read_file(path, Overrides())


def _asked(item: Item, experiment: Experiment) -> Experiment:
    """Return an experiment with the curves of the item's configurations only."""
    figure = experiment.figure
    if figure is None or not item.configurations:
        return experiment
    curves = tuple(each for each in figure.curves if each.configuration in item.configurations)
    return experiment.model_copy(update={"figure": figure.model_copy(update={"curves": curves})})


def _published(experiment: Experiment) -> int:
    """Return how many cells of it have a number in the paper."""
    figure, reference = experiment.figure, experiment.reference
    if figure is None or reference is None:
        return 0
    return sum(int(reference_points(reference, each)["mean"].count()) for each in figure.curves)


def _compared(sources: Sequence[Source], name: str, experiment: Experiment) -> pd.DataFrame:
    there = [source for source in sources if not source.cells_of(name).empty]
    found = comparison(there, name, experiment).dropna(subset=["error"])
    return found.drop_duplicates(["curve", "x"])


def _state(item: Item, sources: Sequence[Source]) -> State:
    ok: set[str] = set()
    for source in sources:
        cells = source.cells[source.cells["experiment"].isin(item.experiments)]
        if item.configurations:
            cells = cells[cells["configuration"].isin(item.configurations)]
        ok.update(cells.loc[cells["status"] == "ok", "id"])
    if not ok:
        return "absent"
    if all(source.plan.version != "full" for source in sources):
        return "reduced"
    wanted = Overrides(
        clock=sources[0].plan.clock,
        experiments=item.experiments,
        configurations=item.configurations,
    )
    plan = read_plan(find_campaign(item.campaign), wanted)
    return "reproduced" if {run.id for run in plan.runs} <= ok else "reduced"


def _claims(item: Item, sources: Sequence[Source]) -> Mapping[str, int]:
    """Count verdicts; an item of other configurations has none of its experiment's claims."""
    found: Counter[str] = Counter()
    for name in () if item.configurations else item.experiments:
        found.update(next(_verdicts(sources, name), []))
    return found


def _verdicts(sources: Sequence[Source], name: str) -> Iterator[list[str]]:
    for source in sources:
        if (source.cells_of(name)["status"] == "ok").any():
            experiment = source.plan.file.experiments[name]
            yield [each.word for each in verdicts(join(source, name, experiment), name, experiment)]
