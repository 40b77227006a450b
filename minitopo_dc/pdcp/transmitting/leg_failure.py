"""Legs that take packets and lose them all: told by the receiver's reports.

In 3GPP such a link is told by its own node: by the radio (T310) or by RLC's retransmissions that
are spent (TS 38.331 clause 5.3.10.3), and the one of a second node as SCG failure (clause 5.7.3).
Here nobody tells but the receiver, who says of each leg how much came.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from minitopo_dc.pdcp.policies.view import LegReport
from minitopo_dc.pdcp.transmitting.feedback import Feedback

MOST_REMEMBERED: Final = 1 << 16
"""Arrivals a leg that are waited for at most; the oldest are forgotten, where no reports come."""


class LegFailures:
    """Which legs have failed.

    A leg fails when a report says that nothing came by it for `after`, though something should
    have. It has failed until a report says that something came. Where no report comes nothing is
    known, and all stays as it is.

    A report may come late, so its number tells when it was made: reports are made on a grid of
    time, and the one that was under way for the least time tells where the grid lies. What that
    least time is the caller has to say (`way_back`). The clocks of both ends run alike.

    What came before something that came, or should have before a report that says so, is not waited
    for any more: if it is lost, its leg is not.

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
        """The legs that have, and of which nothing came since."""

    def should_come(self, leg: int, at: int, count: int | None) -> None:
        """What `leg` has passed on, up to this COUNT, should be at its end at `at` (ns)."""
        self._legs[leg].should_come(at, -1 if count is None else count)

    def expects(self, leg: int) -> bool:
        """Whether a silence of `leg` would be noticed: something of it should come, or has not."""
        return self._legs[leg].expects

    def take_report(self, feedback: Feedback, way_back: int) -> None:
        """Learn from the latest report, which is under way for at least `way_back` (ns)."""
        if feedback.number == self._number or feedback.reported_at is None:
            return
        self._number, self._at = feedback.number, feedback.reported_at
        since_first = self._number * self._interval
        grid = self._at - since_first
        self._grid = grid if self._grid is None else min(self._grid, grid)
        made = self._grid + since_first - way_back
        for leg, report in zip(self._legs, feedback.reports, strict=True):
            if report is not None:
                leg.learn(report, made, self._after)
        self.failed = frozenset(n for n, leg in enumerate(self._legs) if leg.failed_at is not None)

    def probe_is_due(self, leg: int, now: int) -> bool:
        """Whether a leg that has failed is to get a copy of what goes on another one.

        One a report: more often would tell no more. (The radio of a link that is failing is judged
        at a steady rate, too: TS 38.133 clause 8.1.)
        """
        probed_at = self._legs[leg].probed_at
        return probed_at is None or now - probed_at >= self._interval

    def probed(self, leg: int, now: int) -> None:
        """`leg` gets one."""
        self._legs[leg].probed_at = now
        self._legs[leg].probes += 1

    @property
    def failures(self) -> tuple[int, ...]:
        """How often each leg failed."""
        return tuple(leg.failures for leg in self._legs)

    @property
    def failed_ns(self) -> tuple[int, ...]:
        """For how long each had failed up to the latest report, all times together."""
        return tuple(leg.failed_ns(self._at) for leg in self._legs)

    @property
    def probes(self) -> tuple[int, ...]:
        """Copies that each got while it had failed."""
        return tuple(leg.probes for leg in self._legs)


class _Silence:
    """That of one leg."""

    __slots__ = ("_before_ns", "_delivered", "_due", "failed_at", "failures", "probed_at", "probes")

    def __init__(self) -> None:
        self.failed_at: int | None = None
        """Since when (ns) it has failed; None: it has not."""
        self.probed_at: int | None = None
        self.failures = self.probes = 0
        self._before_ns = 0  # of the failures that are over
        self._delivered = 0
        # When what has not come yet should have (ns), in order, and the highest COUNT of it.
        self._due: deque[tuple[int, int]] = deque(maxlen=MOST_REMEMBERED)

    @property
    def expects(self) -> bool:
        return bool(self._due) or self.failed_at is not None

    def should_come(self, at: int, count: int) -> None:
        if self.failed_at is None:
            self._due.append((at, count))

    def learn(self, report: LegReport, made: int, after: int) -> None:
        """Of a report that was made at `made` (ns)."""
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
        """How long it had failed by `now` (ns), all times together."""
        return self._before_ns + (0 if self.failed_at is None else now - self.failed_at)
