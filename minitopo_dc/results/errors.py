"""The error of this package, and its use for a whole computation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.errors import InputError

DATA_ERRORS = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""The errors that numbers and names that do not fit each other raise in a computation."""


class ResultError(InputError):
    """A file of a run that lacks something or is not what it should be; the message names it."""


@contextmanager
def naming(run: Path) -> Iterator[None]:
    """Turn an error in a computation from a run's files into a ResultError that names the run.

    Each file may be as it should be, and yet not fit the others.
    """
    try:
        yield
    except InputError as error:
        raise ResultError(str(error)) from error
    except (*DATA_ERRORS, RecursionError, MemoryError) as error:
        raise ResultError(f"{run}: its files do not fit together: {error!r}") from error
