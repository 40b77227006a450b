"""Expressions: a text of a campaign's file that begins with `=` follows from other values.

Their language is that of `minitopo_dc.campaign.file.grammar` and docs/campaign-file.md. It has
numbers, texts, lists, dictionaries, columns (a number for each point) and values by name. It calls
`FUNCTIONS` and no methods, and a dot looks up a key: no attribute of an object is ever read, so
that an expression of somebody else's can do nothing but compute, and not for long.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.campaign.file.grammar import (
    ARITHMETIC,
    COMPARISONS,
    MEMBERSHIP,
    ORDER,
    SIGN,
    ExpressionError,
    parsed,
    shown,
)
from minitopo_dc.campaign.file.values import (
    FUNCTIONS,
    MAX_BITS,
    Functions,
    Keys,
    check_size,
    kind,
    plain,
)
from minitopo_dc.scenario.field_paths import LABEL

MAX_NUMBERS = 100_000
"""The most numbers of columns that an expression may read: 10 steps over 10,000 points. A claim is
worked out a thousand times for its interval."""
DIGITS = 9
"""Significant digits of a result: the last bits of a sum depend on the platform."""
LITERALS = {"true": True, "false": False, "none": None}
"""Constants as YAML writes them, besides Python's own."""


class Evaluation:
    """The evaluation of expressions in a cell's fields, each once for the same labels.

    Args:
        factors: the cell's factors; `label.rate` is `rate` in an expression.
        known: what was worked out in the same campaign before; new results are added.
    """

    def __init__(self, factors: Mapping[str, Any], known: dict[tuple[str, str], Any]) -> None:
        self._names = labels(factors)
        # The key is text, in which 1, 1.0 and true differ as they do in expressions.
        self._written = json.dumps(self._names, sort_keys=True, default=repr)
        self._known = known

    def of(self, value: Any) -> Any:
        """Return a field's value with the expressions in it worked out.

        Args:
            value: a value of a campaign's file; texts that begin with `=` are expressions.

        Raises:
            ExpressionError: an expression cannot be worked out.
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
    """Return the labels among factors, by the names that expressions have for them."""
    return {
        path.removeprefix(LABEL): factor
        for path, factor in factors.items()
        if path.startswith(LABEL)
    }


def compute(text: str, names: Mapping[str, Any]) -> Any:
    """Return the value of an expression: a number, text, truth value, none, list or dictionary.

    Args:
        text: the expression, without its `=`.
        names: the values that it may use, besides `FUNCTIONS`.

    Raises:
        ExpressionError: it cannot be worked out.
    """
    return _computed(text, _Reader(names, FUNCTIONS, infinite=False))


def compute_number(text: str, names: Mapping[str, Any], more: Functions | None = None) -> float:
    """Return the number that an expression comes to; a division by 0 gives infinity, or NaN.

    Args:
        text: the expression, without its `=`.
        names: the values that it may use; arrays are columns.
        more: functions besides `FUNCTIONS`.

    Raises:
        ExpressionError: it cannot be worked out, or comes to something else.
    """
    functions = FUNCTIONS if more is None else {**FUNCTIONS, **more}
    found = _computed(text, _Reader(names, functions, infinite=True))
    if not isinstance(found, int | float):
        raise ExpressionError(f"{shown(text)}: comes to {kind(found)}; a number is wanted")
    return float(found)


def names_in(text: str) -> set[str]:
    """Return the names of values that an expression uses.

    Raises:
        ExpressionError: it is malformed.
    """
    nodes = list(ast.walk(parsed(text)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}


def calls_in(text: str) -> set[str]:
    """Return the names of the functions that an expression calls.

    Raises:
        ExpressionError: it is malformed.
    """
    called = (node.func for node in ast.walk(parsed(text)) if isinstance(node, ast.Call))
    return {each.id for each in called if isinstance(each, ast.Name)}


def outermost_call(text: str) -> str:
    """Return the name of the outermost function of an expression; empty when there is none.

    Raises:
        ExpressionError: it is malformed.
    """
    node = parsed(text)
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if named else ""  # type: ignore[attr-defined]


def _computed(text: str, reader: _Reader) -> Any:
    try:
        with np.errstate(all="ignore"):
            value = reader.value_of(parsed(text))
        if isinstance(value, np.ndarray | Keys):
            raise TypeError(f"comes to {kind(value)}; one value is wanted")
        return _rounded(value)
    except (ExpressionError, ResultError):  # a run's file is no mistake of the expression
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ExpressionError(f"{shown(text)}: {error}") from None


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


class _Reader:
    """An evaluator of syntax trees.

    Args:
        names: values by name.
        functions: functions by name.
        infinite: a division by 0 gives infinity (or NaN) instead of an error.
    """

    def __init__(self, names: Mapping[str, Any], functions: Functions, *, infinite: bool) -> None:
        self._names = names
        self._functions = functions
        self._infinite = infinite
        self._numbers = 0

    def value_of(self, node: ast.expr) -> Any:
        """Return the value of a part of the tree.

        Raises:
            ArithmeticError, LookupError, TypeError, ValueError: it has none.
        """
        value = _WORK[type(node)](self, node)
        if isinstance(value, np.ndarray):
            self._numbers += value.size
            if self._numbers > MAX_NUMBERS:
                raise ValueError(f"more than {MAX_NUMBERS} numbers of columns to be read")
        else:
            check_size(value)
        return value

    def constant(self, node: ast.Constant) -> Any:
        """Return a constant: `1`, `'a'`."""
        return node.value

    def name(self, node: ast.Name) -> Any:
        """Return the value of a name: `rate`."""
        if node.id in LITERALS:
            return LITERALS[node.id]
        if node.id not in self._names:
            known = ", ".join(self._names) or "none"
            raise LookupError(f"{node.id!r} is undefined; names here: {known}")
        return self._names[node.id]

    def items(self, node: ast.List | ast.Tuple) -> list[Any]:
        """Return the items of a list: `[a, b]`."""
        return [plain(self.value_of(item)) for item in node.elts]

    def dictionary(self, node: ast.Dict) -> dict[Any, Any]:
        """Return the value of a dictionary: `{'a': b}`."""
        pairs = zip(node.keys, node.values, strict=True)
        return {
            plain(self.value_of(key)): plain(self.value_of(value))
            for key, value in pairs
            if key is not None
        }

    def dot(self, node: ast.Attribute) -> Any:
        """Return the value of `a.key`, the same as `a['key']`."""
        return _looked_up(self.value_of(node.value), node.attr)

    def index(self, node: ast.Subscript) -> Any:
        """Return the value of a look-up: `a[key]`."""
        return _looked_up(self.value_of(node.value), plain(self.value_of(node.slice)))

    def arithmetic(self, node: ast.BinOp) -> Any:
        """Return the result of an arithmetic operation: `a + b`."""
        symbol, operation = ARITHMETIC[type(node.op)]
        left, right = self.value_of(node.left), self.value_of(node.right)
        if symbol == "+" and isinstance(left, str) and isinstance(right, str):
            return left + right
        _check_numbers(symbol, left, right)
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            return operation(_floating(left), _floating(right))
        if symbol == "**":
            _check_power(left, right)
        return self._of_numbers(operation, left, right)

    def _of_numbers(self, operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        try:
            found = operation(left, right)
        except (ZeroDivisionError, OverflowError) as error:
            if self._infinite:
                return float(operation(np.float64(left), np.float64(right)))
            known = isinstance(error, ZeroDivisionError)
            raise ValueError("a division by zero" if known else "too large a number") from None
        if isinstance(found, complex):
            if not self._infinite:
                raise ValueError("a root of a number below 0")
            return math.nan
        return found

    def sign(self, node: ast.UnaryOp) -> Any:
        """Return the value of a negation: `-a`, `not a`."""
        value = self.value_of(node.operand)
        if isinstance(node.op, ast.Not):
            return not _truth(value)
        _check_numbers("-", value)
        return -value if isinstance(node.op, ast.USub) else +value

    def boolean_operation(self, node: ast.BoolOp) -> Any:
        """Return the last value that had to be looked at in `a and b` or `a or b`."""
        value: Any = None
        for part in node.values:
            value = self.value_of(part)
            if _truth(value) == isinstance(node.op, ast.Or):
                break
        return value

    def comparison(self, node: ast.Compare) -> Any:
        """Return the result of a comparison: `a < b`, `a < b < c`."""
        left, found = self.value_of(node.left), None
        for compare, part in zip(node.ops, node.comparators, strict=True):
            if found is not None and not _truth(found):
                break
            right = self.value_of(part)
            found = _compared(type(compare), left, right)
            left = right
        return found

    def choice(self, node: ast.IfExp) -> Any:
        """Return the chosen value of `a if b else c`."""
        chosen = node.body if _truth(self.value_of(node.test)) else node.orelse
        return self.value_of(chosen)

    def call(self, node: ast.Call) -> Any:
        """Return what a function gives: `mean(a)`."""
        assert isinstance(node.func, ast.Name)
        function = self._functions.get(node.func.id)
        if function is None:
            known = ", ".join(self._functions)
            raise LookupError(f"{node.func.id!r} is no function; functions here: {known}")
        values = [self.value_of(part) for part in node.args]
        try:
            _signature(function).bind(*values)
            return function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise ValueError(f"{node.func.id}: {error}") from None


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


_WORK: Mapping[type, Callable[[_Reader, Any], Any]] = {
    ast.Constant: _Reader.constant,
    ast.Name: _Reader.name,
    ast.List: _Reader.items,
    ast.Tuple: _Reader.items,
    ast.Dict: _Reader.dictionary,
    ast.Attribute: _Reader.dot,
    ast.Subscript: _Reader.index,
    ast.BinOp: _Reader.arithmetic,
    ast.UnaryOp: _Reader.sign,
    ast.BoolOp: _Reader.boolean_operation,
    ast.Compare: _Reader.comparison,
    ast.IfExp: _Reader.choice,
    ast.Call: _Reader.call,
}


def _check_power(left: Any, right: Any) -> None:
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and left.bit_length() * right > MAX_BITS:
        raise ValueError(f"a whole number of more than {MAX_BITS} bits")


def _check_numbers(symbol: str, *values: Any) -> None:
    for value in values:
        if not isinstance(value, int | float | np.ndarray):
            raise TypeError(f"{symbol}: a number is wanted, not {kind(value)}")


def _floating(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else float(value)


def _truth(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        raise TypeError("a column is neither true nor false; multiply: (a > 1) * (b > 1)")
    return bool(plain(value))


def _looked_up(value: Any, key: Any) -> Any:
    if isinstance(value, Keys):
        return value.look_up(key)
    if isinstance(value, dict):
        if key not in value:
            raise LookupError(f"no {shown(key)} in {shown(list(value))}")
        return value[key]
    if isinstance(value, list | tuple) and type(key) is int:
        return value[key]
    raise LookupError(f"{kind(value)} has no {shown(key)}")


def _compared(how: type, left: Any, right: Any) -> Any:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if how in MEMBERSHIP:
            raise TypeError("in: a list is wanted, and a column is none")
        _check_numbers("comparison", left, right)
        return COMPARISONS[how](_floating(left), _floating(right)).astype(float)
    texts = isinstance(plain(left), str) and isinstance(plain(right), str)
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    if how in ORDER and not texts and not numbers:
        raise TypeError(f"{kind(left)} and {kind(right)} have no order")
    if how in MEMBERSHIP and not texts and not isinstance(right, list | tuple | dict):
        raise TypeError(f"in: a list is wanted, not {kind(right)}")
    return COMPARISONS[how](left, right)
