"""The sender of the receiver's reports, for an element on either clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from minitopo_dc.pdcp import ReportMaker


class HasState(Protocol):
    """A leg, as reports see it."""

    @property
    def is_up(self) -> bool:
        """Return whether the leg is up; it is not in an outage."""


Way = tuple[HasState, Callable[[bytes, int], None]]
"""A leg, and what puts a report on it at a time (ns)."""


class ReportSender:
    """Puts each report of one bearer on a leg when it is due; a timed part, to come before legs.

    Args:
        maker: of the reports.
        ways: those that reports may take, in this order.
        every_leg: whether each report takes all legs that are up, not one.
    """

    def __init__(self, maker: ReportMaker, ways: Sequence[Way], *, every_leg: bool = False) -> None:
        self._maker = maker
        self._ways = ways
        self._most = len(ways) if every_leg else 1

    def start(self, now: int) -> None:
        """Start the reports at `now` (ns)."""
        self._maker.start(now)

    def next_timeout(self) -> int | None:
        """Return when the next report is due (ns)."""
        return self._maker.next_timeout()

    def handle(self, now: int) -> None:
        """Send the report that is due, on the first leg that is up or on all of them."""
        report = self._maker.poll(now)
        if report is None:
            return
        up = [way for way in self._ways if way[0].is_up] or self._ways
        for _, send in up[: self._most]:
            send(report, now)
