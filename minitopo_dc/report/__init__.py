"""The report of a table of runs as one HTML page that needs nothing else, with its files."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jinja2
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from minitopo_dc import statistics
from minitopo_dc.files import replacing, write_whole
from minitopo_dc.plots import cdf, curves, looks, main_measure, save, style
from minitopo_dc.plots import map as factor_map
from minitopo_dc.plots.tables import fit_bars
from minitopo_dc.plots.theme import OTHER, PAGE_INCHES, grid_of, kind_of
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.tables.runs import (
    flat,
    is_number,
    label_of,
    scenario_fields,
    value_name,
    way_names,
)
from minitopo_dc.results.tables.sheet import cell_text, paragraphs, with_index
from minitopo_dc.results.tables.summary import mean_tables
from minitopo_dc.scenario import Scenario

MOST_PANELS, MOST_TITLES, MOST_BARS = 6, 3, 60
"""The most panels, labels that make them (points of a design have more), and bars."""
SINGLE_INCHES, ROW_INCHES = 4.6, 2.5
"""The width of one panel on the page, and the height of a row of panels."""
MEANS = "Mean over seeds; bars: 95 % intervals (Student's t)."
SINGLE = "One run each."
POINTS = "Each step is a run: too many combinations for a curve of each."
CELLS = "Colours and numbers: mean over seeds."


def draw(runs: pd.DataFrame, labels: Sequence[str], known: pd.DataFrame) -> tuple[Figure, str]:
    """Return the figure of an experiment's main measure over what varies, and its caption.

    A number is the x axis, what tells ways apart their curves, and all else makes panels. Two
    numbers with too many values for that are a map a way, and more of them cumulated shares.

    Args:
        runs: those of the experiment.
        labels: its labels, at least one.
        known: the runs of all experiments, whose ways have one look.
    """
    labels = varying(runs, labels) or list(labels[:1])
    numbers = [name for name in labels if is_number(runs[name])]
    numbers.sort(key=lambda name: -runs[name].nunique())
    texts = sorted(set(labels) - set(numbers), key=lambda name: _rank(runs, name))
    by, x = texts[0] if texts else None, numbers[0] if numbers else texts[:2][-1]
    measure, others = main_measure(runs, labels), [name for name in labels if name not in (x, by)]
    panels, ways = _joined(runs, others), _joined(runs, texts)
    look = {"y": measure, "by": by, "looks": looks(known[by].map(value_name)) if by else None}
    few = panels.nunique() <= MOST_PANELS and len(others) <= MOST_TITLES
    bars = 0 if numbers else len(runs[[x, by]].map(value_name).drop_duplicates())
    if few and bars <= MOST_BARS:
        caption = MEANS if runs.duplicated(labels).any() else SINGLE
        look["by"] = by if by != x else None
        return _multiples(runs, panels, curves, x=x, **look), caption
    if len(numbers) == 2 and ways.nunique() <= MOST_PANELS and measure in runs:
        means = statistics.means(runs, labels, measure)["mean"]
        over = {"x": x, "y": numbers[1], "limits": (means.min(), means.max())}
        return _multiples(runs, ways, factor_map, z=measure, **over), CELLS
    return _multiples(runs, pd.Series("", runs.index), cdf, **look), POINTS


def varying(runs: pd.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return the labels that have several values."""
    return [name for name in labels if runs[name].map(value_name).nunique() > 1]


def _rank(runs: pd.DataFrame, name: str) -> tuple[bool, float, int]:
    """Return the place of a label: `way` is first, then one whose values sound like ways."""
    values = runs[name].map(value_name).unique()
    share = sum(kind_of(value) is not OTHER for value in values) / max(1, len(values))
    return name != "way", -share, len(values)


def _joined(runs: pd.DataFrame, labels: Sequence[str]) -> pd.Series[str]:
    columns = [way_names(runs[name]) for name in labels]
    texts = map(", ".join, zip(*columns, strict=True)) if labels else [""] * len(runs)
    return pd.Series(list(texts), runs.index, dtype=object)


def _multiples(
    runs: pd.DataFrame, panels: pd.Series[str], draw_on: Callable[..., Any], **chosen: Any
) -> Figure:
    titles = list(panels.unique()) or [""]
    columns = {1: 1, 2: 2, 4: 2}.get(len(titles), 3)
    rows, means = -(-len(titles) // columns), draw_on is curves
    lines = means and is_number(runs[chosen["x"]])
    width = PAGE_INCHES if len(titles) > 1 else SINGLE_INCHES
    with style():
        figure = Figure(figsize=(width, ROW_INCHES * rows))
        grid = grid_of(figure, rows, columns, sharex=means, sharey=lines)
        for axes, title in zip(grid.flat, titles, strict=False):
            draw_on(runs[panels == title], ax=axes, **chosen)
            axes.set_title(title)
            if lines:
                axes.label_outer(remove_inner_ticks=False)
        for axes in grid.flat[len(titles) :]:
            axes.remove()
        if means and not lines:
            fit_bars(figure, rows)
    return figure


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
    loader, strict = jinja2.FileSystemLoader(Path(__file__).parent), jinja2.StrictUndefined
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=strict)
    environment.filters |= {"paragraphs": paragraphs, "cell_text": cell_text}
    template = environment.get_template("page.html.j2")
    page = template.render(title=title, notes=notes, counts=counts, sections=shown)
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
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "all"
        self.names[folder, slug] += 1
        number = self.names[folder, slug]
        (self.directory / folder).mkdir(exist_ok=True)
        return self.directory / folder / (slug if number == 1 else f"{slug}-{number}")


def _experiments(
    writer: _Writer, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, list[Part]]]:
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


MOST_CASES = 200
"""The most cases whose scenario is read; of more, some at equal distances: half a second."""
MOST_VALUES = 6
ALWAYS: Final = frozenset(
    {
        *("transport", "mode", "congestion_control", "clock", "workload.kind", "workload.size_mb"),
        *("pdcp.split", "pdcp.t_reordering_ms", "rate_mbps", "delay_ms", "jitter_ms"),
        *("loss_percent", "queue_packets"),
    }
)
"""Fields that are shown whatever they are; of others those that vary or have no default value."""
NEVER: Final = frozenset({"seed", "plugins"})
"""Fields that are no conditions."""


def condition_tables(
    directory: Path, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[pd.DataFrame | str]:
    """Yield the tables of the conditions, and what could not be read.

    Args:
        directory: that to which the runs' paths are relative.
        runs: a row a run.
        labels: the columns by which fields may vary.
    """
    known = runs[runs["run"].fillna("").astype(str) != ""]
    cases = known.loc[known[list(labels)].map(value_name).drop_duplicates().index]
    read = cases.iloc[:: -(-len(cases) // MOST_CASES) or 1]
    if len(read) < len(cases):
        yield f"Scenarios of {len(read)} of {len(cases)} cases were read."
    fields, errors = dict[Any, dict[str, Any]](), []
    for index, run in read["run"].items():
        try:
            fields[index] = _fields(directory, directory / str(run))
        except ResultError as error:
            errors.append(str(error).replace(f"{directory}/", ""))
    yield from errors[:MOST_VALUES]
    if fields:
        table = pd.DataFrame(fields, dtype=object).T.map(_text)
        yield from _tables(table, read.loc[table.index, list(labels)])


def _fields(directory: Path, run: Path) -> dict[str, Any]:
    """Return the fields that count in this mode: PDCP's of DC, the leg of a single one."""
    if not run.resolve().is_relative_to(directory.resolve()):
        raise ResultError(f"{run}: not within the directory of the results")
    fields = scenario_fields(run)
    if not fields:
        raise ResultError(f"{run}: no scenario")
    mode, unused = fields.get("mode"), NEVER
    unused |= frozenset() if mode == "sc" else {"leg"}
    unused |= {"pdcp", "uplink_pdcp"} if mode in ("sc", "multipath") else frozenset()
    return {
        path: Path(value).name if path.endswith(".trace") and isinstance(value, str) else value
        for path, value in fields.items()
        if path.partition(".")[0] not in unused
    }


def _tables(table: pd.DataFrame, labels: pd.DataFrame) -> Iterator[pd.DataFrame]:
    legs: dict[str, dict[str, str]] = {}
    others: list[tuple[str, str]] = []
    for path in map(str, table):
        leg, field = _place(path)
        if field in ALWAYS or set(table[path]) - {_text(_defaults().get(field)), "none"}:
            condition = label_of(field), _summary(table[path], labels)
            if leg:
                legs.setdefault(leg, {"": leg}).update([condition])
            else:
                others.append(condition)
    yield pd.DataFrame(legs.values()).fillna("")
    yield pd.DataFrame(others, columns=["field", "value"])


def _place(path: str) -> tuple[str, str]:
    match path.split("."):
        case ["legs", number, direction, *names] if names:
            leg = int(number) + 1 if number.isdecimal() else number
            return f"leg {leg}, {direction}", ".".join(names)
    return "", path


@cache
def _defaults() -> Mapping[str, Any]:
    plain = Scenario(transport="tcp", mode="sc", legs=[{"rate_mbps": 1}]).model_dump(mode="json")
    return {_place(path)[1]: value for path, value in flat(plain) if ".uplink." not in path}


def _text(value: Any) -> str:
    if value is None or value in ([], {}) or (isinstance(value, float) and pd.isna(value)):
        return "none"
    return value_name(float(value) if type(value) is int else value)


def _summary(texts: pd.Series[str], labels: pd.DataFrame) -> str:
    """Return a field's value in all cases, or its values and the label that they follow."""
    values = list(dict.fromkeys(texts))
    if len(values) == 1:
        return values[0]
    names = labels.map(value_name)
    by = next((label for label in labels if (texts.groupby(names[label]).nunique() == 1).all()), "")
    more = f", ... ({len(values)} values)" if len(values) > MOST_VALUES else ""
    if by and not is_number(labels[by]):
        cases = names[by].groupby(texts, sort=False).unique()
        values = [f"{text} ({', '.join(cases[text])})" for text in values]
    else:
        more += f" (by {by})" if by else " (varies)"
    return ", ".join(values[:MOST_VALUES]) + more
