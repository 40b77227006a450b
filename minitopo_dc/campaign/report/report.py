"""The report of a campaign: one HTML file that needs no other, and its figures for papers.

Several directories of one campaign, e.g. of both clocks, make one report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.analysis.figures.chart import Chart, Format
from minitopo_dc.analysis.tables.reference import Agreement, agreement
from minitopo_dc.analysis.tables.sheet import Sheet
from minitopo_dc.campaign.file.fields import Experiment
from minitopo_dc.campaign.report.answer import Answer, answers
from minitopo_dc.campaign.report.answer_report import (
    answers_chart,
    by_source,
    case_chart,
    case_name,
    save_answers,
    to_text,
)
from minitopo_dc.campaign.report.answer_words import (
    case_reason,
    case_text,
    factors,
    left_out,
    reasons,
    rule_accuracy,
    rule_tested,
    rule_text,
    scatter,
)
from minitopo_dc.campaign.report.claims import Verdict, count_verdicts, verdicts
from minitopo_dc.campaign.report.conditions import between, conditions, problems, report_machine
from minitopo_dc.campaign.report.evaluation import Source, comparison, failed_runs_text
from minitopo_dc.campaign.report.figures import experiment_chart
from minitopo_dc.campaign.report.joined import join
from minitopo_dc.campaign.report.means import Mean, means, means_sheet, means_table
from minitopo_dc.campaign.report.page import render
from minitopo_dc.campaign.report.questions import Agreed, Compared, Question, questions
from minitopo_dc.campaign.report.when import WhenAnswer, answer_when
from minitopo_dc.campaign.report.when_words import (
    effects_chart,
    importances,
    made,
    noise_of,
    regret_words,
    rule_lines,
    save_rules,
    tests,
    verdict,
)
from minitopo_dc.campaign.report.when_words import to_text as when_text
from minitopo_dc.files import replacing
from minitopo_dc.settings.leg import NoTraceError

FIRST_ROWS = 8
"""The number of questions on the first screen, before a reader asks for all."""
SECTION_ERRORS = (ResultError, OSError)


@dataclass
class Section:
    """One experiment of the report, with its chart and verdicts."""

    name: str
    experiment: Experiment
    chart: Chart | None = None
    problem: str = ""
    """Why there is no figure."""
    failure: str = ""
    """Why there are no answers, where the runs' files do not give them."""
    means: list[Mean] = field(default_factory=list)
    """The means of its runs, by source and configuration."""
    agreements: list[tuple[str, str, Agreement]] = field(default_factory=list)
    """Tuples of curve, source, and how well it agrees."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The rows of the table of errors."""
    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)
    """Tuples of a source and its verdict on a claim."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Tuples of a source and how many of its runs are not ok, where any is not."""
    compared: list[Compared] = field(default_factory=list)
    """Pairs of sides with their outcomes."""
    agreed: list[Agreed] = field(default_factory=list)
    """How often sources agree on these outcomes."""
    answers: list[Answer] = field(default_factory=list)
    pictures: list[tuple[str, Chart]] = field(default_factory=list)
    """Tuples of a source and its answers in one picture."""
    cases: dict[str, Chart | str] = field(default_factory=dict)
    """For each name of a figure, the chart of a point, or why there is none."""
    when: list[tuple[WhenAnswer, Chart | None]] = field(default_factory=list)
    """Models and rules, each with the picture of its models' effects."""

    @property
    def questions(self) -> list[Question]:
        """Return the experiment's lines in the report's first table."""
        return list(questions(self.verdicts, self.answers, self.compared, self.agreed))

    @property
    def charts(self) -> list[Chart]:
        """Return all charts of the experiment."""
        cases = [each for each in self.cases.values() if isinstance(each, Chart)]
        own = [] if self.chart is None else [self.chart]
        effects = [chart for _, chart in self.when if chart is not None]
        return [*own, *(chart for _, chart in self.pictures), *effects, *cases]


@dataclass(frozen=True)
class Written:
    """A report that was written."""

    page: Path
    """The HTML file."""
    means: Sequence[Sheet]
    """A table of means for each experiment that has any."""
    failures: Sequence[str]
    """Which experiments have no answers though they were run, and why."""


def write_report(
    sources: Sequence[Source], directory: Path, formats: Sequence[Format] = ()
) -> Written:
    """Write `report.html`, `answer.json`, `means.csv` and, if wanted, `figures/`.

    Args:
        sources: the campaign directories that are reported.
        directory: where to write.
        formats: formats of the figures for papers.

    Returns:
        The HTML file's path, and what a terminal shows of the report.

    Raises:
        OSError: a file cannot be written.
        StoreError: a source is a condensed result, which has no runs to be shown.
    """
    for source in sources:
        if source.condensed is not None:
            source.store.plan()  # which it does not have: raises the error that says so
    directory.mkdir(parents=True, exist_ok=True)
    sections = [
        _section(sources, name, experiment, directory) for name, experiment in _experiments(sources)
    ]
    when = [each for section in sections for each, _ in section.when]
    words = sources[0].plan.file.words
    save_answers(
        [each for section in sections for each in section.answers],
        {section.name: section.verdicts for section in sections},
        directory,
        "\n".join(
            to_text(each.experiment.title, each.questions, each.answers, _when_text(each, words))
            for each in sections
            if each.questions or each.when
        ),
        {section.name: section.compared for section in sections},
        agreed={section.name: section.agreed for section in sections},
        when=when,
    )
    save_rules(when, directory)
    charts = [chart for section in sections for chart in section.charts]
    path = directory / "report.html"
    with replacing(path) as partial:
        partial.write_text(render(_context(sources, sections), charts), encoding="utf-8")
    _save_figures(charts, directory / "figures", formats)
    with replacing(directory / "means.csv") as partial:
        means_table([each for section in sections for each in section.means]).to_csv(
            partial, index=False
        )
    told = [
        means_sheet(section.experiment.title, section.means, len(sources))
        for section in sections
        if section.means
    ]
    failures = [f"{each.name}: no answers: {each.failure}" for each in sections if each.failure]
    return Written(path, told, failures)


def _save_figures(charts: Sequence[Chart], directory: Path, formats: Sequence[Format]) -> None:
    if not formats:
        return
    # Imported here, as Matplotlib takes a second, and the page does without.
    from minitopo_dc.analysis.figures.paper import save  # noqa: PLC0415

    directory.mkdir(exist_ok=True)
    for chart in charts:
        for kind in formats:
            save(chart, directory, kind)


def _context(sources: Sequence[Source], sections: Sequence[Section]) -> dict[str, Any]:
    """Return the values that the template shows."""
    telling = [section for section in sections if section.questions and section.chart]
    drawn = [*telling, *(section for section in sections if section.chart)]
    words = (factors, left_out, reasons, rule_accuracy, rule_tested, rule_text, scatter)
    words_of_cases = (case_name, case_reason, case_text)
    of_when = (importances, made, noise_of, regret_words, rule_lines, tests, verdict)
    tools: tuple[Callable[..., Any], ...] = (*words, *words_of_cases, *of_when)
    return {
        "file": sources[0].plan.file,
        "sections": sections,
        "counted": count_verdicts(verdict for each in sections for _, verdict in each.verdicts),
        "first": drawn[0] if drawn else None,
        "first_rows": FIRST_ROWS,
        "sources": [conditions(source) for source in sources],
        "clocks": list(between(sources)),
        "problems": [problem for source in sources for problem in problems(source)],
        "made_on": report_machine(),
        "say": {tool.__name__: tool for tool in tools},
    }


def _experiments(sources: Sequence[Source]) -> Iterator[tuple[str, Experiment]]:
    """Yield the experiments of all sources, each once, in the file's order."""
    seen: dict[str, Experiment] = {}
    for source in sources:
        used = {cell.experiment for cell in source.plan.cells}
        for name, experiment in source.plan.file.experiments.items():
            if name in used:
                seen.setdefault(name, experiment)
    yield from seen.items()


def _section(
    sources: Sequence[Source], name: str, experiment: Experiment, directory: Path
) -> Section:
    section = Section(name, experiment, problem=_without_figure(sources, name))
    section.left_out = [
        (source.label, text)
        for source in sources
        if (text := failed_runs_text(source.cells_of(name)))
    ]
    comparison((), name, experiment)  # a reference that is none of ours ends the report
    try:
        _judge(section, sources, directory)
    except SECTION_ERRORS as error:
        section.problem = section.failure = _in_words(error)
    with suppress(*SECTION_ERRORS):  # a measure of a figure that runs lack is named below
        section.means = means(sources, name, experiment)
    try:
        section.chart = experiment_chart(sources, name, experiment)
        _compare(section, comparison(sources, name, experiment))
    except SECTION_ERRORS as error:
        section.problem = _in_words(error)
    section.pictures = list(_pictures(section))
    section.cases = {name: chart for each in section.answers for name, chart in _cases(each)}
    return section


def _in_words(error: BaseException) -> str:
    """Return why an experiment has no figure; of a trace that has moved, what one can do."""
    lost = isinstance(error.__cause__, NoTraceError)
    more = "; these results hold no copy of it: put one into the folder traces/ beside runs/"
    return f"{error}{more if lost else ''}"


def _judge(section: Section, sources: Sequence[Source], directory: Path) -> None:
    """Work out an experiment's points, claims and answers."""
    name, experiment = section.name, section.experiment
    if not (experiment.joined or experiment.claims):
        return
    joined = {source.label: join(source, name, experiment) for source in sources}
    tables = {label: points.table for label, points in joined.items()}
    if experiment.joined:
        _save_points(tables, directory / f"points-{name}.csv")
    section.verdicts = [
        (label, verdict)
        for label, points in joined.items()
        for verdict in verdicts(points, name, experiment)
    ]
    section.compared = [
        Compared.of(label, asked, table)
        for label, table in tables.items()
        for asked in experiment.outcomes
    ]
    section.agreed = [
        each for asked in experiment.outcomes for each in Agreed.of(asked, experiment, tables)
    ]
    section.answers = list(answers(sources, name, experiment, tables))
    section.when = [
        (each, effects_chart(each)) for each in answer_when(sources, name, experiment, tables)
    ]


def _when_text(section: Section, words: Mapping[str, str]) -> list[str]:
    return [line for each, _ in section.when for line in (*when_text(each, words), "")]


def _compare(section: Section, compared: pd.DataFrame) -> None:
    """Work out how well our curves agree with the paper's, and keep that in the section."""
    for (curve, source), part in compared.groupby(["curve", "source"], sort=False):
        found = agreement(part)
        if found is not None:
            section.agreements.append((str(curve), str(source), found))
    rows = compared[compared["theirs"].notna()].to_dict("records")
    # NaN becomes None, as a template cannot tell NaN from a number.
    section.rows = [
        {str(key): None if pd.isna(value) else value for key, value in row.items()} for row in rows
    ]


def _pictures(section: Section) -> Iterator[tuple[str, Chart]]:
    figure = section.experiment.figure
    measure = figure.x_label if figure is not None and figure.kind == "cdf" else ""
    for number, (source, those) in enumerate(by_source(section.answers)):
        end = f"-{number + 1}" if number else ""
        yield source, answers_chart(f"answer-{section.name}{end}", those, measure)


def _cases(answer: Answer) -> Iterator[tuple[str, Chart | str]]:
    for case in answer.chosen:
        try:
            yield case_name(answer, case), case_chart(answer, case)
        except SECTION_ERRORS as error:
            yield case_name(answer, case), f"No figure: {error}"


def _save_points(tables: Mapping[str, pd.DataFrame], path: Path) -> None:
    """Write one row per source and point with its joined measures."""
    rows = [table.assign(source=label) for label, table in tables.items()]
    with replacing(path) as partial:
        pd.concat(rows).to_csv(partial, index=False)


def _without_figure(sources: Sequence[Source], name: str) -> str:
    """Return why an experiment has no figure, as far as its runs tell."""
    if any((source.cells_of(name)["status"] == "ok").any() for source in sources):
        return "none of its runs has data for the figure"
    return "none of its runs is ok"
