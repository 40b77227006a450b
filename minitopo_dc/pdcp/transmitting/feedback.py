"""Feedback of the receiver: a transmitting entity's counts of delivered and lost PDUs per leg."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from minitopo_dc.pdcp.formats.codec import PduError
from minitopo_dc.pdcp.formats.report import LegReception, Report, StatusReport, decode_report
from minitopo_dc.pdcp.policies.view import LegReport
from minitopo_dc.pdcp.statistics import FeedbackStatistics

MAX_REMEMBERED = 1 << 18
"""PDUs a leg whose COUNTs are remembered until a report: as many as 18 bits of SN tell apart."""


class Feedback:
    """Turns the receiver's reports into counts of each leg's delivered and lost PDUs.

    A report changes nothing when it is malformed (no report of this bearer, or one of a COUNT that
    its leg was not given), or stale (its number is not above the latest's: a copy, or overtaken).
    """

    def __init__(self, legs: int) -> None:
        self.reports: list[LegReport | None] = [None] * legs
        """The latest report on each leg."""
        self.status: StatusReport | None = None
        """The latest status report, its COUNTs whole; None before the first."""
        self.status_at: int | None = None
        """When it came (ns); another time tells that there is a new one."""
        self._received = self._stale = self._malformed = 0
        self.number = 0
        """Number of the latest report; 0 before the first."""
        self.reported_at: int | None = None
        """When it came (ns)."""
        self._sent = [_SentCounts() for _ in range(legs)]

    def sent(self, leg: int, count: int) -> None:
        """Note that a PDU with this COUNT was put on `leg`.

        COUNTs of a leg ascend but for what is sent again. Such a PDU counts as sent, and as lost
        until it arrives, once a report covers what was sent before it.
        """
        self._sent[leg].add(count)

    def push(self, data: bytes, now: int) -> None:
        """Take in the bytes of a report that arrived at `now` (ns), or count them as malformed."""
        try:
            report = self._possible(decode_report(data, len(self._sent)))
        except PduError:
            self._malformed += 1
            return
        if report.number <= self.number:
            self._stale += 1
        else:
            self._received += 1
            self.number, self.reported_at = report.number, now
            self.reports = [
                _leg_report(leg, sent.up_to(leg.next_count), now)
                for leg, sent in zip(report.legs, self._sent, strict=True)
            ]
            if report.status is not None:
                self.status, self.status_at = report.status, now

    def statistics(self) -> FeedbackStatistics:
        """Return how many reports were used, stale or malformed."""
        return FeedbackStatistics(self._received, self._stale, self._malformed)

    def _possible(self, report: Report) -> Report:
        """Return the report with full COUNTs, none of which lies beyond those that were sent.

        Raises:
            PduError: one is.
        """
        for leg, sent in zip(report.legs, self._sent, strict=True):
            if leg.next_count > sent.next_count:
                raise PduError(f"report of COUNT {leg.next_count - 1}, which was not sent")
        if report.status is None:
            return report
        next_count = max(sent.next_count for sent in self._sent)
        return replace(report, status=report.status.near(next_count))


class _SentCounts:
    """COUNTs of the PDUs on one leg that no report has covered yet."""

    __slots__ = ("_covered", "_waiting", "next_count")

    def __init__(self) -> None:
        self.next_count = 0
        """COUNT after the highest one sent."""
        self._waiting: deque[int] = deque()
        self._covered = 0

    def add(self, count: int) -> None:
        self.next_count = max(self.next_count, count + 1)
        self._waiting.append(count)
        if len(self._waiting) > MAX_REMEMBERED:
            self._waiting.popleft()  # so old that the next report covers it
            self._covered += 1

    def up_to(self, next_count: int) -> int:
        """Return how many were sent with a COUNT below `next_count`, which must not decrease."""
        waiting = self._waiting
        while waiting and waiting[0] < next_count:
            waiting.popleft()
            self._covered += 1
        return self._covered


def _leg_report(leg: LegReception, sent: int, now: int) -> LegReport:
    return LegReport(
        at=now,
        highest_count=leg.next_count - 1 if leg.next_count else None,
        delivered_pdus=leg.pdus,
        delivered_bytes=leg.bytes,
        lost_pdus=max(0, sent - leg.pdus),  # a network that makes copies cannot lose less than none
        reordered=leg.reordered,
        reordering_ns=leg.reordering_ns,
    )
