"""Parameter files from Jinja2 templates: `templates/NAME.topo.j2` and `templates/NAME.xp.j2`.

A template begins with a comment that says what it is for and, behind an empty line, has one
parameter per line: `name=default`, then what it means. So it documents itself, and an unknown
name is found.
Every rendered file has been read by the parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import jinja2

from minitopo_dc.fields import SettingsError
from minitopo_dc.fields.base import text_of
from minitopo_dc.installation import shipped
from minitopo_dc.minitopo.experiment import read_experiment
from minitopo_dc.minitopo.mapping import experiment_types
from minitopo_dc.minitopo.topology import read_topology
from minitopo_dc.scratch import scratch
from minitopo_dc.trace import TraceError, read_trace, resample
from minitopo_dc.units import NS_PER_S

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
    header = _HEADER.match(text_of(path, MAX_BYTES))
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
    environment.globals["rates"] = _rates
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
