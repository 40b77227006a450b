"""The report of a table of runs as one HTML page that needs nothing else, with its files."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minitopo_dc.files import replacing, write_whole
from minitopo_dc.plots import save
from minitopo_dc.report.default import draw, varying
from minitopo_dc.results.tables.columns import value_name
from minitopo_dc.results.tables.conditions import condition_tables
from minitopo_dc.results.tables.markdown import cell_text, paragraphs, with_index
from minitopo_dc.results.tables.summary import mean_tables

PIXELS = 150
"""Pixels of the page per inch of a figure, by which its 7 points are as the page's 14 pixels."""
MOST_NAMED = 5
"""The most runs and values that are named of what is not ok for one reason."""
SUFFIXES = {"csv": ".csv", "latex": ".tex"}
SPACE, LINK = Markup(" "), Markup('<a{0} class="{1}" title="{1} {2}">{3}</a>')
Part = dict[str, Any]
"""What the page's template shows: a `text`, a `picture` or a `table`, with its files."""


def write_report(
    directory: str | Path,
    runs: pd.DataFrame,
    *,
    title: str,
    notes: str = "",
    sections: Iterable[tuple[str, Any]] = (),
    formats: Sequence[str] = (),
    tables: Sequence[str] = (),
) -> Path:
    """Write `report.html` of a table of runs; return its path.

    >>> write_report("results/delay/report", dc.load("results/delay"), title="A far second leg")

    Args:
        directory: gets the page, and `figures/` and `tables/` beside it.
        runs: a campaign's table, as `dc.load` returns it, also without rows. With a label
            `experiment` each of its values has a figure and means of its own.
        title: of the page.
        notes: paragraphs below it, with an empty line between them; indented ones stay as they are.
        sections: (title, content) pairs that come first; a content is a text, a DataFrame, a figure
            or axes of Matplotlib, or a list of them.
        formats: of the figures' files beside `svg`: `pdf`, `png`.
        tables: of the tables' files: `csv`, `latex`.

    Raises:
        OSError: a file cannot be written.
        TypeError: a content is something else.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    labels = [name for name in runs.attrs.get("labels", ()) if name != "experiment"]
    place = Path(runs.attrs.get("directory", directory))
    runs = runs if "experiment" in runs else runs.assign(experiment="")
    writer = _Writer(directory, Path(os.path.relpath(place, directory)), formats, tables)
    shown = [(name, writer.parts(name, content)) for name, content in sections]
    shown += _experiments(writer, runs, labels)
    if len(not_ok := _not_ok(writer, runs, labels)):
        shown.append(("What is not ok", writer.parts("not-ok", not_ok)))
    if parts := writer.parts("conditions", list(condition_tables(place, runs, labels))):
        shown.append(("Conditions", parts))
    counts = runs["status"].value_counts().to_dict()
    page = _template().render(title=title, notes=notes, counts=counts, sections=shown)
    write_whole(directory / "report.html", page)
    return directory / "report.html"


def _flat(name: str, content: Any) -> Iterator[str | pd.DataFrame | Figure]:
    """Yield the parts of a content; an index that tells rows apart becomes first columns."""
    if isinstance(content, list | tuple):
        for part in content:
            yield from _flat(name, part)
    elif isinstance(content, str | Figure):
        yield content
    elif isinstance(content, Axes):
        yield from _flat(name, content.get_figure(root=True))
    elif isinstance(content, pd.DataFrame):
        yield with_index(content)
    else:
        kinds = "a text, a DataFrame, a figure or axes, or a list of them"
        raise TypeError(f"{name}: {type(content).__name__}; allowed: {kinds}")


@dataclass
class _Writer:
    """Makes the parts of the page, and writes their figures and tables as files."""

    directory: Path
    to_runs: Path
    formats: Sequence[str]
    tables: Sequence[str]
    names: Counter[tuple[str, str]] = field(default_factory=Counter)

    def parts(self, name: str, content: Any, caption: str = "") -> list[Part]:
        """Return the parts of a section's content."""
        return [self._part(name, part, caption) for part in _flat(name, content)]

    def _part(self, name: str, part: str | pd.DataFrame | Figure, caption: str) -> Part:
        if isinstance(part, str):
            return {"text": part, "files": []}
        if isinstance(part, pd.DataFrame):
            return self.table(name, part)
        stem = self._stem("figures", name)
        files = save(part, stem.parent, stem.name, [*dict.fromkeys(["svg", *self.formats])])
        text, width = b64encode(files[0].read_bytes()).decode(), round(PIXELS * part.get_figwidth())
        return {"picture": text, "width": width, "caption": caption, "files": files}

    def table(self, name: str, shown: pd.DataFrame, numbers: pd.DataFrame | None = None) -> Part:
        """Return a table for the page, and write its files; that of CSV has its `numbers`."""
        texts = shown.drop(columns="runs", errors="ignore")
        stem = self._stem("tables", name) if self.tables else Path()
        files = [stem.with_suffix(SUFFIXES[kind]) for kind in self.tables]
        for path, kind in zip(files, self.tables, strict=True):
            with replacing(path) as file:
                if kind == "csv":
                    (texts if numbers is None else numbers).to_csv(file, index=False)
                else:
                    texts.to_latex(file, index=False, escape=True)
        return {"table": shown, "files": files}

    def links(self, runs: pd.DataFrame) -> pd.Series[Any]:
        """Return for each run the link to its directory."""
        columns = (runs[name] for name in ("run", "status", "reason", "seed"))
        links = [LINK.format(self._address(run), status, reason, value_name(seed))
                 for run, status, reason, seed in zip(*columns, strict=True)]  # fmt: skip
        return pd.Series(links, runs.index, dtype=object)  # as a column of texts has no markup

    def _address(self, run: Any) -> Markup:
        """Return the address of a run's directory; none of what is not below the campaign's."""
        path = os.path.normpath(run) if isinstance(run, str) and run else ".."
        if path.startswith((os.sep, os.pardir)):
            return Markup()
        return Markup(' href="{}"').format(quote(f"{(self.to_runs / path).as_posix()}/"))

    def _stem(self, folder: str, name: str) -> Path:
        """Return the path of new files without their suffix; their folder is there."""
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "all"
        self.names[folder, slug] += 1
        number = self.names[folder, slug]
        (self.directory / folder).mkdir(exist_ok=True)
        return self.directory / folder / (slug if number == 1 else f"{slug}-{number}")


def _experiments(
    writer: _Writer, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, list[Part]]]:
    """Yield the figure of each experiment, and its table of means with links to the runs."""
    experiments = runs.groupby("experiment", sort=False, dropna=False) if len(runs) else ()
    for experiment, rows in experiments:
        name = value_name(experiment) or "Means"
        own = [label for label in labels if rows[label].notna().any()]
        shown_labels = varying(rows, own) or own[:1] or ["experiment"]
        figure, caption = draw(rows, shown_labels, runs)
        numbers, shown = mean_tables(rows, shown_labels)
        cases = [rows[label] for label in shown_labels]
        links = writer.links(rows).groupby(cases, sort=False, dropna=False)
        shown["runs"] = pd.Series([SPACE.join(case) for _, case in links], dtype=object)
        yield name, [*writer.parts(name, figure, caption), writer.table(name, shown, numbers)]


def _not_ok(writer: _Writer, runs: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return the runs that are not ok, a row for each status and reason."""
    labels = varying(runs, ["experiment", *labels])
    groups = runs[runs["status"] != "ok"].groupby(["status", "reason"], sort=False)
    rows = [
        {
            "number": len(rows),
            "status": status,
            "reason": reason or "not run yet",
            "of": "; ".join(f"{label}: {_some(rows[label])}" for label in labels),
            "runs": SPACE.join(writer.links(rows[:MOST_NAMED])),
        }
        for (status, reason), rows in groups
    ]
    return pd.DataFrame(rows, dtype=object)


def _some(values: pd.Series[Any]) -> str:
    names = list(dict.fromkeys(values.map(value_name)))
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"paragraphs": paragraphs, "cell_text": cell_text}
    return environment.get_template("page.html.j2")
