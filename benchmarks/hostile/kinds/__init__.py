"""Kinds of malformed input: what a user gives, and what is read of results."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

Kind = Callable[[Random, Path], Iterator[None]]
"""Makes an input in an empty directory and gives it to its reader; yields when it is loaded."""
