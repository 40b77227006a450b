#!/usr/bin/env python3
"""Write the tables of the reference pages from the models: fields, columns and keys.

A table stands below a mark, `<!-- table: NAME -->`, in a page of `docs/`. Names, defaults and
ranges are the code's. What a name means is its docstring's first sentence, or what
`scripts/reference.toml` says.
`python scripts/reference.py` writes the pages; a test fails where one is stale.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
import tomllib
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from minitopo_dc import (
    Command,
    Download,
    Ping,
    Realtime,
    RequestResponse,
    Scenario,
    Video,
)
from minitopo_dc.link.any_leg import LegStatistics
from minitopo_dc.link.cell import CellStatistics
from minitopo_dc.link.rlc.parameters import RlcStatistics
from minitopo_dc.link.wifi.parameters import WifiStatistics
from minitopo_dc.minitopo import experiment, topology
from minitopo_dc.minitopo.path_parameters import PATH_AT
from minitopo_dc.pdcp.statistics import (
    HoldingStatistics,
    ReceiveStatistics,
    TransmitStatistics,
    WaitingTime,
)
from minitopo_dc.results.measures.recovery import COLUMNS as HANDOVERS
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.tcp.info import FIELDS as TCP_INFO
from minitopo_dc.scenario.carriers import LteCarrier, NrCarrier
from minitopo_dc.workloads import Both, UnderLoad, Upload
from minitopo_dc.workloads.call import frame_rows
from minitopo_dc.workloads.path_reports import COLUMNS as PATHS
from minitopo_dc.workloads.request_response import request_rows
from minitopo_dc.workloads.video import segment_rows

REPOSITORY = Path(__file__).resolve().parent.parent
DOCS = REPOSITORY / "docs"
PAGES = ("scenarios.md", "carriers.md", "data-model.md", "minitopo-keys.md")
WORDS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
SETTINGS = WORDS.pop("tables")
"""Tables of settings by name, with their paths in a scenario."""
MARK = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?:\|.*\n)*")
SENTENCE = re.compile(r"(.*?[.;])(?=\s|$)", re.DOTALL)
A_PAGE = re.compile(r"\(?docs/([\w-]+)\.md\)?")
WIDE = re.compile(r"\d,\d{3},\d{3}|86,400|31,536,000")
"""In a range that nobody reaches; the error of a number beyond it has the range."""
PER_LEG = ("pdus", "bytes", "failures", "failed_ns", "probes")


class ReferenceError(Exception):
    """A name of the code that has no words, or words without a name."""


# ---- fields of settings


@cache
def docstrings(model: type) -> dict[str, str]:
    """Return the texts below a class's attributes, its bases' first."""
    texts: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base.__module__.startswith("minitopo_dc"):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
            for attribute, text in pairwise(body):
                if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr):
                    texts[attribute.target.id] = " ".join(ast.literal_eval(text.value).split())  # type: ignore[union-attr]
    return texts


def model_at(path: str) -> type[BaseModel]:
    """Return the settings at a path of a scenario, e.g. `legs.downlink.rlc`."""
    model: type[BaseModel] = Scenario
    for name in filter(None, path.split(".")):
        model = next(iter(models_in(model.model_fields[name].annotation)))
    return model


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the settings that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models_in(part)


def field_table(model: type[BaseModel], table: str) -> list[str]:
    """Return the rows of a model's fields: name, values with the default, meaning."""
    rows = ["| field | values (default) | meaning |", "| --- | --- | --- |"]
    shown = {name: field for name, field in model.model_fields.items() if not field.exclude}
    texts = {name: words(table, name, docstrings(model).get(name)) for name in shown}
    for text, group in groupby(shown, lambda name: texts[name]):
        names = list(group)
        given = (" ".join(filter(None, (values(shown[n]), default(shown[n])))) for n in names)
        rows.append(f"| {code(names)} | {'; '.join(filter(None, dict.fromkeys(given)))} | {text} |")
    return rows


def code(names: Iterable[str]) -> str:
    """Return names as code in text."""
    return ", ".join(f"`{name}`" for name in names)


def default(field: FieldInfo) -> str:
    """Return a field's default in parentheses as a file has it; nothing for none."""
    if field.is_required():
        return "(required)"
    value = field.default
    if value is PydanticUndefined or isinstance(value, BaseModel) or value in (None, (), {}, ""):
        return ""
    if isinstance(value, bool | tuple):
        return f"({json.dumps(value)})"
    return f"({value:g})" if isinstance(value, float) and value < 1e6 else f"({value})"


def values(field: FieldInfo) -> str:
    """Return the words or the range that a field takes."""
    parts = (field.annotation,) if field.description else (field.metadata, field.annotation)
    allowed = [field.description] if field.description else []
    allowed += [text for part in parts for text in limits(part)]
    shown = "; ".join(text for text in dict.fromkeys(allowed) if not WIDE.search(text))
    return shown.replace("; to ", " to ").replace("; below", ", below")


def limits(part: Any) -> Iterator[str]:
    """Yield what metadata or an annotation allow, in words."""
    if isinstance(part, list):
        for item in part:
            yield from limits(item)
    elif typing.get_origin(part) is Literal:
        yield ", ".join(f"`{value}`" for value in typing.get_args(part) if value is not None)
    elif typing.get_origin(part) is not None and typing.get_origin(part) not in (tuple, dict):
        for item in (*typing.get_args(part), *getattr(part, "__metadata__", ())):
            yield from limits(item)
    elif description := getattr(part, "description", None):
        yield description
    elif not isinstance(part, type):
        bounds = [f"{sign} {getattr(part, name):g}" for name, sign in BOUNDS if hasattr(part, name)]
        yield from bounds


BOUNDS = (("gt", "above"), ("ge", "from"), ("lt", "below"), ("le", "to"))


# ---- columns of results


def counters(statistics: type[Any], beyond: type[Any] | None = None) -> Iterator[str]:
    """Yield the columns of a statistics dataclass, but for those of another."""
    known = {field.name for field in fields(beyond)} if beyond else set()
    for field in fields(statistics):
        if field.name in known:
            continue
        if "WaitingTime" in str(field.type):
            for part in fields(WaitingTime):
                yield f"waiting_{part.name}{'_N' if part.name == 'histogram' else ''}"
        else:
            yield field.name + "_LEG" * (field.name in PER_LEG)


def segments() -> Iterable[str]:
    """Return the columns of a video's segments."""
    player = Video().player()
    player.next(0)
    return segment_rows(player, 0)[0]


def echoes() -> Iterable[str]:
    """Return the columns of a ping's echoes."""
    assert Ping.figure is not None
    return sorted({Ping.figure.x, Ping.figure.y, *Ping.figure.lines})


def results() -> Iterable[str]:
    """Return the fields of a run's result."""
    return [field.name for field in fields(RunResult)]


def column_table(table: str, names: Iterable[str]) -> list[str]:
    """Return the rows of columns; neighbours of the same words share one."""
    rows = ["| column | meaning |", "| --- | --- |"]
    for text, group in groupby(names, lambda name: words(table, name, None)):
        rows.append(f"| {code(group)} | {text} |")
    return rows


# ---- keys of Minitopo's files


def topology_keys() -> Iterable[str]:
    """Return the keys of a topology file."""
    prefixes = (topology.PATH, topology.NETEM_AT, *topology.DETAILS, PATH_AT)
    return (*topology.READERS, *(f"{prefix}<type>_<id>" for prefix in prefixes))


def experiment_keys() -> Iterable[str]:
    """Return the keys of an experiment file that have an effect here."""
    names = [name for name in experiment.READERS if name not in experiment.IGNORED]
    names.insert(names.index(experiment.PATHS) + 1, experiment.FLOW)
    return names


# ---- tables and pages


def words(table: str, name: str, docstring: str | None) -> str:
    """Return what a name means: the file's words for it, or its docstring's first sentence.

    Raises:
        ReferenceError: there are neither.
    """
    for names, text in {**WORDS.get("every", {}), **WORDS.get(table, {})}.items():
        if name in names.split():
            return text
    if docstring is None:
        raise ReferenceError(f"scripts/reference.toml: [{table}] has no words for {name}")
    first = SENTENCE.match(docstring)
    text = (first.group(1) if first else docstring).rstrip(".;")
    return A_PAGE.sub(r"[\1](\1.md)", text).replace("|", r"\|")


WORKLOADS: dict[str, type[BaseModel]] = {
    "download": Download,
    "upload": Upload,
    "both": Both,
    "request-response": RequestResponse,
    "under-load": UnderLoad,
    "ping": Ping,
    "video": Video,
    "realtime": Realtime,
    "command": Command,
    "measure": next(iter(models_in(Command.model_fields["measures"].annotation))),
}
COLUMNS: dict[str, Callable[[], Iterable[str]]] = {
    "results": results,
    "client-rate": lambda: ("time_s", "received_bytes"),
    "legs": lambda: ("time_s", "direction", "leg", *counters(LegStatistics)),
    "legs-rlc": lambda: counters(RlcStatistics, LegStatistics),
    "legs-wifi": lambda: counters(WifiStatistics, LegStatistics),
    "cells": lambda: ("time_s", "cell", *(f"{name}_USER" for name in counters(CellStatistics))),
    "transmit": lambda: ("time_s", "direction", "bearer", *counters(TransmitStatistics)),
    "transmit-holding": lambda: counters(HoldingStatistics, TransmitStatistics),
    "receive": lambda: ("time_s", "direction", "bearer", *counters(ReceiveStatistics)),
    "paths-series": lambda: PATHS,
    "connections": lambda: WORDS["connections"],
    "tcp-info": lambda: ("time_s", "flow", *TCP_INFO),
    "packets": lambda: WORDS["packets"],
    "handovers": lambda: HANDOVERS,
    "requests-series": lambda: ("flow", *request_rows([(0.0, 1.0)])[0]),
    "video-series": lambda: ("flow", *segments()),
    "realtime-series": lambda: (
        "flow",
        *frame_rows(Realtime(duration_s=1).plan, 0, {}, 0, up=False)[0],
    ),
    "ping-series": lambda: ("flow", *echoes()),
    "topology-keys": topology_keys,
    "experiment-keys": experiment_keys,
}


CARRIERS: dict[str, type[BaseModel]] = {"carrier-nr": NrCarrier, "carrier-lte": LteCarrier}
TABLES = (*SETTINGS, *CARRIERS, *(f"workload-{name}" for name in WORKLOADS), *COLUMNS)


def table(name: str) -> list[str]:
    """Return the rows of a table of the pages."""
    if name in SETTINGS:
        return field_table(model_at(SETTINGS[name]), name)
    if name in CARRIERS:
        return field_table(CARRIERS[name], name)
    if name in COLUMNS:
        return column_table(name, COLUMNS[name]())
    workload = name.removeprefix("workload-")
    return field_table(WORKLOADS[workload], workload)


def written(page: Path) -> str:
    """Return a page with its tables made anew."""
    return MARK.sub(
        lambda mark: "\n".join([f"<!-- table: {mark['name']} -->", *table(mark["name"]), ""]),
        page.read_text(encoding="utf-8"),
    )


def stale() -> list[str]:
    """Return the pages whose tables are not those of the models."""
    return [name for name in PAGES if written(DOCS / name) != (DOCS / name).read_text("utf-8")]


def main() -> int:
    """Write the pages that are stale."""
    for name in stale():
        text = written(DOCS / name)
        (DOCS / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"docs/{name}: written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
