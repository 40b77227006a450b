"""The measures and columns that a campaign's file asks for, and the check that they exist."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from minitopo_dc.analysis.measures.named import EXAMPLES, PLAIN, is_known
from minitopo_dc.campaign.file.expressions import LITERALS, calls_in, names_in
from minitopo_dc.campaign.file.fields import OVER_POINTS, CampaignFile, Experiment
from minitopo_dc.campaign.file.grammar import ExpressionError, parsed, shown
from minitopo_dc.campaign.file.values import FUNCTIONS
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.field_paths import LABEL
from minitopo_dc.spelling import did_you_mean, similar
from minitopo_dc.workloads import (
    Command,
    Download,
    Ping,
    Realtime,
    RequestResponse,
    Video,
    Workload,
)

ONLY_JOINED = ("benefit", "opposed")
"""Functions that only expressions of `joined` have (`campaign.report.joined`)."""
NOTHING = "nothing"
"""The value of an expression of `joined` that says nothing of a point."""
COLUMN = "a column, which has no items; use least, most, mean, ... or the experiment's `across`"
NUMBER = "a number of each point, which has no items"
"""What columns of `joined` are in claims, and in later columns."""
COMMON_MEASURES = (
    "goodput_mbps",
    "completion_s",
    "capacity_share",
    "throughput_mbps",
    "jain_index",
)
"""Measures that a message names where none is similar to what was asked for."""
PAGE = "(docs/campaign-file.md, Measures)"

LISTED = (Command, Download, Ping, Realtime, RequestResponse, Video)
"""Workloads of which all numbers are known; a plugin's may report more than its table lists."""


@dataclass(frozen=True)
class NeededMeasure:
    """A measure of a configuration that a figure or a joined measure needs."""

    key: str
    """The key below the experiment: `figure.curves`, `joined.gain`."""
    configuration: str
    measure: str


def needed_measures(file: CampaignFile, experiment: Experiment) -> Iterator[NeededMeasure]:
    """Yield all measures that an experiment asks of single runs.

    Raises:
        ExpressionError: an expression is malformed.
    """
    figure = experiment.figure
    for curve in figure.curves if figure is not None and figure.kind not in OVER_POINTS else ():
        yield NeededMeasure("figure.curves", curve.configuration, curve.measure)
        if figure is not None and figure.kind == "against":
            yield NeededMeasure("figure.x", curve.configuration, figure.x)
    known = {identifier(name): name for name in file.configurations}
    depth = 1 if experiment.across else 0
    for column, text in experiment.joined.items():
        for node in ast.walk(parsed(text)):
            for name in _configurations(node, depth):
                if name in known:
                    yield NeededMeasure(f"joined.{column}", known[name], _key(node))


def identifier(configuration: str) -> str:
    """Return a configuration's name as expressions write it."""
    return configuration.replace("-", "_")


def check_names(file: CampaignFile, experiment: Experiment) -> None:
    """Check that the names in `joined` and `claims` refer to something that exists.

    Raises:
        ValueError: one does not; the message begins with the key below the experiment.
    """
    labels = experiment.factors() - experiment.joint_factors(experiment.across)
    known = [NOTHING, *(path.removeprefix(LABEL) for path in labels if path.startswith(LABEL))]
    configurations = list(map(identifier, file.configurations))
    own = len(known) + len(configurations)
    known += configurations
    for column, text in experiment.joined.items():
        _check(f"joined.{column}", text, known)
        _check_calls(f"joined.{column}", text, (*FUNCTIONS, *ONLY_JOINED))
        _check_look_ups(f"joined.{column}", text, known[own:], NUMBER)
        known.append(column)
    for claim in experiment.claims:
        _check("claims", claim.value, experiment.joined, configurations)
        _check_calls("claims", claim.value, FUNCTIONS)
        _check_look_ups("claims", claim.value, experiment.joined, COLUMN)


def check_measures(
    file: CampaignFile, experiment: Experiment, scenarios: Iterable[Scenario]
) -> None:
    """Refuse a measure that is known not to exist, before anything is run.

    A name that is no known measure's may be a number that only a transport reports. It is refused
    where it is similar to the name of a known one, and where all runs are of a user's program,
    which reports what its scenario lists and nothing else.

    Args:
        file: the campaign's file.
        experiment: one of its experiments.
        scenarios: those of the experiment's cells.

    Raises:
        ValueError: a measure is refused; the message begins with the key below the experiment.
    """
    doubtful = [each for each in needed_measures(file, experiment) if not is_known(each.measure)]
    if not doubtful:
        return
    workloads = _workloads(scenarios)
    told = {name for each in workloads for name in each.reported_measures}
    listed = {
        name for each in workloads if isinstance(each, LISTED) for name in each.reported_measures
    }
    only_listed = all(isinstance(each, Command) for each in workloads)
    for asked in doubtful:
        if asked.measure not in told and (only_listed or similar_measures(asked.measure, listed)):
            raise ValueError(unknown(asked, told))


def unknown_measures(
    file: CampaignFile, experiment: Experiment, told: Collection[str], ran: Collection[str]
) -> Iterator[NeededMeasure]:
    """Yield the measures that are asked for and that no run reports.

    Args:
        file: the campaign's file.
        experiment: one of its experiments.
        told: names of the numbers that its runs, and others, report.
        ran: configurations of the experiment that have a run that is ok.

    Raises:
        ExpressionError: an expression is malformed.
    """
    asked = [
        each
        for each in needed_measures(file, experiment)
        if not is_known(each.measure) and each.measure not in told
    ]
    hopeful = {each.measure for each in asked if each.configuration not in ran}
    for each in asked:
        misspelt = each.measure not in hopeful or similar_measures(each.measure, told)
        if each.configuration in ran and misspelt:
            yield each


def similar_measures(name: str, others: Iterable[str] = ()) -> list[str]:
    """Return the names of measures that are similar to a name, the most similar first."""
    return similar(name, sorted({*PLAIN, *EXAMPLES, *others}))


def unknown(asked: NeededMeasure, told: Iterable[str] = ()) -> str:
    """Return the message for a measure that does not exist.

    Args:
        asked: the measure, and where it stands.
        told: names of what the runs report besides what all of them have.
    """
    names = ", ".join(dict.fromkeys([*COMMON_MEASURES, *sorted(told)]))
    close = did_you_mean(asked.measure, sorted({*PLAIN, *EXAMPLES, *told}))
    hint = close or f"allowed: {names}, and others"
    return f"{asked.key}: {asked.measure} is no measure of {asked.configuration}; {hint} " + PAGE


def _workloads(scenarios: Iterable[Scenario]) -> list[Workload]:
    found = (flow.workload for each in scenarios for flow in each.resolved_flows)
    return list({id(each): each for each in found}.values())


def _check(
    key: str, text: str, known: Collection[str], configurations: Collection[str] = ()
) -> None:
    """Check the names in an expression; the configurations are no names of it, but of `joined`."""
    try:
        wrong = sorted(names_in(text) - {*known, *LITERALS})
    except ExpressionError as error:
        raise ValueError(f"{key}: {error}") from None
    if wrong:
        hint = did_you_mean(wrong[0], known)
        hint += " " if hint else ""
        if wrong[0] in Scenario.model_fields:
            hint = "a field has no name here; joined knows label.NAME of the cells as NAME; "
        if wrong[0] in configurations:
            hint = "a claim has the columns of joined; write there mine: = "
            hint += f"{wrong[0]}.goodput_mbps, and mine in the claim; "
        names = ", ".join(known) or "none"
        raise ValueError(f"{key}: {shown(text)}: {wrong[0]!r} is undefined; {hint}names: {names}")


def _check_calls(key: str, text: str, functions: Collection[str]) -> None:
    """Refuse a function that there is not."""
    if wrong := sorted(calls_in(text) - set(functions)):
        allowed = ", ".join(functions)
        raise ValueError(f"{key}: {shown(text)}: {wrong[0]!r} is no function; allowed: {allowed}")


def _check_look_ups(key: str, text: str, names: Collection[str], what: str) -> None:
    """Refuse a look-up in a name whose value has no items."""
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Attribute | ast.Subscript):
            wrong = sorted(_looked_up(node.value, 0) & {*names})
            if wrong:
                raise ValueError(f"{key}: {shown(text)}: {wrong[0]} is {what}")


def _key(node: ast.AST) -> str:
    assert isinstance(node, ast.Attribute | ast.Subscript)
    if isinstance(node, ast.Attribute):
        return node.attr
    assert isinstance(node.slice, ast.Constant)
    return str(node.slice.value)


def _configurations(node: ast.AST, depth: int) -> set[str]:
    """Return the configurations that a look-up of a measure may be of; empty for other parts."""
    is_key = isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    )
    if not is_key:
        return set()
    assert isinstance(node, ast.Attribute | ast.Subscript)
    return _looked_up(node.value, depth)


def _looked_up(node: ast.expr, depth: int) -> set[str]:
    """Return the names that a part may stand for after `depth` look-ups of a factor's value."""
    if isinstance(node, ast.IfExp):
        return _looked_up(node.body, depth) | _looked_up(node.orelse, depth)
    if isinstance(node, ast.Attribute | ast.Subscript) and depth:
        return _looked_up(node.value, depth - 1)
    return {node.id} if isinstance(node, ast.Name) and not depth else set()
