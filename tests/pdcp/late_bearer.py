"""A bearer over two legs that nobody shares, driven event by event; what was sent and delivered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from minitopo_dc.link import ConstantDelay, Leg, LegParameters, make_capacity
from minitopo_dc.pdcp import (
    FlowControl,
    LegView,
    ReceivingEntity,
    Recovery,
    SduBuffer,
    SplitPolicy,
    Timer,
    TransmittingEntity,
    sn_format,
)

MS = 1_000_000
SIZE = 1500
Carried = tuple[int, int, int]
"""Leg, SN, SDU."""


class Bearer:
    """An entity, its legs, and the receiver behind them, driven as a driver does."""

    def __init__(
        self,
        policy: SplitPolicy,
        *rates_mbps: int,
        delays_ms: Sequence[int] = (),
        queue: int | None = 100,
        queue_bytes: int | None = None,
        waiting: SduBuffer[int] | None = None,
        flow_control: Sequence[FlowControl] = (),
        recovery: Recovery[int] | None = None,
    ) -> None:
        delays = delays_ms or (0,) * len(rates_mbps)
        self.legs: list[Leg[Carried]] = [
            Leg(
                LegParameters(queue, queue_bytes, delay=ConstantDelay(delay * MS)),
                make_capacity(rate * 1_000_000),
                Random(1),
            )
            for rate, delay in zip(rates_mbps, delays, strict=True)
        ]
        for leg in self.legs:
            leg.start(0)
        self.entity = TransmittingEntity[int](
            sn_format(18),
            policy,
            legs=len(self.legs),
            states=self.legs,
            waiting=waiting,
            flow_control=flow_control,
            recovery=recovery,
            reports=recovery is not None,
        )
        self.receiver = ReceivingEntity[int](
            sn_format(18), t_reordering=Timer(200 * MS), legs=len(self.legs)
        )
        self.now = 0
        self.sent: list[Carried] = []
        self.first_sent: dict[int, int] = {}
        self.delivered: list[tuple[int, int]] = []
        """When, and which SDU."""

    def push(self, *sdus: int, size: int = SIZE) -> list[bool]:
        taken = [self.entity.push(sdu, size, self.now) for sdu in sdus]
        self.submit()
        return taken

    def submit(self) -> None:
        """As a driver does: with data recovery the queue of a lost leg is taken back."""
        for lost in self.entity.lost_legs(self.now):
            flushed = self.legs[lost].flush(self.now)
            self.entity.leg_lost(lost, [sn for _, sn, _ in flushed], self.now)
        while pdus := self.entity.poll(self.now):
            for pdu in pdus:
                self.sent.append((pdu.leg, pdu.count, pdu.sdu))
                self.first_sent.setdefault(pdu.sdu, self.now)
                self.legs[pdu.leg].push((pdu.leg, pdu.sn, pdu.sdu), SIZE + 3, self.now)

    def run(self, until: int) -> None:
        """Go on to `until` (ns), event by event."""
        while (moment := self._next()) is not None and moment <= until:
            self.now = max(moment, self.now)
            for leg in self.legs:
                for number, sn, sdu in leg.poll(self.now):
                    self.receiver.push(sn, sdu, number, self.now)
            self.delivered += [(self.now, sdu) for sdu in self.receiver.poll(self.now)]
            self.submit()
        self.now = until

    def set_up(self, leg: int, up: bool) -> None:
        self.legs[leg].set_up(up, self.now)
        self.submit()

    def _next(self) -> int | None:
        moments = [leg.next_timeout() for leg in self.legs]
        moments += [self.entity.next_timeout(), self.receiver.next_timeout()]
        return min((each for each in moments if each is not None), default=None)

    @property
    def order(self) -> list[int]:
        return [sdu for _, sdu in self.delivered]


class Waits:
    """A policy that names no leg until it is told to."""

    sees_legs: ClassVar[bool] = True

    def __init__(self) -> None:
        self.answer: tuple[int, ...] = ()
        self.shown: Sequence[LegView] = ()

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        self.shown = views
        return self.answer


def endless() -> SduBuffer[int]:
    return SduBuffer(None, None)
