"""The grammar of expressions: a small part of Python's, read by Python's parser.

Everything else of Python is refused here, by name and with what to write instead: there are no
loops, so that each part is worked out once at most, and nothing makes or names anything. This
module evaluates nothing.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from minitopo_dc.errors import MinitopoDcError

SIGN = "="
LONGEST = 2_000
"""The most characters of an expression."""
MAX_STEPS = 500
"""The most names, values, operators and calls of an expression."""
DEEPEST = 100
"""The deepest nesting of parts, far from the limit of Python's own stack."""
SHOWN = 200
"""The most characters of an expression, or of a value, in a message."""


class ExpressionError(MinitopoDcError, ValueError):
    """An expression that is malformed, too large, or has an unknown name; the message quotes it."""


def shown(value: Any) -> str:
    """Return a value as one short line."""
    written = repr(value)
    return written if len(written) <= SHOWN else f"{written[:SHOWN]}..."


ARITHMETIC: Mapping[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
}
EQUALITY: Mapping[type, Callable[[Any, Any], Any]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne}
ORDER: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
MEMBERSHIP: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.In: lambda item, values: item in values,
    ast.NotIn: lambda item, values: item not in values,
}
COMPARISONS = {**EQUALITY, **ORDER, **MEMBERSHIP}
PARTS = (
    *(ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.Attribute, ast.Subscript),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call),
)
GRAMMAR = (*ARITHMETIC, *COMPARISONS, ast.UAdd, ast.USub, ast.Not, ast.And, ast.Or, ast.Load)
REPLACEMENTS: Mapping[type, str] = {
    ast.BitOr: "filters are functions: round(a) in place of a|round, max(a, b) of [a, b]|max",
    ast.BitAnd: "write `and` in place of &, or multiply conditions of columns",
    ast.Invert: "write `not a` in place of ~a, and a + str(b) in place of a ~ b",
    ast.Is: "write == in place of `is`",
    ast.IsNot: "write != in place of `is not`",
    ast.JoinedStr: "a text with values in it is not allowed; write 'a' + str(b)",
    ast.Slice: "a part of a list is not allowed",
    ast.Starred: "a star before a value is not allowed",
    ast.NamedExpr: "nothing can be given a name here",
    ast.Lambda: "functions cannot be made here",
}
"""What to write in place of parts of Python that the language does not have."""


@lru_cache(maxsize=1024)
def parsed(text: str) -> ast.expr:
    """Return the syntax tree of an expression after checking that each part is in the language.

    Args:
        text: the expression, with its `=` or without.

    Raises:
        ExpressionError: another part is in it, or too many.
    """
    try:
        return _checked(text.removeprefix(SIGN).strip())
    except (RecursionError, MemoryError):
        raise ExpressionError(f"{shown(text)}: nested too deeply") from None
    except SyntaxError as error:
        hint = REPLACEMENTS[ast.Invert] if "~" in text else error.msg
        raise ExpressionError(f"{shown(text)}: {hint}") from None
    except ValueError as error:
        raise ExpressionError(f"{shown(text)}: {error}") from None


def _checked(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} characters; allowed: {LONGEST}")
    if "\\" in text:
        raise ValueError("a backslash is not allowed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a number right before a word, as in 1if
        tree = ast.parse(text.replace("\n", " "), mode="eval").body
    parts = list(_parts(tree))
    if len(parts) > MAX_STEPS:
        raise ValueError(f"{len(parts)} steps; allowed: {MAX_STEPS}")
    _check_characters(text, parts)
    return tree


def _parts(node: ast.AST, depth: int = 1) -> Iterator[ast.AST]:
    """Yield all nodes of a tree, each of which is allowed."""
    if depth > DEEPEST:
        raise ValueError(f"nested too deeply; allowed: {DEEPEST} parts within each other")
    _check_part(node)
    if isinstance(node, PARTS):
        yield node
    for part in ast.iter_child_nodes(node):
        yield from _parts(part, depth + 1)


def _check_part(node: ast.AST) -> None:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            raise ValueError("methods are not called; look up a key by d[key], call f(x)")
        if node.keywords:
            raise ValueError("a value of a function has no name: f(x), not f(a=x)")
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str | None):
        raise ValueError(f"a value of type {type(node.value).__name__} is not allowed")
    if isinstance(node, ast.Dict) and None in node.keys:
        raise ValueError(REPLACEMENTS[ast.Starred])
    if not isinstance(node, PARTS + GRAMMAR):
        other = f"{type(node).__name__} is not allowed"
        raise ValueError(REPLACEMENTS.get(type(node), other))


def _check_characters(text: str, parts: list[ast.AST]) -> None:
    """Refuse letters of other scripts, which Python takes for others, and comments."""
    texts = "".join(
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    for character in set(text):
        foreign = character == "#" or not character.isascii()
        if foreign and text.count(character) != texts.count(character):
            raise ValueError(f"{character!a} is allowed within a text only")
