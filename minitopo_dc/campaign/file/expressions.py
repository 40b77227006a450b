"""Fields that follow from a cell's factors: a text that begins with `=` is an expression."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2
from jinja2 import meta
from jinja2.sandbox import SandboxedEnvironment

from minitopo_dc.campaign.file.paths import LABEL
from minitopo_dc.errors import MinitopoDcError

SIGN = "="
LONGEST = 2_000
"""Characters of an expression."""
MOST_BITS = 10_000
"""Of a whole number, or items of a list: far more than a field needs."""
DIGITS = 9
"""Significant digits of a result: what the last bits of a sum are is the platform's."""


class ExpressionError(MinitopoDcError, ValueError):
    """An expression is malformed, or names what is not there; the message has both."""


class Evaluation:
    """Works out the expressions of a cell's fields, each once for the same labels.

    Args:
        factors: of the cell; `label.rate` is `rate` in an expression.
        known: what was worked out in the same campaign, to which this one's is added.
    """

    def __init__(self, factors: Mapping[str, Any], known: dict[tuple[str, str], Any]) -> None:
        self._names = labels(factors)
        # As text, in which 1, 1.0 and true differ as they do in expressions.
        self._written = json.dumps(self._names, sort_keys=True, default=repr)
        self._known = known

    def of(self, value: Any) -> Any:
        """A field's value, with the expressions in it worked out.

        Args:
            value: whatever a campaign's file holds; texts that begin with `=` are Jinja2
                expressions.

        Raises:
            ExpressionError: one cannot be worked out.
        """
        if isinstance(value, dict):
            return {key: self.of(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if not isinstance(value, str) or not value.startswith(SIGN):
            return value
        asked = (value, self._written)
        if asked not in self._known:
            self._known[asked] = compute(value, self._names)
        return self._known[asked]


def labels(factors: Mapping[str, Any]) -> dict[str, Any]:
    """The labels among factors, by the names that expressions have for them."""
    return {
        path.removeprefix(LABEL): factor
        for path, factor in factors.items()
        if path.startswith(LABEL)
    }


def compute(text: str, names: Mapping[str, Any]) -> Any:
    """What an expression comes to.

    Args:
        text: the expression, behind its `=`.
        names: what it may use.

    Raises:
        ExpressionError: it cannot be worked out.
    """
    try:
        if len(text) > LONGEST:
            raise ValueError(f"{len(text)} characters; allowed: {LONGEST}")
        return _rounded(_compiled(text.removeprefix(SIGN).strip())(**names))
    except (RecursionError, MemoryError):
        raise ExpressionError(f"{text[:LONGEST]!r}: nested too deeply, or too large") from None
    except Exception as error:  # jinja2's own, and whatever the values' operators raise
        known = ", ".join(names) or "none"
        raise ExpressionError(f"{text[:LONGEST]!r}: {error}; names here: {known}") from None


def names_in(text: str) -> set[str]:
    """The names that an expression uses.

    Raises:
        ExpressionError: it is malformed.
    """
    try:
        parsed = _Sandbox().parse("{{" + text.removeprefix(SIGN) + "}}")
    except jinja2.TemplateError as error:
        raise ExpressionError(f"{text[:LONGEST]!r}: {error}") from None
    return meta.find_undeclared_variables(parsed)


class _Sandbox(SandboxedEnvironment):
    """Jinja2's, without the two operators that can make a value larger than memory."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Refuse a power or a repetition of more than `MOST_BITS`."""
        whole = [each for each in (left, right) if isinstance(each, int)]
        if operator == "**" and len(whole) == 2 and left.bit_length() * abs(right) > MOST_BITS:
            raise ValueError(f"a power of more than {MOST_BITS} bits")
        sized = [each for each in (left, right) if isinstance(each, str | list | tuple)]
        if sized and whole and len(sized[0]) * whole[0] > MOST_BITS:
            raise ValueError(f"a repetition to more than {MOST_BITS} items")
        return super().call_binop(context, operator, left, right)


@cache
def _compiled(text: str) -> Any:
    environment = _Sandbox(undefined=jinja2.StrictUndefined)
    return environment.compile_expression(text, undefined_to_none=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, jinja2.Undefined):
        value._fail_with_undefined_error()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
