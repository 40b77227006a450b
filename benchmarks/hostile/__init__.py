"""What a hostile user or machine does to the program: malformed input, kills."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

Kind = Callable[[Random, Path], Iterator[None]]
"""Makes an input in an empty directory and gives it to its reader; yields when it is loaded."""
Report = tuple[list[dict[str, Any]], list[str]]
"""Rows of a table, and each fault once, with the options that reproduce it."""
