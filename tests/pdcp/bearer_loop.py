"""A bearer in a loop: entity, legs, receiver, reports, and a source that waits for its window."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from minitopo_dc.link import Capacity, ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    FlowControl,
    ReceivingEntity,
    ReportMaker,
    SduBuffer,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    sn_format,
)
from minitopo_dc.trace import RateTrace
from minitopo_dc.units import NS_PER_MS, NS_PER_S

SIZE = 1500
"""Bytes of each SDU."""
REPORT_MS = 20
REPORT_DELAY = 10 * NS_PER_MS
"""The uplink's: of reports, and of what lets the source go on."""


def changing(*steps: tuple[float, float]) -> Capacity:
    """A rate in Mbit/s from each time in s on."""
    trace = RateTrace(
        name="steps",
        times_ns=tuple(round(at * NS_PER_S) for at, _ in steps),
        rates_bps=tuple(round(rate * 1e6) for _, rate in steps),
        duration_ns=round((steps[-1][0] + 1) * NS_PER_S),
    )
    return make_capacity(trace, "hold")


def steady(mbps: float) -> Capacity:
    return make_capacity(round(mbps * 1e6))


@dataclass
class Bearer:
    """A saturating source: `window` SDUs are always under way, no more.

    An SDU is under way until the receiver has delivered it in order, or until it has been lost.
    Queues hold the whole window, so nothing is lost but what `loss` takes.
    """

    policy: SplitPolicy
    capacities: Sequence[Capacity]
    delays_ms: Sequence[float] = (10, 10)
    window: int = 200
    queue: int = 400
    flow_control: Sequence[FlowControl] = ()
    late: bool = False
    """Whether SDUs get their numbers when a leg takes them."""
    delivered: list[tuple[int, int]] = field(default_factory=list)
    """When each SDU was delivered (ns), and its leg."""

    def __post_init__(self) -> None:
        self.legs = [
            Leg[Any](
                LegParameters(
                    queue_packets=self.queue, delay=ConstantDelay(round(delay * NS_PER_MS))
                ),
                capacity,
                Random(leg),
            )
            for leg, (capacity, delay) in enumerate(
                zip(self.capacities, self.delays_ms, strict=True)
            )
        ]
        code, number = sn_format(18), len(self.legs)
        self.entity = TransmittingEntity[int](
            code,
            self.policy,
            legs=number,
            states=self.legs,
            reports=True,
            waiting=SduBuffer(None, None) if self.late else None,
            flow_control=self.flow_control,
        )
        self.receiver = ReceivingEntity[int](
            code, t_reordering=Timer(200 * NS_PER_MS), delivery="in-order", legs=number
        )
        self.maker = ReportMaker(self.receiver, code, legs=number, interval=REPORT_MS * NS_PER_MS)
        self._back: deque[tuple[int, bytes | None]] = deque()
        """What the uplink carries: reports, and None for an SDU that left the window."""
        self.sent: dict[int, int] = {}
        """The leg of each SDU."""
        self._made = 0
        self._missing = 0

    def run(self, seconds: float) -> None:
        """From 0 to then."""
        for leg in self.legs:
            leg.start(0)
        self.maker.start(0)
        now, end = 0, round(seconds * NS_PER_S)
        for _ in range(self.window):
            self._send(now)
        while now < end:
            now = self._next_moment()
            self._step(now)

    def mbps(self, begin: float, end: float) -> float:
        """What was delivered from one time in s to another."""
        times = (at / NS_PER_S for at, _ in self.delivered)
        return sum(begin <= at < end for at in times) * SIZE * 8 / (end - begin) / 1e6

    def share(self, leg: int, begin: float, end: float) -> float:
        """Of the SDUs delivered from one time in s to another, those that came by `leg`."""
        legs = [of for at, of in self.delivered if begin <= at / NS_PER_S < end]
        return legs.count(leg) / len(legs)

    def _next_moment(self) -> int:
        moments = [leg.next_timeout() for leg in self.legs]
        moments += [self.receiver.next_timeout(), self.maker.next_timeout()]
        moments += [self._back[0][0] if self._back else None, self.entity.next_timeout()]
        return min(moment for moment in moments if moment is not None)

    def _step(self, now: int) -> None:
        for number, leg in enumerate(self.legs):
            for sn, sdu in leg.poll(now):
                self.maker.push(sn, SIZE, number)
                self.receiver.push(sn, sdu, number, now)
        for sdu in self.receiver.poll(now):
            self.delivered.append((now, self.sent[sdu]))
            self._back.append((now + REPORT_DELAY, None))
        missing = self.receiver.statistics().missing
        for _ in range(missing - self._missing):
            self._back.append((now + REPORT_DELAY, None))
        self._missing = missing
        report = self.maker.poll(now)
        if report is not None:
            self._back.append((now + REPORT_DELAY, report))
        while self._back and self._back[0][0] <= now:
            arrived = self._back.popleft()[1]
            if arrived is None:
                self._send(now)
            else:
                assert self.entity.feedback is not None
                self.entity.feedback.push(arrived, now)
        self._submit(now)

    def _send(self, now: int) -> None:
        self.entity.push(self._made, SIZE, now)
        self._made += 1
        self._submit(now)

    def _submit(self, now: int) -> None:
        while pdus := self.entity.poll(now):
            for pdu in pdus:
                self.legs[pdu.leg].push((pdu.sn, pdu.sdu), SIZE, now)
                self.sent.setdefault(pdu.sdu, pdu.leg)
