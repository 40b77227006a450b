"""A runner's own options: a frozen dataclass of each runner says what there is."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Hashable, Mapping
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import TypeAdapter, ValidationError

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.settings.ranges import Allowed

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class AtMost:
    """Metadata of `Annotated[int, AtMost(N)]`: the greatest value of an option."""

    value: int


MOST = 2**62 - 1
"""Of every size: what QUIC can write (RFC 9000, section 16)."""
SocketBuffer = Annotated[int, AtMost(2**30 - 1)]
"""Bytes; the kernel doubles it, in a C int (socket(7), SO_RCVBUF)."""


class OptionError(MinitopoDcError, ValueError):
    """An option of a runner is unknown or has a value that is not allowed."""


@dataclasses.dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a runner that has none."""


def parse_options(kind: type[T], given: Mapping[str, Any], runner: str) -> T:
    """Make a runner's options from a mapping, its names and types checked.

    A field of type int takes positive numbers only, up to `MOST` or its own `AtMost`: all of them
    are sizes. Other numbers have a range of `settings.ranges`.

    Raises:
        OptionError: naming the runner, the option and what is allowed.
    """
    allowed = _options_of(cast("Hashable", kind))
    for name, value in given.items():
        if name not in allowed:
            known = ", ".join(sorted(allowed)) or "none"
            raise OptionError(f"runner {runner}: no option {name!r:.80} (known: {known})")
        if not _fits(value, allowed[name]):
            wanted = _describe(allowed[name])
            shown = f"{value!r:.80}"
            raise OptionError(f"runner {runner}: option {name} must be {wanted}, not {shown}")
    return kind(**given)


@cache
def _options_of(kind: Hashable) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _fits(value: Any, wanted: Any) -> bool:
    if get_origin(wanted) in (Union, types.UnionType):
        return any(_fits(value, choice) for choice in get_args(wanted))
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if _range(wanted) is not None:
        return _is_number(value) and _is_within(value, wanted)
    if get_origin(wanted) is Annotated or wanted is int:
        return type(value) is int and 0 < value <= _most(wanted)
    return type(value) is wanted


def _range(wanted: Any) -> str | None:
    """The range of a number in words, if it is one of `settings.ranges`."""
    metadata = getattr(wanted, "__metadata__", ())
    return next((each.words for each in metadata if isinstance(each, Allowed)), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within(value: float, wanted: Any) -> bool:
    try:
        _adapter(wanted).validate_python(value, strict=True)
    except ValidationError:
        return False
    return math.isfinite(value)


@cache
def _adapter(wanted: Any) -> TypeAdapter[Any]:
    return TypeAdapter(wanted)


def _most(wanted: Any) -> int:
    """The limit of an int, which may be annotated with one."""
    limits = (each.value for each in getattr(wanted, "__metadata__", ()))
    return next(limits, MOST)


def _describe(wanted: Any) -> str:
    if get_origin(wanted) in (Union, types.UnionType):
        return " or ".join(_describe(choice) for choice in get_args(wanted))
    if get_origin(wanted) is Literal:
        return " or ".join(repr(choice) for choice in get_args(wanted))
    if (words := _range(wanted)) is not None:
        whole = "a whole number" if wanted.__origin__ is int else "a number"
        return f"{whole} ({words})"
    if get_origin(wanted) is Annotated or wanted is int:
        return f"a positive integer up to {_most(wanted)}"
    return {bool: "true or false", type(None): "null"}[wanted]
