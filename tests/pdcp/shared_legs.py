"""Bearers that share legs, driven event by event as the drivers do; what became of each SDU."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from minitopo_dc.link import AnyLeg
from minitopo_dc.pdcp import Pdu, ReceivingEntity, ReportMaker, Timer, TransmittingEntity, sn_format

MS = 1_000_000
SIZE = 1500
REPORT_DELAY = 5 * MS
MAX_EVENTS = 1000
"""At one moment: more is a busy loop."""
Carried = tuple[int, int, int]
"""Bearer, SN, SDU."""


class Bearer:
    """Both entities of a bearer, and what became of its SDUs."""

    def __init__(self, entity: TransmittingEntity[int], legs: int) -> None:
        self.entity = entity
        self.receiver = ReceivingEntity[int](sn_format(18), t_reordering=Timer(200 * MS), legs=legs)
        self.maker = ReportMaker(self.receiver, legs=legs, interval=20 * MS, with_status=True)
        self.maker.start(0)
        self.reports: deque[tuple[int, bytes]] = deque()
        self.pushed = 0
        self.gone: set[int] = set()
        """SDUs that were refused, discarded, or dropped by a leg."""
        self.arrived: set[int] = set()
        self.delivered: list[int] = []
        self.count_of: dict[int, int] = {}
        self.sdu_of: dict[int, int] = {}


class SharedLegs:
    """Legs and the bearers over them."""

    def __init__(
        self, legs: Sequence[AnyLeg[Carried]], entities: Sequence[TransmittingEntity[int]]
    ) -> None:
        self.legs = legs
        self.bearers = [Bearer(entity, len(legs)) for entity in entities]
        self.now = 0
        for leg in legs:
            leg.start(0)

    def push(self, number: int, sdus: int) -> None:
        """So many SDUs come to a bearer."""
        bearer = self.bearers[number]
        for _ in range(sdus):
            sdu = bearer.pushed
            bearer.pushed += 1
            if not bearer.entity.push(sdu, SIZE, self.now):
                bearer.gone.add(sdu)
            self._submit(number)

    def set_up(self, leg: int, up: bool) -> None:
        """A leg goes up or down."""
        self.legs[leg].set_up(up, self.now)
        self._changed()

    def run(self, until: int) -> None:
        """Go on to `until` (ns)."""
        same = 0
        while (moment := self._next()) <= until:
            same = same + 1 if moment <= self.now else 0
            assert same < MAX_EVENTS, "a busy loop"
            self.now = max(self.now, moment)
            self._step()
        self.now = until

    def held_by(self, leg: int) -> set[tuple[int, int]]:
        """Bearers and SDUs in a leg; they are taken out. Its receiver may have some already."""
        flushed = self.legs[leg].flush(self.now)
        behind = self.legs[leg].poll(self.now + 1000 * MS)
        return {(bearer, sdu) for bearer, _, sdu in (*flushed, *behind)}

    def _next(self) -> int:
        moments: list[int | None] = [leg.next_timeout() for leg in self.legs]
        for bearer in self.bearers:
            moments += [bearer.entity.next_timeout(), bearer.receiver.next_timeout()]
            moments += [bearer.maker.next_timeout()]
            moments += [bearer.reports[0][0]] if bearer.reports else []
        return min(each for each in moments if each is not None)

    def _step(self) -> None:
        for number, leg in enumerate(self.legs):
            for of, sn, sdu in leg.poll(self.now):
                bearer = self.bearers[of]
                bearer.arrived.add(sdu)
                pdu = Pdu(sdu, SIZE, leg=number, sn=sn)
                bearer.receiver.note(pdu)
                bearer.receiver.push(pdu, self.now)
            for of, _, sdu in leg.dropped():
                self.bearers[of].gone.add(sdu)
        for bearer in self.bearers:
            bearer.delivered += bearer.receiver.poll(self.now)
            report = bearer.maker.poll(self.now)
            if report is not None:
                bearer.reports.append((self.now + REPORT_DELAY, report))
            while bearer.reports and bearer.reports[0][0] <= self.now:
                data = bearer.reports.popleft()[1]
                if bearer.entity.feedback is not None:
                    bearer.entity.feedback.push(data, self.now)
                    assert not bearer.entity.feedback.counts()[2]
        self._changed()

    def _changed(self) -> None:
        for number, bearer in enumerate(self.bearers):
            for leg in bearer.entity.lost_legs(self.now):
                flushed = self.legs[leg].flush(self.now, _of(number))
                bearer.entity.leg_lost(leg, [sn for _, sn, _ in flushed], self.now)
            self._submit(number)

    def _submit(self, number: int) -> None:
        bearer = self.bearers[number]
        polls = 0
        while pdus := bearer.entity.poll(self.now):
            polls += 1
            assert polls < MAX_EVENTS, "a busy loop"
            for pdu in pdus:
                assert bearer.count_of.setdefault(pdu.sdu, pdu.count) == pdu.count
                assert bearer.sdu_of.setdefault(pdu.count, pdu.sdu) == pdu.sdu
                packet: Any = (number, pdu.sn, pdu.sdu)
                if not self.legs[pdu.leg].push(packet, SIZE + 3, self.now):
                    bearer.gone.add(pdu.sdu)
        moment = bearer.entity.next_timeout()
        assert moment is None or moment > self.now, "a timeout that has passed"
        bearer.gone.update(bearer.entity.dropped())


def _of(bearer: int) -> Callable[[Carried], bool]:
    return lambda carried: carried[0] == bearer
