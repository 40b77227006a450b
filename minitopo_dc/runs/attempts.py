"""Repetition of a run that failed or that the machine disturbed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import ATTEMPTS, RunResult

MAX_DISTURBED: Final = 10
"""The most repetitions of a disturbed run: a machine that disturbs eleven in a row will disturb the
twelfth, too."""


def check_retries(disturbed: int, name: str = "retry_disturbed") -> None:
    """Refuse a number of repetitions that makes no sense.

    Raises:
        SettingsError: the number is out of range; the message says what is allowed.
    """
    if not 0 <= disturbed <= MAX_DISTURBED:
        raise SettingsError(f"{name}: {disturbed}; allowed: 0 to {MAX_DISTURBED}")


@dataclass(frozen=True)
class Retries:
    """How often a failed or disturbed run is tried again."""

    failed: int = 0
    """How often a failed run is tried again: a failure has a cause that a second attempt seldom
    removes."""
    disturbed: int = 1
    """How often a disturbed run is tried again: most disturbances pass, and what disturbs a second
    run in a row lasts."""


def tried(once: Callable[[], RunResult], directory: Path, retries: Retries) -> RunResult:
    """Run once, and again as often as the result allows; return the last result.

    The details of that result say why the earlier attempts did not count, as `failed_attempts` and
    `disturbed_attempts`.

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
