"""Where results go."""

from __future__ import annotations

import time
from pathlib import Path

from minitopo_dc.settings import SettingsError


def new_directory(wanted: Path | None, command: str) -> Path:
    """Make the results directory and return it.

    Raises:
        SettingsError: it exists already, so that results are never mixed, or cannot be made.
    """
    directory = wanted or Path("results") / time.strftime(f"{command}-%Y%m%d-%H%M%S")
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise SettingsError(f"--output: {directory} exists; give a new directory") from None
    except OSError as error:
        raise SettingsError(f"--output: {directory}: {error.strerror}") from None
    return directory
