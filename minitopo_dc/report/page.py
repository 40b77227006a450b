"""The report of a table of runs as one HTML page that needs nothing else, with its files."""

from __future__ import annotations

import html
import os
import re
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
from minitopo_dc.numbers import significant
from minitopo_dc.plots import check_columns, save
from minitopo_dc.plots.labels import value_name
from minitopo_dc.report.conditions import conditions
from minitopo_dc.report.default import draw, mean_tables, varying
from minitopo_dc.report.picture import dark_colours, inline_svg

LONG = 40
"""The rows from which on a table is closed until the reader opens it."""
_CODE = re.compile("`([^`]+)`")
Sections = Iterable[tuple[str, Any]]


@dataclass
class _Part:
    """A part of a section: paragraphs, or a table or a picture with the names of its files."""

    prose: Markup | None = None
    caption: str = ""
    picture: Markup | None = None
    columns: Sequence[str] | None = None
    rows: Sequence[Sequence[Any]] = ()
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Links:
    """The cell of a table with a link to the directory of each run of a case."""

    runs: Sequence[tuple[str, str, str, str]]
    """Seed, address (relative to the page; empty: none), status and reason."""


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
    default: bool = True,
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
        default: whether each experiment has its figure and means, too.

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
    writer = _Writer(directory, place, formats, tables)
    own = [(name, list(writer.parts(name, content))) for name, content in sections]
    made = list(_experiments(writer, runs, labels)) if default else []
    made += [(name, parts) for name, parts in _told(writer, place, runs, labels) if parts]
    text = _template().render(
        title=title,
        notes=_prose(notes),
        counts=runs["status"].value_counts().to_dict(),
        sections=[*own, *made],
        dark=dark_colours(writer.pictures),
        style=Markup((Path(__file__).with_name("style.css")).read_text(encoding="utf-8")),
    )
    write_whole(directory / "report.html", text)
    return directory / "report.html"


def _whole(runs: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return the table with the columns that all tables have; labels that are lists as text."""
    lists = [name for name in labels if runs[name].map(pd.api.types.is_list_like).any()]
    runs = runs.assign(**{name: runs[name].map(value_name) for name in lists})
    known: dict[str, Any] = {"experiment": "", "seed": 1, "status": "ok", "reason": "", "run": ""}
    return runs.assign(**{name: value for name, value in known.items() if name not in runs})


class _Writer:
    """Makes parts of contents, and writes their figures and tables as files."""

    def __init__(
        self, directory: Path, place: Path, formats: Sequence[str], tables: Sequence[str]
    ) -> None:
        self._directory, self._formats, self._tables = directory, formats, tables
        self._to_runs = Path(os.path.relpath(place, directory))
        self.pictures: list[str] = []
        self._names: dict[str, int] = {}

    def parts(self, name: str, content: Any) -> Iterator[_Part]:
        """Yield the parts of a section's content."""
        if isinstance(content, str):
            yield _Part(_prose(content))
        elif isinstance(content, pd.DataFrame):
            yield self.table(name, _with_index(content))
        elif isinstance(content, Figure | Axes):
            yield self.picture(name, content)
        elif isinstance(content, list | tuple):
            for each in content:
                yield from self.parts(name, each)
        else:
            kinds = "a text, a DataFrame, a figure or axes, or a list of them"
            raise TypeError(f"{name}: {type(content).__name__}; allowed: {kinds}")

    def picture(self, name: str, content: Figure | Axes, caption: str = "") -> _Part:
        """Return a figure in the page, and write its files."""
        figure = content if isinstance(content, Figure) else content.get_figure(root=True)
        assert figure is not None
        self.pictures.append(inline_svg(figure, len(self.pictures) + 1))
        files = self._place("figures", name, self._formats)
        for path, kind in zip(files, self._formats, strict=True):
            save(figure, path.parent, path.stem, [kind])
        picture = Markup(self.pictures[-1])
        return _Part(caption=caption, picture=picture, files=self._addresses(files))

    def table(self, name: str, table: pd.DataFrame, shown: pd.DataFrame | None = None) -> _Part:
        """Return a table in the page, which shows `shown` of it, and write its files."""
        shown = table if shown is None else shown
        files = self._place(
            "tables", name, ["tex" if each == "latex" else each for each in self._tables]
        )
        for path, kind in zip(files, self._tables, strict=True):
            with replacing(path) as partial:
                if kind == "csv":
                    table.to_csv(partial, index=False)
                else:
                    shown.drop(columns="runs", errors="ignore").to_latex(
                        partial, index=False, escape=True
                    )
        rows = [[_cell(value) for value in row] for row in shown.itertuples(index=False)]
        return _Part(columns=list(map(str, shown)), rows=rows, files=self._addresses(files))

    def links(self, runs: pd.DataFrame) -> _Links:
        """Return the links to the directories of runs."""
        columns = (runs[name] for name in ("seed", "run", "status", "reason"))
        return _Links([(value_name(seed), self._address(run), status, str(reason))
                       for seed, run, status, reason in zip(*columns, strict=True)])  # fmt: skip

    def _address(self, run: Any) -> str:
        """Return the address of a run's directory; none of what is not below the campaign's."""
        path = os.path.normpath(run) if isinstance(run, str) and run else ".."
        if path.startswith((os.sep, os.pardir)):
            return ""
        return quote(f"{(self._to_runs / path).as_posix()}/")

    def _place(self, folder: str, name: str, kinds: Sequence[str]) -> list[Path]:
        slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "all"
        number = self._names[folder + slug] = self._names.get(folder + slug, 0) + 1
        slug = slug if number == 1 else f"{slug}-{number}"
        if kinds:
            (self._directory / folder).mkdir(exist_ok=True)
        return [self._directory / folder / f"{slug}.{kind}" for kind in kinds]

    def _addresses(self, files: Sequence[Path]) -> list[str]:
        return [path.relative_to(self._directory).as_posix() for path in files]


def _experiments(
    writer: _Writer, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, list[_Part]]]:
    """Yield the figure of each experiment, and its table of means with links to the runs."""
    for value, mine in runs.groupby("experiment", sort=False, dropna=False) if len(runs) else ():
        name = value_name(value) or "Means"
        own = [label for label in labels if mine[label].notna().any()]
        told = varying(mine, own) or own[:1] or ["experiment"]
        figure, caption = draw(mine, told, runs)
        numbers, shown = mean_tables(mine, told)
        texts = mine[told].map(value_name)
        cases = mine.groupby([texts[label] for label in told], sort=False)
        shown["runs"] = pd.Series([writer.links(case) for _, case in cases], dtype=object)
        yield name, [writer.picture(name, figure, caption), writer.table(name, numbers, shown)]


def _told(
    writer: _Writer, place: Path, runs: pd.DataFrame, labels: Sequence[str]
) -> Iterator[tuple[str, list[_Part]]]:
    """Yield what is not ok, by its reason, and the conditions."""
    bad = runs[runs["status"] != "ok"].fillna({"reason": ""})
    if len(bad):
        told = (
            ["experiment", *varying(runs, labels)]
            if bad["experiment"].any()
            else varying(runs, labels)
        )
        groups = bad.groupby(["status", "reason"], sort=False)
        table = pd.DataFrame([
            _not_ok(rows, told) | {"runs": writer.links(rows[:5])} for _, rows in groups
        ])  # fmt: skip
        yield "What is not ok", [writer.table("not-ok", table)]
    parts: list[_Part] = []
    for name, content in conditions(place, runs, labels):
        parts += writer.parts("", name)
        parts += writer.parts(name, content)
    yield "Conditions", parts


def _not_ok(rows: pd.DataFrame, labels: Sequence[str]) -> dict[str, Any]:
    """Return a row of a table of what is not ok, of runs with one status and one reason."""
    first = rows.iloc[0]
    of = "; ".join(f"{label}: {_some(rows[label])}" for label in labels)
    told = {"status": first["status"], "reason": first["reason"] or "not run yet", "of": of}
    return {"number": len(rows), **told}


def _some(values: pd.Series[Any]) -> str:
    names = list(dict.fromkeys(values.map(value_name)))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")


def _prose(text: str) -> Markup:
    """Return paragraphs as elements of the page, with `words` as code and indented ones as it."""
    made = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        lines = part.splitlines()
        if lines and all(line.startswith("    ") for line in lines):
            made.append(Markup("<pre>{}</pre>").format("\n".join(line[4:] for line in lines)))
        elif lines:
            made.append(Markup("<p>{}</p>").format(_with_code(part)))
    return Markup("\n").join(made)


def _with_code(text: str) -> Markup:
    """Return a text as markup, with what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", html.escape(text)))


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    named = table.index.nlevels > 1 or not isinstance(table.index, pd.RangeIndex)
    return table.reset_index() if named else table


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return "" if pd.isna(value) else significant(value)
    return value if isinstance(value, str | _Links) else value_name(value)


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["links"] = lambda value: isinstance(value, _Links)
    environment.globals["long"] = LONG
    return environment.from_string(
        Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    )
