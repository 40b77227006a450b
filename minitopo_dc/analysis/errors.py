"""The error of this package."""

from __future__ import annotations

from minitopo_dc.errors import InputError


class ResultError(InputError):
    """A file of a run is missing something or is not what it should be; the message names it."""
