"""Random changes of valid input.

Two in three change single values: a value, chosen uniformly over all that there are at any depth,
becomes a near miss of its type, so that everything around it stays right. The others change text.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

HOSTILE: tuple[Any, ...] = (
    *(0, -1, 1, 2**31, 2**63, 10**30, 10**400, 1e-320, 1e308, 0.1, -0.0, 20_000_000),
    *(float("inf"), float("-inf"), float("nan"), "1e400", "nan", "1e999999", "-1", "9" * 5000),
    *(None, True, False, "", " ", "abc", "\0", "\ud800", "x" * 10_000, "²", "../..", "/dev/null"),
    *([], {}, [[]], [None], {"": {}}, {"a": 1}, [1, 2, 3], "=1/0", "=9**9**9", "=x", "$y", "*"),
)
GARBLED = 1 / 3
"""The share of inputs whose text is changed."""
WORD = re.compile(r"[A-Za-z0-9_.]+")
"""What a value is in a text that is no YAML."""

Vocabulary = Mapping[str, Sequence[Any]]
"""Values that are right, by the key that has them."""
_Place = tuple[dict[Any, Any] | list[Any], Any, str]
"""A container, what in it, and the nearest key above."""


def written(rng: Random, document: Any, path: Path, known: Vocabulary) -> Path:
    """Write a document with values changed, or garbled as text, as YAML; return the file."""
    if rng.random() < GARBLED:
        text = garbled(rng, yaml.safe_dump(document, sort_keys=False))
    else:
        text = yaml.safe_dump(with_near_misses(rng, document, known), sort_keys=False)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def with_near_misses(rng: Random, document: Any, known: Vocabulary) -> Any:
    """Return a copy of a document, mostly with one value changed, else up to three."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 2, 3))):
        change(rng, changed, known)
    return changed


def change(rng: Random, document: Any, known: Vocabulary) -> None:
    """Change a value at any depth to a near miss; now and then remove or double it, or its key."""
    places = list(_leaves(document))
    if not places:
        return
    container, key, name = rng.choice(places)
    what = rng.random()
    if what < 0.9:
        container[key] = near_miss(rng, container[key], known.get(name, ()))
    elif what < 0.95:
        del container[key]
    elif isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    else:
        container[near_text(rng, str(key))] = container.pop(key)


def vocabulary(documents: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the values of each key, of documents that are right."""
    known: dict[str, list[Any]] = {}
    for document in documents:
        for container, key, name in _leaves(document):
            if container[key] not in (values := known.setdefault(name, [])):
                values.append(container[key])
    return known


def near_miss(rng: Random, value: Any, others: Sequence[Any] = ()) -> Any:
    """Return what may stand in the place of a value by mistake; most of it is of its type.

    Args:
        rng: chooses.
        value: of a file.
        others: what is right there, too.
    """
    others = [other for other in others if other != value]
    ways: list[Callable[[], Any]] = [
        lambda: _at_a_boundary(rng, value),
        lambda: _of_another_type(rng, value),
        lambda: rng.choice(HOSTILE),
    ]
    ways += [lambda: rng.choice(others)] * (8 if others else 0)
    ways += [lambda: _close_to(rng, value)] * (8 if isinstance(value, int | float) else 1)
    return copy.deepcopy(rng.choice(ways)())


def near_text(rng: Random, text: str) -> str:
    """Return a text with one of its words or numbers changed to a near miss."""
    words = list(WORD.finditer(text))
    if not words:
        return str(rng.choice(HOSTILE[:10]))
    chosen = rng.choice(words)
    missed = str(near_miss(rng, _read(chosen[0]), [_read(word[0]) for word in words]))
    return text[: chosen.start()] + missed + text[chosen.end() :]


def garbled(rng: Random, text: str) -> str:
    """Return a text with lines and words replaced, doubled or cut."""
    lines = text.splitlines()
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(lines))
        line = lines[place]
        spot = rng.randrange(len(line) + 1)
        numbers = ("1e999999", "20000000", "1000000000000", "-1", "nan", "1e-999999", "9" * 200)
        words = (*numbers, "!!int abc", "2001-99-99", "*a", "&a [*a]", "[" * 300, "\0", ",", ":")
        lines[place] = rng.choice(
            (
                line[:spot],
                line[:spot] + rng.choice(words) + line[spot:],
                line[:spot] + rng.choice(words),
                line + "\n" + line,
                line.replace(line.rpartition(",")[2], rng.choice(words)),
                line.replace(line.partition(",")[0], rng.choice(words)),
                "",
                "x" * 200_000,
            )
        )
    return "\n".join(lines) + rng.choice(("\n", "", "\ufeff"))


def _leaves(value: Any, name: str = "") -> Iterator[_Place]:
    """Yield the place of each value that holds no other one; an empty one holds none."""
    if not isinstance(value, dict | list):
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        nearest = str(key) if isinstance(value, dict) else name
        if isinstance(inner, dict | list) and inner:
            yield from _leaves(inner, nearest)
        else:
            yield value, key, nearest


def _close_to(rng: Random, value: Any) -> Any:
    """Return a value of the same type, off by a little or misspelt."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value * 2, value // 2))
    if isinstance(value, float):
        return rng.choice((value + 1, value - 1, value * 1.01, value / 2, value * 2))
    if isinstance(value, str):
        spot = rng.randrange(len(value) + 1)
        cut = (value[:spot], value[:spot] + value[spot + 1 :], value[spot:])
        return rng.choice((*cut, value + value, value.upper(), f" {value} ", near_text(rng, value)))
    return rng.choice((0, "", [], {}, False))


def _at_a_boundary(rng: Random, value: Any) -> Any:
    """Return a value where a range may end, or of another sign or magnitude."""
    if isinstance(value, int | float):
        limits = (-value, value + 0.5, 0, 1, 0.0, 1e-6, 1e-9, 255, 256, 2**31 - 1, 2**32, 2**53)
        return rng.choice((*limits, value * 1000, value * 1e9))
    return rng.choice(("", "0", "none", value)) if isinstance(value, str) else rng.choice((0, None))


def _of_another_type(rng: Random, value: Any) -> Any:
    wrapped = ([value], {"value": value}, {str(value): value}, str(value), f"{value}x")
    return rng.choice((*wrapped, None, True, 0, 1.5, "", [], {}, [value, value]))


def _read(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word
