"""The report of a table of runs as one HTML page that needs nothing else, with its files."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any
from urllib.parse import quote

import jinja2
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minitopo_dc.files import replacing, write_whole
from minitopo_dc.numbers import significant
from minitopo_dc.plots import save, style
from minitopo_dc.report.default import draw, mean_tables, varying
from minitopo_dc.results.tables.columns import check_columns, value_name
from minitopo_dc.results.tables.conditions import condition_tables

__all__ = ["as_markdown", "write_report"]

PIXELS = 150
"""Pixels of the page per inch of a figure, by which its 7 points are as the page's 14 pixels."""
WIDTH = 110
"""The letters of a line of Markdown."""
MOST_NAMED = 5
"""The most runs and values that are named of what is not ok for one reason."""
SUFFIXES = {"csv": ".csv", "latex": ".tex"}
LINK = Markup('<a{0} class="{1}" title="{1} {2}">{3}</a>')
Sections = Iterable[tuple[str, Any]]
Part = dict[str, Any]
"""What the page's template shows: a `text`, a `picture` or a `table`, with its files."""


def write_report(
    directory: str | Path,
    runs: pd.DataFrame,
    *,
    title: str,
    notes: str = "",
    labels: Sequence[str] | None = None,
    sections: Sections = (),
    formats: Sequence[str] = ("svg",),
    tables: Sequence[str] = (),
) -> Path:
    """Write `report.html` of a table of runs; return its path.

    >>> write_report("results/delay", runs, title="A far second leg", labels=["way", "delay_ms"])

    Args:
        directory: gets the page, and `figures/` and `tables/` beside it.
        runs: a row a run: labels, `seed`, `status` (`ok`, `disturbed`, `failed`, `unsupported`,
            `missing`), `reason`, `run` (its directory, relative to `runs.attrs["directory"]` or to
            `directory`) and measures. With a label `experiment` each of its values has figures of
            its own. It may be empty.
        title: of the page.
        notes: paragraphs below it, with an empty line between them; indented ones stay as they are.
        labels: the columns that tell cases apart; None: those in `runs.attrs["labels"]`.
        sections: (title, content) pairs that come first; a content is a text, a DataFrame, a figure
            or axes of Matplotlib, or a list of them.
        formats: of the figures' files: `svg`, `pdf`, `png`; none: there are only those in the page.
        tables: of the tables' files: `csv`, `latex`.

    Raises:
        ColumnError: a label is no column.
        OSError: a file cannot be written.
        TypeError: a content is something else.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    labels = [name for name in labels or runs.attrs.get("labels", ()) if name != "experiment"]
    check_columns(runs, *labels)
    runs, place = _whole(runs, labels), Path(runs.attrs.get("directory", directory))
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


def as_markdown(title: str, notes: str, sections: Sections) -> str:
    """Return a page of Markdown with the texts and tables of sections; figures are left out.

    The arguments are those of `write_report`.

    Raises:
        TypeError: a content is something else.
    """
    blocks = [f"# {title}", *_markdown(notes)]
    for name, content in sections:
        parts = [block for part in _flat(name, content) for block in _markdown(part)]
        blocks += [f"## {name}", *parts] if parts else []
    return "\n\n".join(blocks) + "\n"


def _markdown(part: str | pd.DataFrame | Figure) -> list[str]:
    """Return the paragraphs of a text, or the rows of a table."""
    if isinstance(part, str):
        return [fill(" ".join(text.split()), WIDTH) for text in _paragraphs(part)]
    if isinstance(part, Figure):
        return []
    rows: list[Any] = [part.columns, ["---"] * part.shape[1], *part.itertuples(index=False)]
    cells = ([str(_cell_text(cell)).replace("|", "\\|") for cell in row] for row in rows)
    return ["\n".join(f"| {' | '.join(row)} |" for row in cells)]


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
        yield content if isinstance(content.index, pd.RangeIndex) else content.reset_index()
    else:
        kinds = "a text, a DataFrame, a figure or axes, or a list of them"
        raise TypeError(f"{name}: {type(content).__name__}; allowed: {kinds}")


def _whole(runs: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return the table with the columns that all tables have; labels that are lists as text."""
    lists = [name for name in labels if runs[name].map(pd.api.types.is_list_like).any()]
    known: dict[str, Any] = {"experiment": "", "seed": 1, "status": "ok", "reason": "", "run": ""}
    missing = {name: value for name, value in known.items() if name not in runs}
    texts = {name: runs[name].map(value_name) for name in lists}
    return runs.assign(**missing, **texts).fillna({"reason": ""})


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
        picture, stem = BytesIO(), self._stem("figures", name, self.formats)
        box = "tight" if part.get_layout_engine() is None else None
        with style():
            part.savefig(picture, format="svg", transparent=True, bbox_inches=box)
        part.set_layout_engine("none")  # it keeps the places that it has now, in less time
        files, width = save(part, stem.parent, stem.name, self.formats), part.get_figwidth()
        text = b64encode(picture.getvalue()).decode()
        return {"picture": text, "width": round(PIXELS * width), "caption": caption, "files": files}

    def table(self, name: str, shown: pd.DataFrame, numbers: pd.DataFrame | None = None) -> Part:
        """Return a table for the page, and write its files; that of CSV has its `numbers`."""
        stem = self._stem("tables", name, self.tables)
        texts = shown.drop(columns="runs", errors="ignore")
        files = [stem.with_name(f"{stem.name}{SUFFIXES[kind]}") for kind in self.tables]
        for path in files:
            with replacing(path) as file:
                if path.suffix == ".csv":
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

    def _stem(self, folder: str, name: str, kinds: Sequence[str]) -> Path:
        """Return the path of a new file without its suffix; its folder is there."""
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "all"
        self.names[folder, slug] += 1
        number = self.names[folder, slug]
        if kinds:
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
        shown["runs"] = pd.Series([_joined(case) for _, case in links], dtype=object)
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
            "runs": _joined(writer.links(rows[:MOST_NAMED])),
        }
        for (status, reason), rows in groups
    ]
    return pd.DataFrame(rows, dtype=object)


def _joined(links: Iterable[Markup]) -> Markup:
    return Markup(" ").join(links)


def _some(values: pd.Series[Any]) -> str:
    names = list(dict.fromkeys(values.map(value_name)))
    more = f" and {len(names) - MOST_NAMED} others" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _paragraphs(text: str) -> list[str]:
    return [part for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]


def _cell_text(value: Any) -> Any:
    if isinstance(value, float):
        return "" if pd.isna(value) else significant(value)
    return value if isinstance(value, Markup) else value_name(value)


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"paragraphs": _paragraphs, "cell_text": _cell_text}
    return environment.get_template("page.html.j2")
