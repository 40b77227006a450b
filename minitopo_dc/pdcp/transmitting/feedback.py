"""Feedback of the receiver: a transmitting entity's counts of delivered and lost PDUs per leg.

Legs that accept packets and lose them all are found by it, too (`LegFailures`):

1. When a leg has passed on a packet, its arrival is expected one mean delay later.
2. A leg fails when a report says that nothing arrived on it for a given time, though a packet was
   expected.
3. A failed leg gets a copy of a packet (a probe) for each report. It has recovered when a report
   says that something arrived on it.

In 3GPP the node of a link detects its failure, by the radio (T310) or by RLC's maximum number of
retransmissions (TS 38.331 clause 5.3.10.3). The failure of a second node's link is an SCG failure
(clause 5.7.3). Here only the receiver's reports tell.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from minitopo_dc.pdcp.codec import PduError
from minitopo_dc.pdcp.policies.view import LegReport
from minitopo_dc.pdcp.report import LegReception, Report, StatusReport, decode_report

MAX_REMEMBERED = 1 << 18
"""PDUs a leg whose COUNTs are remembered until a report: as many as 18 bits of SN tell apart."""


TAKEN, STALE, MALFORMED = range(3)
"""What becomes of a report, by the numbers of `pdcp/pdcp.h`."""


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
        self._counted = [0, 0, 0]
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
            self._counted[self._take(decode_report(data, len(self.reports)), now)] += 1
        except PduError:
            self._counted[MALFORMED] += 1

    def counts(self) -> tuple[int, ...]:
        """Return how many reports were used, stale (overtaken, or copies) and malformed."""
        return tuple(self._counted)

    def _take(self, report: Report, now: int) -> int:
        report = self._possible(report)
        if report.number <= self.number:
            return STALE
        self.number, self.reported_at = report.number, now
        self.reports = [
            _leg_report(leg, sent.up_to(leg.next_count), now)
            for leg, sent in zip(report.legs, self._sent, strict=True)
        ]
        if report.status is not None:
            self.status, self.status_at = report.status, now
        return TAKEN

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


MAX_AWAITED: Final = 1 << 16
"""Arrivals a leg that are waited for at most; the oldest are forgotten, where no reports come."""


class LegFailures:
    """Finds the legs of a bearer that have failed.

    A leg fails when a report says that nothing came by it for `after`, though something was
    expected. It has failed until a report says that something came. Without a new report nothing
    changes.

    A report may come late, so its number tells when it was made: reports are made on a grid of
    time, and the one that travelled for the least time tells where the grid lies. The caller has to
    say what that least time is (`return_delay`). The clocks of both ends run at the same rate.

    A report that says that something came ends the waiting for all packets that were expected
    before the report was made, or whose COUNT is at most the highest received: that some of them
    are lost is no failure of the leg.

    Args:
        legs: their number.
        after: of this silence (ns) a leg has failed.
        interval: ns from one report to the next.
    """

    def __init__(self, legs: int, *, after: int, interval: int) -> None:
        self._after = after
        self._interval = interval
        self._number = 0
        self._grid: int | None = None  # when the report of number 0 would have come
        self._legs = [_Silence() for _ in range(legs)]
        self._at = 0
        self.failed: frozenset[int] = frozenset()
        """The legs that have failed, and by which nothing has come since."""

    def expect_arrival(self, leg: int, at: int, count: int | None) -> None:
        """Expect what `leg` has passed on, up to this COUNT, at its end at `at` (ns)."""
        self._legs[leg].expect_arrival(at, -1 if count is None else count)

    def expects(self, leg: int) -> bool:
        """Return whether a silence of `leg` would be noticed: an arrival is expected or overdue."""
        return self._legs[leg].expects

    def take_report(self, feedback: Feedback, return_delay: int) -> None:
        """Learn from the latest report, which is under way for at least `return_delay` (ns)."""
        if feedback.number == self._number or feedback.reported_at is None:
            return
        self._number, self._at = feedback.number, feedback.reported_at
        since_first = self._number * self._interval
        grid = self._at - since_first
        self._grid = grid if self._grid is None else min(self._grid, grid)
        made = self._grid + since_first - return_delay
        for leg, report in zip(self._legs, feedback.reports, strict=True):
            if report is not None:
                leg.learn(report, made, self._after)
        self.failed = frozenset(n for n, leg in enumerate(self._legs) if leg.failed_at is not None)

    def probe_is_due(self, leg: int, now: int) -> bool:
        """Return whether a failed leg is to get a copy of what goes on another one.

        It gets one for each report, as more would tell no more. (The radio of a link that is
        failing is judged at a steady rate, too: TS 38.133 clause 8.1.)
        """
        probed_at = self._legs[leg].probed_at
        return probed_at is None or now - probed_at >= self._interval

    def probed(self, leg: int, now: int) -> None:
        """Note that `leg` gets a probe at `now` (ns)."""
        self._legs[leg].probed_at = now
        self._legs[leg].probes += 1

    def counts(self) -> dict[str, tuple[int, ...]]:
        """Return what statistics say of each leg, times in ns up to the latest report."""
        return {
            "failures": tuple(leg.failures for leg in self._legs),
            "failed_ns": tuple(leg.failed_ns(self._at) for leg in self._legs),
            "probes": tuple(leg.probes for leg in self._legs),
        }


class _Silence:
    """How long nothing has come by one leg."""

    def __init__(self) -> None:
        self.failed_at: int | None = None
        """Since when (ns) it has failed; None: it has not."""
        self.probed_at: int | None = None
        self.failures = self.probes = 0
        self._before_ns = 0  # of the failures that are over
        self._delivered = 0
        # Expected arrivals that have not come yet, in order: the time (ns) and the highest COUNT.
        self._due: deque[tuple[int, int]] = deque(maxlen=MAX_AWAITED)

    @property
    def expects(self) -> bool:
        return bool(self._due) or self.failed_at is not None

    def expect_arrival(self, at: int, count: int) -> None:
        if self.failed_at is None:
            self._due.append((at, count))

    def learn(self, report: LegReport, made: int, after: int) -> None:
        """Take in what a report says of the leg that was made at `made` (ns)."""
        due = self._due
        if report.delivered_pdus > self._delivered:
            self._delivered = report.delivered_pdus
            highest = -1 if report.highest_count is None else report.highest_count
            while due and (due[0][0] <= made or due[0][1] <= highest):
                due.popleft()
            self._before_ns, self.failed_at = self.failed_ns(report.at), None
        elif due and made - due[0][0] >= after:
            due.clear()
            self.failed_at, self.probed_at = report.at, None
            self.failures += 1

    def failed_ns(self, now: int) -> int:
        """Return for how many ns the leg had failed in total by `now` (ns)."""
        return self._before_ns + (0 if self.failed_at is None else now - self.failed_at)
