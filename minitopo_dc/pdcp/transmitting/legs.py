"""The legs of one bearer: its transmitting entity sends on them, its split policy sees them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from minitopo_dc.pdcp.codec import Pdu
from minitopo_dc.pdcp.policies.view import LegQueue, LegReport, LegState, LegView
from minitopo_dc.pdcp.transmitting.buffers import SduBuffer
from minitopo_dc.pdcp.transmitting.feedback import Feedback, LegFailures
from minitopo_dc.units import NS_PER_S, earliest

LEAD_NS: Final = 2_000_000
"""A leg takes what it serves within 2 ms: the slot of 1 ms that it sends (TS 36.211, and 38.211 at
15 kHz) and the next, which it has to fill beforehand. Of a TDD pattern these may carry what comes
in longer (`LegQueue.slot_lead_ns`): a leg that runs dry between them would have to ask for a grant,
although the buffer status reports of its UE tell of what waits above it (TS 38.321, 5.4.5)."""
MIN_PACKETS: Final = 2
"""One in service, and one behind it, so that a slow leg is never idle either."""

T = TypeVar("T")


@dataclass(eq=False)
class BearerLegs(Generic[T]):
    """All legs of one bearer (numbered from 0), to which it sends PDUs with SDUs of type `T`.

    Attributes:
        number: how many legs there are.
        lead: of how much a leg beside the entity takes (`BearerLeg`), ns.
        header: bytes that a PDU has more than its SDU.
        waiting: where SDUs wait for a number; None: they do not.
        feedback: the receiver's reports; None: there are none.
        failures: which legs have failed; None: nobody looks.
    """

    number: int
    lead: int | None = None
    header: int = 0
    waiting: SduBuffer[Any] | None = None
    feedback: Feedback | None = None
    failures: LegFailures | None = None

    def __post_init__(self) -> None:
        self.sent_pdus = [0] * self.number
        """PDUs made, per leg, and the bytes of their SDUs without PDCP headers."""
        self.sent_bytes = [0] * self.number
        self._down: set[int] = set()
        self._failed: frozenset[int] = frozenset()
        self.legs: tuple[BearerLeg[T], ...] = ()
        """The bearer's side of each leg, which its entity makes; none: they cannot be seen."""

    def queued(self) -> tuple[int, int]:
        """Return the SDUs in the legs' queues and their bytes, as of the last `settle`.

        What is on a backhaul waits in no queue.
        """
        packets = size = 0
        for leg in self.legs:
            packets += len(leg.inside) + len(leg._sent)
            size += leg.inside.bytes + sum(pdu.size for pdu in leg._sent)
        return packets, size

    def settle(self, now: int) -> None:
        """Look how far each leg is at `now` (ns), and which have failed by the latest report.

        The report is assumed to come back with the least mean delay of all legs.
        """
        for leg in self.legs:
            count = leg.settle(now)
            if self.failures is not None and count is not None:
                self.failures.expect_arrival(leg.number, now + leg.mean_delay_ns, count)
        if self.failures is not None and self.feedback is not None:
            self.failures.take_report(self.feedback, min(leg.mean_delay_ns for leg in self.legs))

    def has_failed(self, leg: int) -> bool:
        """Return whether a leg has failed while another one is up that has not.

        Without such another leg, one that has failed is as good as any.
        """
        if self.failures is None or leg not in self.failures.failed:
            return False
        failed = self.failures.failed
        return any(other.serves for other in self.legs if other.number not in failed)

    def legs_to_probe(self, taken: Sequence[int], size: int, now: int) -> list[int]:
        """Return the failed legs that get a copy of the PDU that goes on the legs `taken`."""
        if self.failures is None:
            return []
        return [
            leg
            for leg in sorted(self.failures.failed)
            if leg not in taken
            and self.legs[leg].serves
            and self.failures.probe_is_due(leg, now)
            and self.legs[leg].accepts(now=now, size=size)
        ]

    def select_up_legs(self, legs: tuple[int, ...], *, now: int, size: int) -> tuple[int, ...]:
        """Return the legs of a policy's answer that are up, or the soonest leg in their place."""
        up = tuple(leg for leg in legs if self.legs[leg].is_up)
        if up or not legs:
            return up
        soonest = self.soonest(now=now, size=size)
        return () if soonest is None else (soonest,)

    def soonest(self, *, now: int, size: int) -> int | None:
        """Return the leg that is up on which an SDU is expected first, the lowest of equals."""
        expected = [
            (drain + leg.mean_delay_ns, leg.number)
            for leg in self.legs
            if leg.is_up and (drain := leg._state.drain_ns(now=now, more=size)) is not None
        ]
        return min(expected)[1] if expected else None

    def lost(self) -> list[int]:
        """Return the legs that have gone down or failed since the last call, ascending.

        They include legs that hold what they were given while no leg was up, now that another one
        is, and legs that have recovered from a failure, for what they were given while no other leg
        was up.
        """
        down = {leg.number for leg in self.legs if not leg._state.is_up}
        out = down | {leg.number for leg in self.legs if leg.has_failed}
        newly, self._down = out - self._down, out
        if self.failures is not None:
            newly |= self._failed - self.failures.failed
            self._failed = self.failures.failed
        if len(down) < len(self.legs):
            newly |= {leg for leg in down if self.legs[leg].held}
        return sorted(newly)

    def next_timeout(self, now: int, *, more: bool) -> int | None:
        """Return when something arrives or, if more is to be sent, a leg may take it (ns).

        It is also when a leg will have passed on the packets by which its failure would be noticed.
        """
        return earliest(
            *(leg.next_timeout(now, more=more or self._awaits_departure(leg)) for leg in self.legs)
        )

    def _awaits_departure(self, leg: BearerLeg[T]) -> bool:
        """Return whether a leg holds packets whose arrival time at its end is not known yet."""
        if self.failures is None or self.failures.expects(leg.number):
            return False
        return leg.held > 0


class BearerLeg(LegView, Generic[T]):
    """A leg beside the transmitting entity of a bearer, which sends PDUs on it.

    With late numbering it takes only what it will serve soon. So a PDU gets its number as late as
    possible, and the leg's queue drops nothing that has a number. Each bearer over the leg is
    counted by itself, as its node keeps a queue for each. A leg with a queue that it never serves
    again (its capacity has ended) is treated as down.

    It takes what it serves within `lead` (ns) at its present rate, but two of its slots at least;
    None: until its queue is full.
    So it is for a split that does not see its legs: it sends a batch on one while the others must
    not run dry.
    """

    may_wait = False

    def __init__(self, number: int, queue: LegQueue, bearer: BearerLegs[T]) -> None:
        """Make the bearer's side of its leg `number`."""
        self._state: LegState = queue
        self._queue = queue
        self.number = number
        self.inside = Outstanding(queue)
        """PDUs in its queue, as of the last `settle`."""
        self._bearer = bearer
        self._failures, self._waiting = bearer.failures, bearer.waiting
        self.may_wait = bearer.waiting is not None
        self._sent: list[Pdu[T]] = []
        self._settled = self._serves = True

    @property
    def mean_delay_ns(self) -> int:
        """Return the configured mean one-way delay, in ns."""
        return self._state.mean_delay_ns

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes of IP packets, with PDCP headers, not serialised yet at `now` (ns)."""
        return self._state.backlog_bytes(now=now)

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the leg's queue would take a packet of `size` bytes; else it drops it."""
        return self._state.has_room(now=now, size=size)

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take (ns), if that is known."""
        return None if self.has_failed else self._state.drain_ns(now=now, more=more)

    @property
    def is_up(self) -> bool:
        """Return whether the leg is up and has not failed, as far as the entity knows."""
        return self.serves and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Return whether the leg is not used because it loses all packets."""
        return self._failures is not None and self._bearer.has_failed(self.number)

    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg takes an SDU of `size` bytes now."""
        if self._waiting is None:
            return not self.has_failed and self._state.has_room(now=now, size=size)
        return not self.has_failed and self.accepts(now=now, size=size)

    def credit_bytes(self, *, now: int) -> int | None:  # noqa: ARG002  (LegView's)
        """Return None, as a leg beside its entity does not ask for bytes."""
        return None

    @property
    def pending_bytes(self) -> int:
        """Return the bytes that wait behind the first SDU."""
        return 0 if self._waiting is None else self._waiting.bytes_behind

    @property
    def sent_pdus(self) -> int:
        """Return the number of PDUs sent on this leg so far."""
        return self._bearer.sent_pdus[self.number]

    @property
    def sent_bytes(self) -> int:
        """Return the bytes of the SDUs sent on this leg."""
        return self._bearer.sent_bytes[self.number]

    @property
    def report(self) -> LegReport | None:
        """Return the receiver's latest report of this leg, None before the first."""
        feedback = self._bearer.feedback
        return None if feedback is None else feedback.reports[self.number]

    @property
    def held(self) -> int:
        """Return the PDUs in the leg's queue, or on their way there, as of the last `settle`."""
        return len(self.inside) + len(self._sent)

    @property
    def on_the_way(self) -> int:
        """Return the PDUs that were sent and have not reached the leg."""
        return len(self._sent)

    @property
    def serves(self) -> bool:
        """Return whether the leg is up and will serve its queue; it may have failed."""
        return self._serves and self._state.is_up

    def settle(self, now: int) -> int | None:
        """Look how far the leg is at `now` (ns), when all that `arrived` gave has reached it.

        Returns:
            The highest COUNT that it has served, if it has served more; else None.
        """
        before = self.inside.passed
        self.inside.settle(now)
        self._settled = not self._sent
        self._serves = not self._queue.is_up or will_serve(self._queue, now)
        return self.inside.highest_count if self.inside.passed > before else None

    def accepts(self, *, now: int, size: int) -> bool:
        """Return whether an SDU of `size` bytes may be sent at `now` (ns); it may have failed.

        With early numbering the queue needs room for it.
        """
        if self._waiting is None:
            return self._fits(now, size)
        return self.serves and self._wants(now, size)

    def send(self, pdu: Pdu[T], now: int) -> bool:  # noqa: ARG002  (distant)
        """Send a PDU to the leg at `now` (ns); False: it will not reach it."""
        self._sent.append(pdu)
        self._settled = False
        return True

    def arrived(self, now: int) -> list[Pdu[T]]:  # noqa: ARG002  (of distant ones)
        """Return the PDUs that reach the leg by `now` (ns), to be given to it at once."""
        sent, self._sent = self._sent, []
        for pdu in sent:
            self.inside.put(size=pdu.size, count=pdu.count)
        return sent

    def withdraw(self, now: int) -> list[int]:  # noqa: ARG002  (of distant ones)
        """Take back what has not reached the leg, whose queue is emptied; return its COUNTs."""
        self.inside.flushed()
        sent, self._sent = self._sent, []
        return [pdu.count for pdu in sent]

    def next_timeout(self, now: int, *, more: bool) -> int | None:
        """Return when something arrives or, if more is to be sent, the leg may take it (ns)."""
        return self._queue.service_end(now=now) if more else None

    def _fits(self, now: int, size: int) -> bool:
        """Return whether the queue has room, or is empty and would drop such an SDU anyway.

        The PDU sent before must have reached the queue first: one PDU after the other.
        """
        if not self._settled:
            return False
        more = size + self._bearer.header
        return self._queue.has_room(now=now, size=more) or is_empty(self._queue, now)

    def _wants(self, now: int, size: int) -> bool:
        """Return whether it serves all of the bearer within `lead` and its queue has room."""
        lead = self._bearer.lead
        if not self._fits(now, size):
            return False
        if lead is None or len(self.inside) < MIN_PACKETS:
            return True
        time = max(lead, self._queue.slot_lead_ns)
        return self.inside.bytes < bytes_within(self._queue, now=now, time=time)


class Outstanding:
    """PDUs of one bearer in a leg's queue, told from others' by the leg's packet numbers."""

    def __init__(self, leg: LegQueue) -> None:
        self._leg = leg
        self._inside: deque[tuple[int, int, int]] = deque()  # number, size, COUNT
        self.bytes = 0
        """Bytes of the SDUs of these PDUs."""
        self._put_bytes = 0  # in all
        self.highest_count: int | None = None
        """The highest COUNT of those that were served."""
        self.passed = 0
        """PDUs that were served."""

    def __len__(self) -> int:
        """Return how many PDUs of the bearer are in the queue."""
        return len(self._inside)

    @property
    def first_count(self) -> int | None:
        """Return the COUNT of the first of them; None: there is none."""
        return self._inside[0][2] if self._inside else None

    def put(self, *, size: int, count: int) -> None:
        """Note that a PDU joins the queue as its next packet, or is dropped there."""
        inside = self._inside
        last = inside[-1][0] if inside else 0
        inside.append((max(self._leg.joined_packets, last) + 1, size, count))
        self.bytes += size
        self._put_bytes += size

    @property
    def gone_bytes(self) -> int:
        """Return the bytes of the SDUs that are not in the queue any more."""
        return self._put_bytes - self.bytes

    def settle(self, now: int) -> None:
        """Forget what was dropped, and what has been served by `now` (ns)."""
        inside, joined = self._inside, self._leg.joined_packets
        while inside and inside[-1][0] > joined:
            self.bytes -= inside.pop()[1]
        served = self._leg.served_packets(now=now)
        while inside and inside[0][0] <= served:
            _, size, count = inside.popleft()
            self.bytes -= size
            self.passed += 1
            if self.highest_count is None or count > self.highest_count:
                self.highest_count = count

    def flushed(self) -> None:
        """Note that all of them were taken out of the queue."""
        self._inside.clear()
        self.bytes = 0


def is_empty(leg: LegQueue, now: int) -> bool:
    """Return whether a leg's queue holds no packet of any bearer."""
    return leg.served_packets(now=now) == leg.joined_packets


def will_serve(leg: LegQueue, now: int) -> bool:
    """Return whether a leg that is up will ever serve its queue; True if the queue is empty."""
    return leg.service_end(now=now) is not None or is_empty(leg, now)


def bytes_within(leg: LegQueue, *, now: int, time: int) -> int:
    """Return the bytes that a leg serves in `time` (ns) at the rate of `now`; 0 if unknown."""
    return leg.rate_bps(now=now) * time // (8 * NS_PER_S)
