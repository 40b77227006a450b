"""Numbers in what programs wrote: by a regular expression, or by a path into JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.workloads import Measure

SHOWN = 60
"""Characters of a value that is no number, in an error."""


def read_measures(measures: Mapping[str, Measure], directory: Path) -> dict[str, float]:
    """Read the measures of a run from the files in its directory.

    Raises:
        TransferFailed: naming the first one that is not there or is no number, and why.
    """
    found = {}
    for name, measure in measures.items():
        try:
            found[name] = measure.scale * _number(_value(measure, directory / measure.file))
        except ValueError as error:
            raise TransferFailed(f"measure {name}: {measure.file}: {error}") from None
    return found


def value_at(document: Any, path: str) -> Any:
    """Return what a path leads to: keys of objects and indexes of lists, with dots between.

    Raises:
        ValueError: it leads nowhere; the text says where it ends, and what is there.
    """
    passed: list[str] = []
    for part in path.split("."):
        try:
            document = document[int(part) if isinstance(document, list) else part]
        except (KeyError, IndexError, ValueError, TypeError):
            place = f"in {'.'.join(passed)}" if passed else "at the top"
            raise ValueError(
                f"json_path {path}: no {part} {place} ({_found_text(document)})"
            ) from None
        passed.append(part)
    return document


def _value(measure: Measure, file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ValueError(str(error.strerror)) from None
    if measure.json_path is not None:
        return value_at(_document(text), measure.json_path)
    assert measure.regex is not None
    matches = list(re.finditer(measure.regex, text, re.MULTILINE))
    if not matches:
        raise ValueError(f"no match of regex {measure.regex}")
    try:
        return float(matches[-1][1])
    except (TypeError, ValueError):  # the group may have matched nothing
        return matches[-1][1]


def _document(text: str) -> Any:
    """Return the JSON of the whole text or, where that is none, of its last line."""
    lines = text.strip().splitlines()
    for candidate in (text, lines[-1] if lines else ""):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    raise ValueError("neither the whole nor its last line is JSON")


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value):
        raise ValueError(f"{str(value)[:SHOWN]!r} is no number")
    return float(value)


def _found_text(document: Any) -> str:
    if isinstance(document, dict):
        return f"there: {', '.join(map(str, document))}"[:200]
    if isinstance(document, list):
        return f"a list of {len(document)}"
    return f"there: {str(document)[:SHOWN]!r}"
