"""The transmitting PDCP entity: it numbers SDUs and puts their PDUs on legs.

Each SDU passes these steps (TS 38.323 clause 5.2.1):

1. The split policy names the legs of the PDU.
2. The SDU gets COUNT = TX_NEXT and its PDU the SN = TX_NEXT modulo 2^bits. TX_NEXT grows by 1.
3. The PDU goes to the named leg. If the policy names several legs (duplication), each gets a copy
   with the same COUNT, in the order of the legs.

With early numbering all steps happen when the SDU arrives. With late numbering SDUs wait, and the
first one takes the steps when its leg accepts it. Behind backhauls an SDU may get its COUNT when it
arrives, and wait with it until its leg's node wants it (TS 38.425 clause 5.4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from minitopo_dc.pdcp.classify import PacketFacts
from minitopo_dc.pdcp.codec import NO_COUNT, Pdu, SnFormat
from minitopo_dc.pdcp.policies.policy import PolicyError, SplitPolicy, checked_split, sees_legs
from minitopo_dc.pdcp.policies.view import LegQueue, LegView
from minitopo_dc.pdcp.statistics import HoldingStatistics, TransmitStatistics
from minitopo_dc.pdcp.transmitting.buffers import Recovery, SduBuffer
from minitopo_dc.pdcp.transmitting.distant_leg import DistantLeg
from minitopo_dc.pdcp.transmitting.duplication import SelectiveDuplication
from minitopo_dc.pdcp.transmitting.feedback import Feedback, LegFailures
from minitopo_dc.pdcp.transmitting.flow_control import FlowControl
from minitopo_dc.pdcp.transmitting.legs import LEAD_NS, BearerLeg, BearerLegs
from minitopo_dc.units import earliest

T = TypeVar("T")


class TransmittingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.1 for SDUs of any type.

    Without `waiting` nothing is kept. With it (late numbering, but for `early`):

    - The policy is asked for the first SDU only. If it answers `()`, it is asked again when an SDU
      arrives or a leg serves a packet.
    - All SDUs wait until the named leg accepts the first one. If the policy names several legs, one
      that accepts is enough; the others get their copies into their queues.
    - An SDU that has waited for discardTimer is discarded. It gets no number, or leaves a gap
      (clause 5.3).

    With late numbering, `recovery` or `failures`, the entity does not use a leg that is down: a PDU
    for it takes the leg that is up and expected to deliver first. If no leg is up, early numbering
    puts the PDU into the queue of the named leg. With `failures`, a failed leg counts as down, but
    it gets a copy now and then (a probe), so that the receiver's reports tell when it recovers.

    If the entity follows its legs (`waiting`, `flow_control`, `recovery` or `failures`), the caller
    puts the PDUs of `poll` on their legs and calls it again until it returns none. The caller also
    calls `poll` at `next_timeout()` and when a leg has changed.

    COUNT grows without end. The standard renews the keys before COUNT reaches 2^32 - 1.
    """

    def __init__(
        self,
        sn_format: SnFormat,
        policy: SplitPolicy,
        *,
        legs: int,
        first_count: int = 0,  # clause 7.1: initial value of TX_NEXT
        states: Sequence[LegQueue] = (),
        reports: bool = False,
        waiting: SduBuffer[T] | None = None,
        early: bool = False,
        flow_control: Sequence[FlowControl] = (),
        recovery: Recovery[T] | None = None,
        duplication: SelectiveDuplication | None = None,
        failures: LegFailures | None = None,
        mark_above: int | None = None,
        make_pdu: Callable[[T, int], Pdu[T]] = Pdu,
    ) -> None:
        """Make an entity whose first SDU gets COUNT `first_count`.

        Args:
            sn_format: gives the length of the SN.
            policy: chooses the legs.
            legs: their number.
            first_count: COUNT of the first SDU.
            states: the legs themselves, for what has to see them.
            reports: whether the receiver's reports are made use of (`feedback`).
            waiting: where SDUs wait until a leg takes them; None: they do not.
            early: whether SDUs that wait have a number already.
            flow_control: of each leg's backhaul; none: the legs are beside the entity.
            recovery: what is kept for data recovery; None: nothing, and there is none.
            duplication: which SDUs take more legs than the policy names; None: none does.
            failures: finds legs that lose all, by the reports; None: nobody looks.
            mark_above: an SDU is marked (RFC 3168) when it is expected to have waited for longer,
                in ns, on each leg that gets it, as the legs are known here; None: none is.
            make_pdu: makes a PDU from an SDU and its size.

        Raises:
            PolicyError: legs are to be seen, and `states` has not one for each.
        """
        self.policy = policy
        self._split = checked_split(policy, legs)
        self._mask = sn_format.modulus - 1
        self._first_count = first_count
        self.tx_next = first_count
        """COUNT of the next SDU (clause 7.1)."""
        self._ready: list[Pdu[T]] = []
        self._waiting = waiting
        self._early = early
        self._lost: list[T] = []  # SDUs that a backhaul loses
        self._recovery = recovery
        self._duplication = duplication
        self._failures = failures
        self._mark_above = mark_above
        self._make_pdu = make_pdu
        self._marked = self._dropped_split = self._reached = 0
        self._answer: tuple[int, ...] = ()
        self._wake: int | None = None
        self.feedback = Feedback(legs) if reports else None
        self.follows_legs = bool(flow_control) or any(
            part is not None for part in (waiting, recovery, failures)
        )
        """Whether `poll` has to be called until it gives nothing, and after leg changes."""
        duplicates_by_leg = duplication is not None and duplication.rule.sees_legs
        follows = self.follows_legs or duplicates_by_leg or mark_above is not None
        if (follows or sees_legs(policy)) and len(states) != legs:
            raise PolicyError(
                f"split policy {type(policy).__name__} sees legs: needs {legs}, "
                f"{len(states)} are shown"
            )
        self._legs: BearerLegs[T] = BearerLegs(
            legs,
            lead=LEAD_NS if sees_legs(policy) else None,
            header=sn_format.size,
            waiting=waiting,
            feedback=self.feedback,
            failures=failures,
        )
        self._legs.legs = tuple(
            DistantLeg(leg, queue, self._legs, flow_control[leg])
            if flow_control
            else BearerLeg(leg, queue, self._legs)
            for leg, queue in enumerate(states)
        )
        self._views: tuple[LegView, ...] = self._legs.legs if sees_legs(policy) else ()

    @property
    def needs_facts(self) -> bool:
        """Return whether `push` has to be told what a packet's headers tell."""
        return self._duplication is not None and self._duplication.rule.needs_facts

    def push(self, sdu: T, size: int, now: int, facts: PacketFacts | None = None) -> bool:
        """Take an SDU of `size` bytes from upper layers at `now` (ns).

        Args:
            sdu: whatever the caller hands in.
            size: of the IP packet, without PDCP header.
            now: ns.
            facts: what its headers tell, where `needs_facts`.

        Returns:
            False: it is dropped. There is no room for it to wait (it has no number), or with early
            numbering the policy names no leg (its COUNT is used up).

        Raises:
            PolicyError: the policy raised an error, or named a leg that does not exist.
        """
        pdu = self._make_pdu(sdu, size)
        pdu.arrived, pdu.facts = now, facts
        if self._waiting is not None:
            on_legs = self._legs.queued()
            if self._waiting.is_full(size, on_legs):
                self._legs.settle(now)
                on_legs = self._legs.queued()  # fewer, since they were looked at
            taken = self._waiting.push(pdu, on_legs=on_legs)
            if taken and self._early:
                self._number(pdu)
            return taken
        legs = self._split(now=now, size=size, views=self._views)
        if self.follows_legs:
            legs = self._legs.select_up_legs(legs, now=now, size=size) or legs
        self._send_on(legs, pdu, now)
        return bool(legs)

    def poll(self, now: int) -> list[Pdu[T]]:
        """Return the PDUs to submit to the legs, in order of COUNT but for those sent again.

        Raises:
            PolicyError: as `push` does.
        """
        if self.follows_legs:
            self._poll_legs(now)
            while not self._ready and self._wake is not None and self._wake <= now:
                self._poll_legs(now)  # a node has answered at once
        ready, self._ready = self._ready, []
        return ready

    def dropped(self) -> list[T]:
        """Return the SDUs, since the last call, that reach no leg, or are not sent again."""
        dropped, self._lost = self._lost, []
        if self._waiting is not None:
            dropped += self._waiting.take_expired()
        return dropped if self._recovery is None else dropped + self._recovery.take_given_up()

    def next_timeout(self) -> int | None:
        """Return when to poll again (ns), as of the last poll; None: at the next `push`."""
        return self._wake

    def lost_legs(self, now: int) -> list[int]:
        """Return the legs that are newly lost; empty their queues and call `leg_lost` for each.

        Call it when a leg has changed, a report came, or before `poll`: a node tells of its leg.
        """
        if self._recovery is None:
            return []
        self._legs.settle(now)
        return self._legs.lost()

    def leg_lost(self, leg: int, flushed: Sequence[int], now: int) -> None:
        """Take in that `leg` is lost at `now` (ns), with `flushed` SNs taken from its queue.

        Those are all that the queue held of this bearer. Data recovery (clause 5.5) then sends
        again on the other legs what was given to this one and is not confirmed: the flushed PDUs at
        once, the rest when a status report says that they are missing. For a leg that has failed
        the latest status report already says so, as nothing came by it for long enough.
        """
        if self._recovery is None:
            return
        lost = self._legs.legs[leg]
        counts = {*lost.withdraw(now), *map(self._latest_count, flushed)}
        delay = 0 if lost.has_failed else lost.mean_delay_ns
        self._recovery.leg_lost(leg, counts, now + delay)

    def statistics(self) -> TransmitStatistics:
        """Return the counters of this entity up to now."""
        sdus = self.tx_next - self._first_count
        pdus, size = tuple(self._legs.sent_pdus), tuple(self._legs.sent_bytes)
        marked = None if self._mark_above is None else self._marked
        if not self.follows_legs and self._duplication is None:
            return TransmitStatistics(sdus, pdus, size, self._dropped_split, marked_sdus=marked)
        waiting = SduBuffer() if self._waiting is None else self._waiting
        recovery, failures = self._recovery, self._failures
        xn_packets = sum(leg.on_the_way for leg in self._legs.legs)
        return HoldingStatistics(
            sdus,
            pdus,
            size,
            self._dropped_split,
            marked_sdus=marked,
            offered=sdus + waiting.without_number(early=self._early),
            waiting=len(waiting),
            waiting_maximum=waiting.most,
            dropped_buffer=waiting.dropped,
            discarded=waiting.discarded,
            dropped_xn=sum(pdus) - self._reached - xn_packets if self.follows_legs else 0,
            xn_packets=xn_packets,
            resent=0 if recovery is None else recovery.resent,
            not_resent=0 if recovery is None else recovery.not_resent,
            duplicated=0 if self._duplication is None else self._duplication.duplicated,
            **({} if failures is None else failures.counts()),
        )

    def _poll_legs(self, now: int) -> None:
        self._legs.settle(now)
        if self._recovery is not None:
            self._send_again(self._recovery, now)
        if self._waiting is not None:
            self._send_waiting(self._waiting, now)
        arrived = [pdu for leg in self._legs.legs for pdu in leg.arrived(now)]
        self._reached += len(arrived)
        self._ready += arrived
        self._wake = self._next_occasion(now)

    def _number(self, pdu: Pdu[T]) -> None:
        pdu.count, pdu.sn = self.tx_next, self.tx_next & self._mask
        self.tx_next += 1

    def _mark(self, legs: tuple[int, ...], sdu: Any, waited: int, now: int) -> None:
        """Mark an SDU that is expected to wait for too long, with what it has waited."""
        drains = [self._legs.legs[leg].drain_ns(now=now) for leg in legs]
        known = [drain for drain in drains if drain is not None]
        assert self._mark_above is not None
        if known and min(known) > self._mark_above - waited and sdu.ecn:
            sdu.mark()
            self._marked += 1

    def _send_on(self, legs: tuple[int, ...], pdu: Pdu[T], now: int) -> None:
        """Send an SDU on the legs that the split names, and on those of its duplicates."""
        if self._duplication is not None:
            views, facts = self._legs.legs, pdu.facts
            legs = self._duplication.legs(legs, now=now, size=pdu.size, views=views, facts=facts)
        if pdu.count == NO_COUNT:
            self._number(pdu)
        if not legs:
            self._dropped_split += 1
            return
        if self._mark_above is not None:
            self._mark(legs, pdu.sdu, now - pdu.arrived, now)
        first = pdu if self._recovery is None else self._copy(pdu)
        copies = [first, *(self._copy(pdu) for _ in legs[1:])]
        reached = [self._send(sent, leg, now) for sent, leg in zip(copies, legs, strict=True)]
        if not any(reached):
            self._lost.append(pdu.sdu)
        if self._recovery is not None:
            for leg in legs:
                self._recovery.sent(leg, pdu)
        if self._failures is not None:
            # Copies only, so data recovery does not count on them.
            for leg in self._legs.legs_to_probe(legs, pdu.size, now):
                self._failures.probed(leg, now)
                self._send(self._copy(pdu), leg, now)

    def _copy(self, pdu: Pdu[T]) -> Pdu[T]:
        """Return another PDU of the same SDU with its number, for another leg or later."""
        copied = self._make_pdu(pdu.sdu, pdu.size)
        copied.count, copied.sn = pdu.count, pdu.sn
        return copied

    def _send(self, pdu: Pdu[T], leg: int, now: int) -> bool:
        """Send a PDU on a leg; False: it will not reach it."""
        bearer = self._legs
        pdu.leg = leg
        bearer.sent_pdus[leg] += 1
        bearer.sent_bytes[leg] += pdu.size
        if self.feedback is not None:
            self.feedback.sent(leg, pdu.count)
        if self.follows_legs:
            return bearer.legs[leg].send(pdu, now)
        self._ready.append(pdu)
        return True

    def _send_waiting(self, waiting: SduBuffer[T], now: int) -> None:
        """Send SDUs in order of arrival, for as long as their legs take them."""
        bearer = self._legs
        waiting.expire(now)
        while (first := waiting.first()) is not None:
            size = first.size
            self._answer = self._answer or self._split(now=now, size=size, views=self._views)
            legs = bearer.select_up_legs(self._answer, now=now, size=size)
            if not any(bearer.legs[leg].accepts(now=now, size=size) for leg in legs):
                return
            self._answer = ()
            waiting.pop()
            self._send_on(legs, first, now)

    def _send_again(self, recovery: Recovery[T], now: int) -> None:
        """Send again what is to be recovered, in order of COUNT (clause 5.5)."""
        if self.feedback is not None:
            recovery.take_status(self.feedback)
        while (first := recovery.first(now)) is not None:
            leg = self._legs.soonest(now=now, size=first.size)
            if leg is None or not self._legs.legs[leg].accepts(now=now, size=first.size):
                return
            recovery.pop()
            self._send(self._copy(first), leg, now)
            recovery.sent(leg, first)

    def _next_occasion(self, now: int) -> int | None:
        recovery, waiting = self._recovery, self._waiting
        again = recovery is not None and recovery.has_more
        return earliest(
            self._legs.next_timeout(now, more=again or bool(waiting)),
            None if waiting is None else waiting.next_timeout(),
            None if recovery is None else recovery.next_timeout(),
        )

    def _latest_count(self, sn: int) -> int:
        """Return the latest COUNT below TX_NEXT with this SN."""
        last = self.tx_next - 1
        return last - ((last - sn) & self._mask)
