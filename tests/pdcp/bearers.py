"""A bearer over legs of its own, driven event by event; what was sent and delivered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from minitopo_dc.link import Capacity, CapacityLeg, ConstantDelay, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    HoldingStatistics,
    LegFailures,
    LegView,
    Pdu,
    ReceivingEntity,
    Recovery,
    ReportMaker,
    SduBuffer,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    sn_format,
)
from minitopo_dc.units import QueueLimit

MS = 1_000_000
SIZE = 1500
"""Bytes: 1 ms at 12 Mbit/s."""
FORMAT = sn_format(18)


@dataclass(frozen=True, slots=True)
class Sent:
    """A PDU that was given to a leg, at a time in ns."""

    at: int
    leg: int
    count: int
    sdu: int


class Bearer:
    """An entity, its legs, the receiver behind them, and its reports on their way back.

    Args:
        policy: of the split.
        rates: of each leg, in Mbit/s.
        loses: whether what arrives by a leg at a time (ns) is lost.
        after_ms: the silence after which a leg has failed; None: legs do not fail.
        report_ms: the interval of reports; None: there are none.
        back_ms: what a report takes.
        entity: what else the transmitting entity has.
    """

    def __init__(
        self,
        policy: SplitPolicy,
        *rates: float | Capacity,
        delays_ms: Sequence[float] = (),
        queue: int | None = 100,
        queue_bytes: int | None = None,
        loses: Callable[[int, int], bool] = lambda _leg, _now: False,
        t_reordering_ms: int | None = 200,
        recovery: Recovery[int] | None = None,
        after_ms: float | None = None,
        report_ms: float | None = None,
        back_ms: float = 10,
        report_lost: Callable[[int], bool] = lambda _: False,
        **entity: Any,
    ) -> None:
        legs, interval = len(rates), round((report_ms or 0) * MS)
        self.legs = [
            CapacityLeg[tuple[int, int]](
                LegParameters(
                    QueueLimit(queue, queue_bytes), delay=ConstantDelay(round(delay * MS))
                ),
                make_capacity(round(rate * 1e6)) if isinstance(rate, int | float) else rate,
                Random(1),
            )
            for rate, delay in zip(rates, delays_ms or [0] * legs, strict=True)
        ]
        self.failures = LegFailures(legs, after=round((after_ms or 0) * MS), interval=interval)
        self.entity = TransmittingEntity[int](
            FORMAT,
            policy,
            legs=legs,
            states=self.legs,
            reports=report_ms is not None or recovery is not None,
            recovery=recovery,
            failures=None if after_ms is None else self.failures,
            **entity,
        )
        timer = Timer(None if t_reordering_ms is None else t_reordering_ms * MS)
        self.receiver = ReceivingEntity[int](FORMAT, t_reordering=timer, legs=legs)
        self.maker = ReportMaker(
            self.receiver, legs=legs, interval=interval, with_status=recovery is not None
        )
        self.loses, self._report_lost, self._back = loses, report_lost, round(back_ms * MS)
        self._reports: deque[tuple[int, bytes]] = deque()
        self.now = 0
        self.sent: list[Sent] = []
        self.delivered: list[tuple[int, int]] = []
        """When, and which SDU."""
        self.changes: list[tuple[int, int, bool]] = []
        """When (ns) a leg was found to fail (True) or to be back (False)."""
        for leg in self.legs:
            leg.start(0)
        if report_ms is not None:
            self.maker.start(0)

    def push(self, *sdus: int, size: int = SIZE) -> list[bool]:
        """SDUs come now."""
        taken = [self.entity.push(sdu, size, self.now) for sdu in sdus]
        self.submit()
        return taken

    def push_steadily(self, gap_ms: float, until_ms: float, first: int = 0) -> None:
        """SDUs `first`, ... come at a steady pace from now on."""
        begin = self.now
        for number in range(round(until_ms / gap_ms)):
            self.run(begin + round(number * gap_ms * MS))
            self.push(first + number)

    def run(self, until: int) -> None:
        """Go on to `until` (ns), event by event."""
        while (moment := self.next_moment()) is not None and moment <= until:
            self.now = max(moment, self.now)
            for number, leg in enumerate(self.legs):
                for sn, sdu in leg.poll(self.now):
                    if not self.loses(number, self.now):
                        pdu = Pdu(sdu, SIZE, leg=number, sn=sn)
                        self.receiver.note(pdu)
                        self.receiver.push(pdu, self.now)
            self.delivered += [(self.now, sdu) for sdu in self.receiver.poll(self.now)]
            timeout = self.entity.next_timeout()
            if self._report() or (timeout is not None and timeout <= self.now):
                self.submit()  # not oftener than it has to be
        self.now = max(until, self.now)

    def set_up(self, leg: int, up: bool) -> None:
        """The leg's own node says so."""
        self.legs[leg].set_up(up, self.now)
        self.submit()

    def submit(self) -> None:
        """Give PDUs to legs as a driver does: the queue of a lost leg is taken back."""
        before = self.failures.failed
        for lost in self.entity.lost_legs(self.now):
            flushed = self.legs[lost].flush(self.now)
            self.entity.leg_lost(lost, [sn for sn, _ in flushed], self.now)
        while pdus := self.entity.poll(self.now):
            for pdu in pdus:
                self.sent.append(Sent(self.now, pdu.leg, pdu.count, pdu.sdu))
                self.legs[pdu.leg].push((pdu.sn, pdu.sdu), SIZE + 3, self.now)
        for leg in before ^ self.failures.failed:
            self.changes.append((self.now, leg, leg in self.failures.failed))

    def next_moment(self) -> int | None:
        """When something happens (ns)."""
        moments = [leg.next_timeout() for leg in self.legs]
        moments += [self.entity.next_timeout(), self.receiver.next_timeout()]
        moments += [self.maker.next_timeout(), self._reports[0][0] if self._reports else None]
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def order(self) -> list[int]:
        """SDUs as they were delivered."""
        return [sdu for _, sdu in self.delivered]

    @property
    def statistics(self) -> HoldingStatistics:
        """The entity's."""
        counted = self.entity.statistics()
        assert isinstance(counted, HoldingStatistics)
        return counted

    def carried(self, leg: int, begin: int = 0) -> set[int]:
        """The SDUs that were put on a leg from a time (ns) on."""
        return {pdu.sdu for pdu in self.sent if pdu.leg == leg and pdu.at >= begin}

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


class Answers:
    """A policy that names these legs, at first none, and keeps what it was shown."""

    sees_legs: ClassVar[bool] = True

    def __init__(self, *answer: int) -> None:
        self.answer = answer
        self.shown: Sequence[LegView] = ()

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        self.shown = views
        return self.answer


def endless() -> SduBuffer[int]:
    """A buffer without limit or discardTimer."""
    return SduBuffer()


def recovery(discard_timer: int | None = None) -> Recovery[int]:
    """Data recovery over two legs."""
    return Recovery[int](2, most=1 << 17, discard_timer=discard_timer)
