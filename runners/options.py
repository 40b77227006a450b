"""A runner's own options: a frozen dataclass of each runner says what there is."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class OptionError(ValueError):
    """An option of a runner is unknown or has a value that is not allowed."""


@dataclasses.dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a runner that has none."""


def parse_options(kind: type[T], given: Mapping[str, Any], runner: str) -> T:
    """Make a runner's options from a mapping, its names and types checked.

    A field of type int takes positive numbers only: all of them are sizes.

    Raises:
        OptionError: naming the runner, the option and what is allowed.
    """
    allowed = get_type_hints(kind)
    for name, value in given.items():
        if name not in allowed:
            known = ", ".join(sorted(allowed)) or "none"
            raise OptionError(f"runner {runner}: no option {name!r} (known: {known})")
        if not _fits(value, allowed[name]):
            wanted = _describe(allowed[name])
            raise OptionError(f"runner {runner}: option {name} must be {wanted}, not {value!r}")
    return kind(**given)


def _fits(value: Any, wanted: Any) -> bool:
    if get_origin(wanted) in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in get_args(wanted))
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if wanted is int:
        return type(value) is int and value > 0
    return type(value) is wanted


def _describe(wanted: Any) -> str:
    if get_origin(wanted) in (Union, types.UnionType):
        return " or ".join(_describe(choice) for choice in get_args(wanted))
    if get_origin(wanted) is Literal:
        return " or ".join(repr(choice) for choice in get_args(wanted))
    return {int: "a positive integer", bool: "true or false", type(None): "null"}[wanted]
