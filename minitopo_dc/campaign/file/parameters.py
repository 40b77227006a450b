"""The parameters of a campaign's file: `$name` stands for a value, alone or in an expression.

Within an expression the value is written as one: a text gets its quotes. So a file's name, a column
or a number of the command line is never read as anything else than a value.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from minitopo_dc.campaign.file.grammar import SIGN, shown
from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import exists

MARK = "$"
CONSTANTS = {None: "none", True: "true", False: "false"}
"""Constants as expressions have them."""


def changed(parameters: Mapping[str, Any], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the parameters of a file with the values that the command line gives.

    A name of an existing file is relative to the user's directory, not to the campaign's. In place
    of a number in the file, a text that reads as one is a number.

    Raises:
        SettingsError: the file has no parameter of that name.
    """
    values = dict(parameters)
    for name, text in given:
        if name not in values:
            allowed = ", ".join(values) or "none: the file has no parameters"
            raise SettingsError(f"--parameter {name}: unknown; allowed: {allowed}")
        if _is_number(values[name]):
            values[name] = _number(text)
        else:
            values[name] = os.path.realpath(text) if exists(text) else text
    return values


def placed(value: Any, parameters: Mapping[str, Any], numbers: Iterable[str] = ()) -> Any:
    """Return a part of a file with the parameters' values in it.

    Args:
        value: what the file has: a text, a number, a list or a mapping, whose keys stay.
        parameters: the value of each name.
        numbers: the parameters that must be a number where they are part of an expression.

    Raises:
        SettingsError: an expression names no parameter by its `$`, or one that cannot stand there.
    """
    if isinstance(value, dict):
        return {key: placed(item, parameters, numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [placed(item, parameters, numbers) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith(SIGN) and MARK in value:
        return _in_expression(value, parameters, frozenset(numbers))
    return parameters.get(value.removeprefix(MARK), value) if value.startswith(MARK) else value


def numbers_of(parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters whose values are numbers."""
    return [name for name, value in parameters.items() if _is_number(value)]


def _in_expression(text: str, parameters: Mapping[str, Any], numbers: frozenset[str]) -> str:
    # The longest name first: $rate-b is a parameter `rate-b` if there is one, else `rate` minus b.
    known = "|".join(map(re.escape, sorted(parameters, key=len, reverse=True)))
    marked = re.compile(rf"\$(?:({known})(?![A-Za-z0-9_])|([A-Za-z0-9][A-Za-z0-9_-]*))")

    def written(found: re.Match[str]) -> str:
        name = found[1]
        if not name:
            allowed = ", ".join(parameters) or "none: the file has no parameters"
            raise SettingsError(f"{shown(text)}: ${found[2]}: unknown; allowed: {allowed}")
        if name in numbers and not _is_number(parameters[name]):
            value = shown(parameters[name])
            raise SettingsError(f"--parameter {name}: {value}: allowed: a number without a unit")
        return _literal(parameters[name])

    return marked.sub(written, text)


def _literal(value: Any) -> str:
    """Return a value as an expression writes it; a negative number has brackets."""
    if isinstance(value, dict):
        items = (f"{_literal(key)}: {_literal(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if value is None or isinstance(value, bool):
        return CONSTANTS[value]
    return f"({value!r})" if _is_number(value) and value < 0 else repr(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(text: str) -> int | float | str:
    """Return the finite number that a text is, or the text: a field may take one with a unit."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return text
