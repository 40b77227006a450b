"""A run that is tried again: because it failed, or because the machine disturbed it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from minitopo_dc.run.results import RunResult
from minitopo_dc.settings import SettingsError

ATTEMPTS: Final = {"failed": "failed_attempts", "disturbed": "disturbed_attempts"}
"""Where `details` keep the reasons of the attempts before the one that counts."""


MOST_DISTURBED: Final = 10
"""Repetitions of a disturbed run: a machine that disturbs eleven in a row will the twelfth, too."""


def check_retries(disturbed: int, name: str = "retry_disturbed") -> None:
    """Refuse a number of repetitions that makes no sense.

    Raises:
        SettingsError: with what is allowed.
    """
    if not 0 <= disturbed <= MOST_DISTURBED:
        raise SettingsError(f"{name}: {disturbed}; allowed: 0 to {MOST_DISTURBED}")


@dataclass(frozen=True)
class Retries:
    """How often a run is tried again."""

    failed: int = 0
    """A failure has a cause that a second attempt seldom removes."""
    disturbed: int = 1
    """Most disturbances pass: a second run in a row is disturbed by something that lasts."""


def tried(once: Callable[[], RunResult], directory: Path, retries: Retries) -> RunResult:
    """Run, and again as often as its result allows; return the last result.

    Its details say why those before did not count, as `failed_attempts`, `disturbed_attempts`.

    Args:
        once: makes one attempt.
        directory: where it takes place; what is there is removed before each attempt.
        retries: how often each kind of result is followed by another attempt.
    """
    left = {"failed": retries.failed, "disturbed": retries.disturbed}
    earlier: dict[str, list[str]] = {}

    def attempt() -> RunResult:
        shutil.rmtree(directory, ignore_errors=True)
        return once()

    while left.get((result := attempt()).status, 0) > 0:
        left[result.status] -= 1
        earlier.setdefault(ATTEMPTS[result.status], []).append(result.reason)
    return replace(result, details={**result.details, **earlier}) if earlier else result
