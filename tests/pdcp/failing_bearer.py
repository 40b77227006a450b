"""A bearer whose legs lose all for a time, and the reports that tell; driven event by event."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from random import Random

from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    FlowControl,
    HoldingStatistics,
    LegFailures,
    ReceivingEntity,
    Recovery,
    ReportMaker,
    SduBuffer,
    SelectiveDuplication,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    sn_format,
)

MS = 1_000_000
SIZE = 1500
"""Bytes: 1 ms at the legs' 12 Mbit/s."""
Loses = Callable[[int, int], bool]
"""Whether what arrives by a leg at this time (ns) is lost."""


def dead(*windows: tuple[int, float, float]) -> Loses:
    """Legs that lose all from one time in ms to another."""
    return lambda leg, now: any(
        leg == each and begin * MS <= now < end * MS for each, begin, end in windows
    )


def nothing(leg: int, now: int) -> bool:  # noqa: ARG001
    """No leg loses anything."""
    return False


class FailingBearer:
    """An entity, its legs, the receiver behind them, and its reports on their way back.

    `changes` has when (ns) a leg was found to fail (True) and to be back (False).
    """

    def __init__(
        self,
        policy: SplitPolicy,
        *,
        loses: Loses = nothing,
        delays_ms: Sequence[float] = (10, 10),
        after_ms: float = 100,
        interval_ms: float = 20,
        back_ms: float = 10,
        late: bool = False,
        recovery: bool = True,
        report_lost: Callable[[int], bool] = lambda _: False,
        flow_control: Sequence[FlowControl] = (),
        duplication: SelectiveDuplication | None = None,
    ) -> None:
        legs, interval = len(delays_ms), round(interval_ms * MS)
        self.legs = [
            Leg[tuple[int, int]](
                LegParameters(None, delay=ConstantDelay(round(delay * MS))),
                make_capacity(12_000_000),
                Random(1),
            )
            for delay in delays_ms
        ]
        self.failures = LegFailures(legs, after=round(after_ms * MS), interval=interval)
        self.entity = TransmittingEntity[int](
            sn_format(18),
            policy,
            legs=legs,
            states=self.legs,
            reports=True,
            waiting=SduBuffer(None, None) if late else None,
            recovery=Recovery[int](legs, most=1 << 17, discard_timer=None) if recovery else None,
            failures=self.failures,
            flow_control=flow_control,
            duplication=duplication,
        )
        self.receiver = ReceivingEntity[int](
            sn_format(18), t_reordering=Timer(None if recovery else 200 * MS), legs=legs
        )
        self.maker = ReportMaker(
            self.receiver, sn_format(18), legs=legs, interval=interval, with_status=recovery
        )
        self._loses = loses
        self._report_lost = report_lost
        self._back = round(back_ms * MS)
        self._reports: deque[tuple[int, bytes]] = deque()
        self.now = 0
        self.sent: list[tuple[int, int, int]] = []
        """When, leg, and which SDU."""
        self.delivered: list[int] = []
        self.changes: list[tuple[int, int, bool]] = []
        """When, leg, whether it failed."""
        for leg in self.legs:
            leg.start(0)
        self.maker.start(0)

    def push(self, sdus: Iterable[tuple[int, int]]) -> None:
        """SDUs, each at its time (ns)."""
        for at, sdu in sdus:
            self.run(at)
            self.entity.push(sdu, SIZE, at)
            self._legs_changed()

    def run(self, until: int) -> None:
        """Go on to `until` (ns), event by event."""
        while (moment := self._next()) is not None and moment <= until:
            self.now = max(moment, self.now)
            self._arrive()
            wanted = self.entity.next_timeout()
            if self._report() or (wanted is not None and wanted <= self.now):
                self._legs_changed()  # not oftener than it has to be
        self.now = max(until, self.now)

    def set_up(self, leg: int, up: bool) -> None:
        """The leg's own node says so."""
        self.legs[leg].set_up(up, self.now)
        self._legs_changed()

    @property
    def statistics(self) -> HoldingStatistics:
        """The entity's."""
        found = self.entity.statistics()
        assert isinstance(found, HoldingStatistics)
        return found

    def carried(self, leg: int, begin_ms: float) -> set[int]:
        """The SDUs that were put on a leg from then on."""
        return {sdu for at, each, sdu in self.sent if each == leg and at >= begin_ms * MS}

    def _arrive(self) -> None:
        for number, leg in enumerate(self.legs):
            for sn, sdu in leg.poll(self.now):
                if not self._loses(number, self.now):
                    self.maker.push(sn, SIZE, number)
                    self.receiver.push(sn, sdu, number, self.now)
        self.delivered += self.receiver.poll(self.now)

    def _report(self) -> bool:
        """Whether one reached the entity."""
        report = self.maker.poll(self.now)
        if report is not None and not self._report_lost(self.maker.made):
            self._reports.append((self.now + self._back, report))
        if not self._reports or self._reports[0][0] > self.now:
            return False
        assert self.entity.feedback is not None
        self.entity.feedback.push(self._reports.popleft()[1], self.now)
        return True

    def _legs_changed(self) -> None:
        before = self.failures.failed
        for lost in self.entity.lost_legs(self.now):
            flushed = self.legs[lost].flush(self.now)
            self.entity.leg_lost(lost, [sn for sn, _ in flushed], self.now)
        while pdus := self.entity.poll(self.now):
            for pdu in pdus:
                self.sent.append((self.now, pdu.leg, pdu.sdu))
                self.legs[pdu.leg].push((pdu.sn, pdu.sdu), SIZE + 3, self.now)
        for leg in before ^ self.failures.failed:
            self.changes.append((self.now, leg, leg in self.failures.failed))

    def _next(self) -> int | None:
        moments = [leg.next_timeout() for leg in self.legs]
        moments += [self.entity.next_timeout(), self.receiver.next_timeout()]
        moments += [self.maker.next_timeout(), self._reports[0][0] if self._reports else None]
        return min((each for each in moments if each is not None), default=None)


def steady(gap_ms: float, until_ms: float) -> list[tuple[int, int]]:
    """SDUs 0, 1, ... at a steady pace."""
    return [(round(i * gap_ms * MS), i) for i in range(round(until_ms / gap_ms))]
