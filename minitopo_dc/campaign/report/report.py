"""The report of a campaign: one HTML file that needs no other, and its figures as PNG and PDF.

Several directories of one campaign, e.g. of both clocks, make one report.
"""

from __future__ import annotations

import base64
import io
import json
import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from matplotlib.figure import Figure as Drawing

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.tables.reference import Agreement, agreement
from minitopo_dc.analysis.tables.run_files import read_mapping
from minitopo_dc.campaign.file.fields import Experiment
from minitopo_dc.campaign.report.answer import Answer, answers
from minitopo_dc.campaign.report.answer_report import (
    by_source,
    case_name,
    draw_answers,
    draw_case,
    save_answers,
    shown,
)
from minitopo_dc.campaign.report.claims import Verdict, count_verdicts, verdicts
from minitopo_dc.campaign.report.evaluation import Source, comparison, not_ok
from minitopo_dc.campaign.report.figures import draw_experiment
from minitopo_dc.campaign.report.joined import join
from minitopo_dc.files import replacing

TEMPLATE = Path(__file__).with_name("report.html")
BYTES_PER_MB = 1_000_000
FACTS_SHOWN = 3
"""Environments that differ are shown one by one, up to so many."""


@dataclass(frozen=True)
class Section:
    """One experiment of the report."""

    name: str
    experiment: Experiment
    image: str
    """PNG as a data URI; empty without a figure."""
    problem: str
    """Why there is no figure."""
    agreements: list[tuple[str, str, Agreement]]
    """Curve, source, how well it agrees."""
    rows: list[dict[str, Any]]
    """Of the table of errors."""
    verdicts: list[tuple[str, Verdict]]
    """Source, what becomes of a claim."""
    left_out: list[tuple[str, str]]
    """Source, how many of its runs are not ok, where any is not."""
    answers: list[Answer]
    pictures: list[tuple[str, str]]
    """Source, its answers in one picture as a data URI."""
    cases: dict[str, str]
    """Name of a figure, the figure of a point as a data URI, or why there is none."""


def write_report(sources: Sequence[Source], directory: Path) -> Path:
    """Write `report.html`, `answer.json` and `figures/`; return the HTML file.

    Raises:
        OSError: a file cannot be written.
    """
    (directory / "figures").mkdir(parents=True, exist_ok=True)
    file = sources[0].plan.file
    sections = [
        _section(sources, name, experiment, directory / "figures")
        for name, experiment in _experiments(sources)
    ]
    save_answers(
        [each for section in sections for each in section.answers],
        {section.name: section.verdicts for section in sections},
        directory,
    )
    text = _template().render(
        file=file,
        sections=sections,
        counted=count_verdicts(verdict for each in sections for _, verdict in each.verdicts),
        shown=shown,
        sources=[_conditions(source) for source in sources],
        clocks=list(_between(sources)),
        problems=[problem for source in sources for problem in _problems(source)],
        made_on=_made_on(),
    )
    path = directory / "report.html"
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def _experiments(sources: Sequence[Source]) -> Iterator[tuple[str, Experiment]]:
    """Those of all sources, each once, in the file's order."""
    seen: dict[str, Experiment] = {}
    for source in sources:
        used = {cell.experiment for cell in source.plan.cells}
        for name, experiment in source.plan.file.experiments.items():
            if name in used:
                seen.setdefault(name, experiment)
    yield from seen.items()


def _section(
    sources: Sequence[Source], name: str, experiment: Experiment, figures: Path
) -> Section:
    image, problem = "", _without_figure(sources, name)
    compared = comparison((), name, experiment)
    found_claims: list[tuple[str, Verdict]] = []
    answered: list[Answer] = []
    try:
        joined = {
            source.label: join(source, name, experiment)
            for source in sources
            if experiment.joined or experiment.claims
        }
        tables = {label: points.table for label, points in joined.items()}
        if experiment.joined:
            _save_points(tables, figures.parent / f"points-{name}.csv")
        found_claims = [
            (label, verdict)
            for label, points in joined.items()
            for verdict in verdicts(points, name, experiment)
        ]
        answered = list(answers(sources, name, experiment, tables))
        drawing = draw_experiment(sources, name, experiment)
        if drawing is not None:
            image, problem = _save(drawing, figures / name), ""
        compared = comparison(sources, name, experiment)
    except (ResultError, OSError) as error:
        problem = str(error)
    agreements = []
    for (curve, source), part in compared.groupby(["curve", "source"], sort=False):
        found = agreement(part)
        if found is not None:
            agreements.append((str(curve), str(source), found))
    rows = compared[compared["theirs"].notna()].to_dict("records")
    return Section(
        name,
        experiment,
        image,
        problem,
        agreements,
        _plain(rows),
        found_claims,
        [(source.label, text) for source in sources if (text := not_ok(source.cells_of(name)))],
        answered,
        list(_pictures(name, answered, figures)),
        {name: image for each in answered for name, image in _case_figures(each, figures)},
    )


def _pictures(name: str, answered: list[Answer], figures: Path) -> Iterator[tuple[str, str]]:
    for number, (source, those) in enumerate(by_source(answered)):
        end = f"-{number + 1}" if number else ""
        yield source, _save(draw_answers(those), figures / f"answer-{name}{end}")


def _case_figures(answer: Answer, figures: Path) -> Iterator[tuple[str, str]]:
    for case in answer.chosen:
        name = case_name(answer, case)
        try:
            yield name, _save_png(draw_case(answer, case), figures / name)
        except (ResultError, OSError) as error:
            yield name, f"No figure: {error}"


def _save_points(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    """One row per source and point with its joined measures."""
    rows = [table.assign(source=label) for label, table in tables.items()]
    with replacing(path) as partial:
        pd.concat(rows).to_csv(partial, index=False)


def _without_figure(sources: Sequence[Source], name: str) -> str:
    """Why an experiment has none, as far as its runs tell."""
    if any((source.cells_of(name)["status"] == "ok").any() for source in sources):
        return "no run of it has what the figure shows"
    return "no run of it is ok"


def _save(drawing: Drawing, stem: Path) -> str:
    """Write PNG and PDF; return the PNG as a data URI."""
    with replacing(stem.with_suffix(".pdf")) as partial:
        drawing.savefig(partial, format="pdf")
    return _save_png(drawing, stem)


def _save_png(drawing: Drawing, stem: Path) -> str:
    image = io.BytesIO()
    drawing.savefig(image, format="png")
    with replacing(stem.with_suffix(".png")) as partial:
        partial.write_bytes(image.getvalue())
    return "data:image/png;base64," + base64.b64encode(image.getvalue()).decode()


def _plain(rows: list[dict[Any, Any]]) -> list[dict[str, Any]]:
    """Without NaN, which a template cannot tell from a number."""
    return [
        {str(key): None if pd.isna(value) else value for key, value in row.items()} for row in rows
    ]


def _conditions(source: Source) -> dict[str, Any]:
    cells = source.cells.drop_duplicates("id")
    done = cells[cells["status"] != "missing"]
    wall = done["wall_s"].sum() if "wall_s" in done else 0.0
    return {
        "label": source.label,
        "directory": source.store.root.name,
        "title": source.plan.file.title,
        "clock": source.plan.clock,
        "version": source.plan.version,
        "counts": dict(Counter(cells["status"])),
        "repetitions": int(source.cells["repetition"].max()),
        "seeds": _range(done["seed"]) if len(done) else "none",
        "size": _range(done["size_bytes"] / BYTES_PER_MB) if len(done) else "none",
        "hours": wall / 3600,
        "environments": list(_environments(done)),
    }


def _range(values: pd.Series[float]) -> str:
    low, high = values.min(), values.max()
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _environments(done: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The distinct ones of the runs, with how many runs have them."""
    found: Counter[str] = Counter()
    for directory in done["directory"]:
        run = Path(directory)
        path = run / "environment.json"
        if path.exists():
            found[json.dumps(_facts(run, path))] += 1
    for text, number in found.most_common(FACTS_SHOWN):
        facts = json.loads(text)
        yield {"runs": number, "others": max(0, len(found) - FACTS_SHOWN), "facts": facts}


def _facts(run: Path, path: Path) -> dict[str, str]:
    try:
        return {key: _shown(value) for key, value in read_mapping(run, path).items()}
    except (ResultError, RecursionError) as error:
        return {"cannot be read": str(error)}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def _problems(source: Source) -> Iterator[dict[str, Any]]:
    """What did not run, grouped by reason."""
    bad = source.cells[source.cells["status"] != "ok"]
    keys = ["experiment", "configuration", "status", "reason"]
    for (experiment, configuration, status, reason), rows in bad.groupby(keys, sort=False):
        yield {
            "source": source.label,
            "experiment": experiment,
            "configuration": configuration,
            "status": status,
            "reason": reason or "not run yet",
            "runs": len(rows),
        }


def _between(sources: Sequence[Source]) -> Iterator[dict[str, Any]]:
    """Goodput of each other source against the first one's, cell by cell."""
    first, *others = sources
    for other in others:
        for (experiment, configuration), rows in other.cells.groupby(
            ["experiment", "configuration"], sort=False
        ):
            mine = _means(first.cells_of(str(experiment), str(configuration)))
            theirs = _means(rows)
            changes = [100 * (theirs[key] / mine[key] - 1) for key in theirs if key in mine]
            if changes:
                yield {
                    "experiment": experiment,
                    "configuration": configuration,
                    "first": first.label,
                    "other": other.label,
                    "cells": len(changes),
                    "mean": sum(changes) / len(changes),
                    "absolute": sum(map(abs, changes)) / len(changes),
                }


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """Mean goodput by the cell's factors."""
    ok = rows[rows["status"] == "ok"]
    keys = [json.dumps(factors, sort_keys=True) for factors in ok["factors"]]
    means = ok.assign(key=keys).groupby("key")["goodput_mbps"].mean()
    return {str(key): float(value) for key, value in means.items()}


def _made_on() -> str:
    """The machine of the report, which may be another than that of the runs."""
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"{system}, {os.cpu_count()} processors, Python {platform.python_version()}"


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _format
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8"))


def _format(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    if value is None:
        return ""
    return f"{value:{'+' if sign else ''}.{digits}f}"
