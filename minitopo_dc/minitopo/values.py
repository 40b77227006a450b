"""Values of a parameter file: numbers within limits, words of a list, files."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from minitopo_dc.minitopo.lines import Line

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}")
BOOLEANS = {"yes": True, "no": False, "1": True, "0": False, "true": True, "false": False}


def fields(line: Line, names: Sequence[str], least: int) -> list[str]:
    """The comma-separated parts of a value: at least `least` of `names`, in their order."""
    parts = [part.strip() for part in line.value.split(",")]
    wanted = ",".join(names[:least]) + "".join(f"[,{name}" for name in names[least:])
    wanted += "]" * (len(names) - least)
    if not least <= len(parts) <= len(names):
        raise line.error(f"{len(parts)} fields; write {wanted}")
    for name, part in zip(names, parts, strict=False):
        if not part:
            raise line.error(f"{name} is empty; write {wanted}")
    return parts


def number(line: Line, text: str, name: str, least: float, most: float) -> float:
    """A decimal number within limits."""
    if not _NUMBER.fullmatch(text):
        raise line.error(f"{name} {text!r} is not a number; allowed: {least:g} to {most:g}")
    value = float(text)
    if not math.isfinite(value) or not least <= value <= most:
        raise line.error(f"{name} {text} is out of range; allowed: {least:g} to {most:g}")
    return value


def whole(line: Line, text: str, name: str, least: int, most: int) -> int:
    """A whole number within limits."""
    if not _WHOLE.fullmatch(text):
        raise line.error(f"{name} {text!r} is not a whole number; allowed: {least} to {most}")
    value = int(text)
    if not least <= value <= most:
        raise line.error(f"{name} {text} is out of range; allowed: {least} to {most}")
    return value


def word(line: Line, text: str, name: str, allowed: Sequence[str]) -> str:
    """One of a list of words."""
    if text not in allowed:
        raise line.error(f"{name} {text!r}; allowed: {', '.join(allowed)}")
    return text


def boolean(line: Line) -> bool:
    """`yes` or `no`, or what Minitopo's files write for it."""
    return BOOLEANS[word(line, line.value.lower(), "value", tuple(BOOLEANS))]


def file(line: Line, text: str) -> Path:
    """A path relative to the parameter file."""
    if "\0" in text:
        raise line.error("a file name has no NUL character")
    return (line.file.parent / text).resolve()
