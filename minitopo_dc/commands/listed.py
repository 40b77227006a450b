"""Options with several values."""

from __future__ import annotations

from collections.abc import Sequence


def listed(values: Sequence[str]) -> list[str]:
    """`A B` and `A,B` mean the same."""
    return [part for value in values for part in value.split(",") if part]
