"""Placeholder until the receiving side is merged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What a status report says."""

    fmc: int
    beyond: frozenset[int] = frozenset()

    def received(self, count: int) -> bool:
        """Whether it was received."""
        return count < self.fmc or count in self.beyond
