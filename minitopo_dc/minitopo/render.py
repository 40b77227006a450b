"""Parameter files from Jinja2 templates: `templates/NAME.topo.j2` and `templates/NAME.xp.j2`.

A template begins with a comment that says what it is for and, behind an empty line, has one
parameter per line: `name=default`, then what it means. So it documents itself, and an unknown
name is found.
Every rendered file has been read by the parser.

The template of a drive (docs/cellular.md) has the capacity of its channels in each second, and the
schedule of a handover rule over them, so that the file is run without the drive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import jinja2

from minitopo_dc.fields import SettingsError
from minitopo_dc.files import UnreadableError, read_text
from minitopo_dc.installation import shipped
from minitopo_dc.link import DelayCurve, curve_delay_ns
from minitopo_dc.minitopo.experiment import read_experiment
from minitopo_dc.minitopo.mapping import experiment_types
from minitopo_dc.minitopo.path_parameters import LONGEST_S, RATE_MBPS
from minitopo_dc.minitopo.topology import read_topology
from minitopo_dc.scenario.change import STEP_S, HandoverSettings
from minitopo_dc.scratch import scratch
from minitopo_dc.trace import TraceError, read_channels, read_trace, resample
from minitopo_dc.trace.handover import HandoverPlan, plan_handovers
from minitopo_dc.units import NS_PER_MS, NS_PER_S

SHIPPED = ("residential", "road")
"""The drives that come with the project."""
MAX_CHANGES = 2400
"""The most changes of all paths together, one a second each: a scenario file of them has 400,000
characters of the 500,000 that it may have."""


def drive_paths(
    drive: str, start: str, seconds: str, curve: str, handover: Mapping[str, str]
) -> dict[str, Any]:
    """Return the paths of a drive, from a moment on; after its end the drive begins anew.

    `rate_mbps` and `delay_ms` are the best channel's mean, which sizes the queues. Each of `paths`
    has `changes` (from `at_s` on), `outages`, and `events`: when (s) its path is opened or changed
    otherwise, at 0 s its initial state. `order` has the paths that are open at first, the best one
    before the others, and then all others.

    Args:
        drive: one of `SHIPPED`, or the file of its channels.
        start: the second of the drive at which the transfer begins.
        seconds: for how long the changes last.
        curve: the kind of the delay's curve.
        handover: the fields of `HandoverSettings`.

    Raises:
        SettingsError, TraceError: a value or the file is wrong; the message says what is allowed.
    """
    kind = next((known for known in get_args(DelayCurve) if known == curve), None)
    if kind is None:
        raise SettingsError(f"curve={curve}; allowed: {', '.join(get_args(DelayCurve))}")
    rule = HandoverSettings.check(dict(handover), "handover")
    file = shipped("traces") / f"drive_{drive}.csv" if drive in SHIPPED else Path(drive)
    try:
        capacities = read_channels(file)
    except OSError as error:
        allowed = f"allowed: {', '.join(SHIPPED)}, or a file"
        raise SettingsError(f"drive={drive}: {error.strerror}; {allowed}") from None
    first = _whole("start", start, 0, int(LONGEST_S))
    count = _whole("seconds", seconds, 1, max(1, MAX_CHANGES // len(capacities.mbps)))
    rows = [[row[(first + s) % len(row)] for s in range(count)] for row in capacities.mbps]
    if not any(map(any, rows)):
        where = f"from {first} to {first + count} s"
        raise SettingsError(f"drive={drive}: no channel has any capacity {where}")
    if rule.case == "sp":
        rows, plan = [[max(step) for step in zip(*rows, strict=True)]], None
    elif rule.case > len(rows):
        what = f"the drive {drive} has {len(rows)} channels"
        raise SettingsError(f"case={rule.case}: {what}; allowed: sp, or 1 to {len(rows)}")
    else:
        plan = plan_handovers(rows, rule.rule(), STEP_S)
    initial = [] if plan is None else [number - 1 for number in plan.initial]
    mean = fmean(max(capacities.at(step)) for step in range(capacities.steps))
    paths = [
        {
            "changes": [*_changes(row, kind)],
            "outages": [*_outages(row)],
            "events": [] if plan is None else [*_events(number, plan)],
        }
        for number, row in enumerate(rows, start=1)
    ]
    return {
        "rate_mbps": round(max(mean, RATE_MBPS[0]), 3),
        "delay_ms": _delay_ms(kind, mean),
        "paths": paths,
        "order": [*initial, *(path for path in range(len(rows)) if path not in initial)],
    }


def _changes(row: Sequence[float], curve: DelayCurve) -> Iterator[dict[str, float]]:
    """Yield the changes of rate and delay; while there is no capacity, both stay as before."""
    before = 0.0
    for second, rate in enumerate(row):
        if rate and rate != before:
            before = rate
            rate_mbps, delay_ms = max(rate, RATE_MBPS[0]), _delay_ms(curve, rate)
            yield {"at_s": second, "rate_mbps": rate_mbps, "delay_ms": delay_ms}


def _outages(row: Sequence[float]) -> Iterator[tuple[int, int]]:
    for absent, group in groupby(range(len(row)), key=lambda second: not row[second]):
        if absent:
            seconds = list(group)
            yield seconds[0], seconds[-1] + 1


def _events(number: int, plan: HandoverPlan) -> Iterator[tuple[float, str]]:
    own = [(event.at_s, event.action) for event in plan.events if event.channel == number]
    if number in plan.initial:
        yield 0, "open"
    elif not own:
        yield 0, "abandon"
    yield from own


def _delay_ms(curve: DelayCurve, rate_mbps: float) -> float:
    return curve_delay_ns(curve, round(rate_mbps * 1e6)) / NS_PER_MS


def _whole(name: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise SettingsError(f"{name}={text}; allowed: whole s, {least} to {most}")
    return int(text)


DIRECTORY = shipped("templates")
SUFFIX = ".j2"
TOPOLOGY = ".topo"
OWN = (f"{TOPOLOGY}{SUFFIX}", f".xp{SUFFIX}")
"""How the name of a template ends, which tells what it makes."""
MAX_BYTES = 1 << 20
"""A template has some kB."""
MOST = 250
"""The most paths, or flows of a kind."""
MIN_MBPS = 0.001
"""The rate in place of a trace's zero, as a link's rate cannot be 0: one packet takes 12 s."""
_HEADER = re.compile(r"\{#\n(?P<about>.*?)\n\n(?P<parameters>.*?)\n#\}\n", re.DOTALL)
_PARAMETER = re.compile(r"(?P<name>\w+)=(?P<default>\S*)\s+(?P<about>.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Template:
    """A template, as its header describes it."""

    name: str
    about: str
    parameters: tuple[Mapping[str, str], ...]
    """Each one's `name`, `default` and `about`."""


def templates() -> list[Template]:
    """Return all templates in the order of their names."""
    return [
        _describe(path)
        for path in sorted(DIRECTORY.glob(f"*{SUFFIX}"))
        if not path.name.startswith("_")
    ]


def render(name: str, given: Iterable[str]) -> str:
    """Return the text of a parameter file that a template makes.

    Args:
        name: a template's name, for instance `two-path-dc.topo`, or the path of a file of your
            own, which ends in `.topo.j2` or `.xp.j2`.
        given: values of parameters, `key=value` each.

    Raises:
        SettingsError: there is no such template or parameter, or the file would be wrong: the
            message says what is allowed.
    """
    path = _path(name)
    values = _values(_describe(path), given)
    try:
        text = _environment(path.parent).get_template(path.name).render(values)
    except TraceError as error:
        raise SettingsError(str(error)) from None
    except jinja2.TemplateError as error:
        raise SettingsError(f"template {name}: {error}") from None
    _check(path.name.removesuffix(SUFFIX), text)
    return text


def _path(name: str) -> Path:
    if name.endswith(SUFFIX):
        if not name.endswith(OWN):
            raise SettingsError(f"template {name}: a template's name ends in {' or '.join(OWN)}")
        return Path(name)
    known = [template.name for template in templates()]
    if name not in known:
        raise SettingsError(
            f"no template {name!r}; known: {', '.join(known)}; "
            f"or the path of a file of your own, which ends in {' or '.join(OWN)}"
        )
    return DIRECTORY / f"{name}{SUFFIX}"


def _describe(path: Path) -> Template:
    try:
        header = _HEADER.match(read_text(path, MAX_BYTES))
    except (UnreadableError, OSError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(f"{path}: {why}") from None
    if header is None:
        raise SettingsError(
            f"{path}: a template begins with a comment: a line {{#, what it is for, an empty line, "
            "a line for each parameter, a line #} (docs/minitopo.md)"
        )
    matches = map(_PARAMETER.fullmatch, header["parameters"].splitlines())
    parameters = tuple(match.groupdict() for match in matches if match)
    return Template(path.name.removesuffix(SUFFIX), header["about"], parameters)


def _values(template: Template, given: Iterable[str]) -> Mapping[str, str]:
    values = {one["name"]: one["default"] for one in template.parameters}
    for assignment in given:
        key, equals, value = assignment.partition("=")
        if not equals or not value.isprintable():
            raise SettingsError(f"{assignment!r}: write key=value")
        if key not in values:
            raise SettingsError(f"template {template.name}: no {key!r}; known: {', '.join(values)}")
        values[key] = value
    return values


def _environment(own: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([own, DIRECTORY]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"each": _value_per_path, "count": _count, "decimal": _decimal}
    environment.globals |= {"rates": _rates, "drive_paths": drive_paths}
    return environment


def _value_per_path(values: str, paths: int, path: int) -> str:
    given = values.split(",")
    if len(given) not in (1, paths):
        raise SettingsError(f"{values}: {len(given)} values for {paths} paths; give 1 or {paths}")
    return given[path if len(given) > 1 else 0]


def _count(value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", value, re.ASCII) or int(value) > MOST:
        raise SettingsError(f"{value!r} is no number of paths or flows; allowed: 0 to {MOST}")
    return int(value)


def _rates(file: str, step: str) -> list[tuple[str, str]]:
    """Return when (s) a trace has another rate (Mbit/s), in steps; the last one holds."""
    try:
        seconds = float(step)
        trace = resample(read_trace(Path(file)), round(seconds * NS_PER_S))
    except OSError as error:
        raise SettingsError(f"trace {file}: {error.strerror}") from None
    except (TraceError, ValueError, OverflowError) as error:
        raise SettingsError(f"trace {file}, step {step}: {error}") from None
    changes: list[tuple[str, str]] = []
    for time_ns, rate_bps in zip(trace.times_ns, trace.rates_bps, strict=True):
        rate = _decimal(max(MIN_MBPS, rate_bps / 1e6))
        if not changes or rate != changes[-1][1]:
            changes.append((f"{time_ns / NS_PER_S:.9f}".rstrip("0").rstrip("."), rate))
    return changes


def _decimal(value: float) -> str:
    """Return a number with at most 6 decimals: bit/s of Mbit/s, ns of ms."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _check(name: str, text: str) -> None:
    with scratch() as directory:
        path = directory / name
        path.write_text(text, encoding="utf-8")
        try:
            if name.endswith(TOPOLOGY):
                read_topology(path)
            else:
                read_experiment(path, experiment_types())
        except SettingsError as error:
            words = str(error).replace(f"{path}:", "line ").replace(str(path), "the file")
            raise SettingsError(f"template {name}: {words}") from None
