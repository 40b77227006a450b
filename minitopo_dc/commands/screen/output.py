"""Where results go."""

from __future__ import annotations

import time
from pathlib import Path

from minitopo_dc.settings import SettingsError
from minitopo_dc.settings.base import quoted

MOST_AT_ONCE = 100
"""Commands that begin in the same second."""


def new_directory(wanted: Path | None, command: str) -> Path:
    """Make the results directory and return it.

    Without one that is `wanted`, its name is the time: with `-2`, `-3`, ... behind it when another
    command has begun in the same second.

    Raises:
        SettingsError: it exists already, so that results are never mixed, or cannot be made.
    """
    named = Path("results") / time.strftime(f"{command}-%Y%m%d-%H%M%S")
    later = (named.with_name(f"{named.name}-{number}") for number in range(2, MOST_AT_ONCE + 1))
    candidates = [wanted] if wanted else [named, *later]
    for directory in candidates:
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise SettingsError(f"--output: {quoted(directory)}: {why}") from None
        return directory
    raise SettingsError(f"--output: {quoted(candidates[0])} exists; give a new directory")
