"""Random changes of files that are right."""

from __future__ import annotations

import copy
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


def written(rng: Random, document: dict[str, Any], path: Path) -> Path:
    """A document with some values replaced, as YAML; now and then garbled as text too."""
    changed = copy.deepcopy(document)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        change(rng, changed)
    text = yaml.safe_dump(changed, sort_keys=False)
    if rng.random() < 0.3:
        text = garbled(rng, text)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def change(rng: Random, document: Any) -> None:
    """Replace, add or remove something, at a random depth."""
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = place[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            place = inner
            continue
        break
    what = rng.random()
    if what < 0.75:
        place[key] = copy.deepcopy(rng.choice(HOSTILE))
    elif what < 0.85:
        del place[key]
    elif isinstance(place, dict):
        place[rng.choice(("x", "seed", "legs", "0", ""))] = copy.deepcopy(rng.choice(HOSTILE))
    else:
        place.append(copy.deepcopy(rng.choice(HOSTILE)))


def garbled(rng: Random, text: str) -> str:
    """A text with lines and words replaced, doubled, cut."""
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
