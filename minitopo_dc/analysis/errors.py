"""The error of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minitopo_dc.errors import InputError

OF_DATA = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What numbers and names that do not belong together raise, deep in a computation with them."""


class ResultError(InputError):
    """A file of a run is missing something or is not what it should be; the message names it."""


@contextmanager
def naming(run: Path) -> Iterator[None]:
    """Turn what the files of a run make a computation raise into a ResultError that names the run.

    Each file may be as it should be, and yet not fit the others.
    """
    try:
        yield
    except InputError as error:
        raise ResultError(str(error)) from error
    except (*OF_DATA, RecursionError, MemoryError) as error:
        raise ResultError(f"{run}: its files do not fit together: {error!r}") from error
