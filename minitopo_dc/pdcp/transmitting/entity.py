"""The transmitting PDCP entity: it numbers SDUs and puts their PDUs on legs.

Each SDU passes these steps (TS 38.323 clause 5.2.1):

1. The split policy names the legs of the PDU.
2. The SDU gets COUNT = TX_NEXT and its PDU the SN = TX_NEXT modulo 2^bits. TX_NEXT grows by 1.
3. The PDU goes to the named leg. If the policy names several legs (duplication), each gets a copy
   with the same COUNT, in the order of the legs.

With early numbering all steps happen when the SDU arrives. With late numbering SDUs wait, and the
first one takes the steps when its leg accepts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from minitopo_dc.pdcp.formats.classify import PacketFacts
from minitopo_dc.pdcp.formats.codec import SnFormat
from minitopo_dc.pdcp.policies.policy import PolicyError, SplitPolicy, sees_legs
from minitopo_dc.pdcp.policies.question import CheckedPolicy
from minitopo_dc.pdcp.policies.view import LegState, LegView
from minitopo_dc.pdcp.statistics import HoldingStatistics, TransmitStatistics
from minitopo_dc.pdcp.transmitting.bearer_legs import BearerLegs
from minitopo_dc.pdcp.transmitting.duplication import SelectiveDuplication
from minitopo_dc.pdcp.transmitting.entity_leg_view import EntityLegView
from minitopo_dc.pdcp.transmitting.feedback import Feedback
from minitopo_dc.pdcp.transmitting.flow_control import FlowControl
from minitopo_dc.pdcp.transmitting.leg_access import LEAD_NS, LegAccess
from minitopo_dc.pdcp.transmitting.leg_failure import LegFailures
from minitopo_dc.pdcp.transmitting.recovery import Recovery, SentPdu
from minitopo_dc.pdcp.transmitting.waiting import SduBuffer

T = TypeVar("T")


@dataclass(slots=True)
class Pdu(Generic[T]):
    """An SDU with its number and the leg it takes (index of the bearer's legs, from 0)."""

    leg: int
    count: int
    sn: int
    sdu: T
    again: bool = False
    """Whether it was sent before, on another leg (data recovery)."""


class TransmittingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.1 for SDUs of any type.

    Early numbering keeps nothing. With late numbering (`waiting`):

    - The policy is asked for the first SDU only. If it answers `()`, it is asked again when an SDU
      arrives or a leg serves a packet.
    - All SDUs wait until the named leg accepts the first one. If the policy names several legs, one
      that accepts is enough; the others get their copies into their queues.
    - An SDU that has waited for discardTimer is discarded and gets no number.

    With late numbering, `recovery` or `failures`, the entity does not use a leg that is down: a PDU
    for it takes the leg that is up and expected to deliver first. If no leg is up, early numbering
    puts the PDU into the queue of the named leg. With `failures`, a failed leg counts as down, but
    it gets a copy now and then (a probe), so that the receiver's reports tell when it recovers.

    If the entity follows its legs (`waiting`, `flow_control`, `recovery` or `failures`), the caller
    puts the PDUs of `poll` on their legs and calls it again until it returns none. The caller also
    calls `poll` at `next_timeout()` and when a leg has changed.

    COUNT grows without end. The standard renews the keys before COUNT reaches 2^32 - 1.
    """

    __slots__ = (
        *("_all_views", "_answer", "_bytes", "_duplication", "_failures", "_first_count"),
        *("_legs", "_mask"),
        *("_pdus", "_policy", "_ready", "_recovery", "_states", "_tx_next", "_views", "_waiting"),
        *("_wake", "feedback"),
    )

    def __init__(
        self,
        sn_format: SnFormat,
        policy: SplitPolicy,
        *,
        legs: int,
        first_count: int = 0,  # clause 7.1: initial value of TX_NEXT
        states: Sequence[LegState] = (),
        reports: bool = False,
        waiting: SduBuffer[T] | None = None,
        flow_control: Sequence[FlowControl] = (),
        recovery: Recovery[T] | None = None,
        duplication: SelectiveDuplication | None = None,
        failures: LegFailures | None = None,
    ) -> None:
        """Make an entity whose first SDU gets COUNT `first_count`.

        Args:
            sn_format: gives the length of the SN.
            policy: chooses the legs.
            legs: their number.
            first_count: COUNT of the first SDU.
            states: the legs themselves, for what has to see them.
            reports: whether the receiver's reports are made use of (`feedback`).
            waiting: where SDUs wait, for late numbering; None: early numbering.
            flow_control: of each leg's backhaul; none: the legs are beside the entity.
            recovery: what is kept for data recovery; None: nothing, and there is none.
            duplication: which SDUs take more legs than the policy names; None: none does.
            failures: finds legs that lose all, by the reports; None: nobody looks.

        Raises:
            PolicyError: legs are to be seen, and `states` has not one for each.
        """
        self._policy = CheckedPolicy(policy, legs)
        self._mask = sn_format.modulus - 1
        self._first_count = first_count
        self._tx_next = first_count
        self._ready: list[Pdu[T]] = []
        self._pdus = [0] * legs
        self._bytes = [0] * legs
        self._states = tuple(states)
        self._waiting = waiting
        self._recovery = recovery
        self._duplication = duplication
        self._failures = failures
        self._answer: tuple[int, ...] = ()
        self._wake: int | None = None
        self.feedback = Feedback(legs) if reports else None
        follows = any(each is not None for each in (waiting, recovery, failures))
        follows = follows or bool(flow_control)
        duplicates_by_leg = duplication is not None and duplication.sees_legs
        if (follows or duplicates_by_leg or sees_legs(policy)) and len(states) != legs:
            raise PolicyError(
                f"split policy {type(policy).__name__} sees legs: needs {legs}, "
                f"{len(states)} are shown"
            )
        self._legs: BearerLegs[Pdu[T]] | None = None
        if follows:
            lead = LEAD_NS if sees_legs(policy) else None
            self._legs = BearerLegs(
                states, flow_control, lead=lead, header=sn_format.size, failures=failures
            )
        self._all_views = tuple(self._view(leg, state) for leg, state in enumerate(states))
        self._views: tuple[LegView, ...] = self._all_views if sees_legs(policy) else ()

    @property
    def tx_next(self) -> int:
        """Return TX_NEXT: the COUNT of the next SDU (clause 7.1)."""
        return self._tx_next

    @property
    def follows_legs(self) -> bool:
        """Return whether `poll` has to be called until it gives nothing, and after leg changes."""
        return self._legs is not None

    @property
    def recovers(self) -> bool:
        """Return whether data recovery is configured, for which a leg gives back what it holds."""
        return self._recovery is not None

    @property
    def needs_facts(self) -> bool:
        """Return whether `push` has to be told what a packet's headers tell."""
        return self._duplication is not None and self._duplication.needs_facts

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
        if self._waiting is not None and self._legs is not None:
            if self._waiting.is_full(len(self._legs)):
                self._legs.settle(now)  # legs have fewer since they were looked at
            return self._waiting.push(sdu, size, now, facts=facts, on_legs=len(self._legs))
        legs = self._policy.legs(now=now, size=size, views=self._views)
        if self._legs is not None:
            legs = self._legs.select_up_legs(legs, now=now, size=size) or legs
        if self._duplication is not None:
            legs = self._duplication.legs(
                legs, now=now, size=size, views=self._all_views, facts=facts
            )
        self._number(sdu, size, now, legs, now)
        return bool(legs)

    def poll(self, now: int) -> list[Pdu[T]]:
        """Return the PDUs to submit to the legs, in order of COUNT but for those sent again.

        Raises:
            PolicyError: as `push` does.
        """
        if self._legs is not None:
            self._legs.settle(now)
            self._take_report(self._legs)
            if self._recovery is not None:
                self._send_again(self._recovery, self._legs, now)
            if self._waiting is not None:
                self._send_waiting(self._waiting, self._legs, now)
            self._ready += self._legs.arrived(now)
            self._wake = self._next_occasion(self._legs, now)
        ready, self._ready = self._ready, []
        return ready

    def dropped(self) -> list[T]:
        """Return the SDUs, since the last call, that are not sent or not again: mostly too old."""
        expired = [] if self._waiting is None else self._waiting.take_expired()
        return expired if self._recovery is None else expired + self._recovery.take_given_up()

    def next_timeout(self) -> int | None:
        """Return when to poll again (ns), as of the last poll; None: at the next `push`."""
        return self._wake

    def lost_legs(self, now: int) -> list[int]:
        """Return the legs that are newly lost; empty their queues and call `leg_lost` for each.

        Call it when a leg has changed or a report came.
        """
        if self._legs is None or self._recovery is None:
            return []
        if self._failures is not None:
            self._legs.settle(now)
            self._take_report(self._legs)
        return self._legs.lost()

    def leg_lost(self, leg: int, flushed: Sequence[int], now: int) -> None:
        """Take in that `leg` is lost at `now` (ns), with `flushed` SNs taken from its queue.

        Those are all that the queue held of this bearer. Data recovery (clause 5.5) then sends
        again on the other legs what was given to this one and is not confirmed: the flushed PDUs at
        once, the rest when a status report says that they are missing. For a leg that has failed
        the latest status report already says so, as nothing came by it for long enough.
        """
        if self._recovery is None or self._legs is None:
            return
        withdrawn = {pdu.count for pdu in self._legs.accesses[leg].withdraw(now)}
        counts = withdrawn.union(map(self._latest_count, flushed))
        delay = 0 if self._legs.has_failed(leg) else self._states[leg].mean_delay_ns
        self._recovery.leg_lost(leg, counts, now + delay)

    def statistics(self) -> TransmitStatistics:
        """Return the counters of this entity up to now."""
        sdus, pdus, size = self._tx_next - self._first_count, tuple(self._pdus), tuple(self._bytes)
        if self._legs is None and self._duplication is None:
            return TransmitStatistics(sdus, pdus, size)
        waiting, recovery, failures = self._waiting, self._recovery, self._failures
        return HoldingStatistics(
            sdus,
            pdus,
            size,
            waiting=0 if waiting is None else len(waiting),
            waiting_maximum=0 if waiting is None else waiting.most,
            dropped_buffer=0 if waiting is None else waiting.dropped,
            discarded=0 if waiting is None else waiting.discarded,
            resent=0 if recovery is None else recovery.resent,
            not_resent=0 if recovery is None else recovery.not_resent,
            duplicated=0 if self._duplication is None else self._duplication.duplicated,
            failures=None if failures is None else failures.failures,
            failed_ns=None if failures is None else failures.failed_ns,
            probes=None if failures is None else failures.probes,
        )

    def _take_report(self, followed: BearerLegs[Pdu[T]]) -> None:
        if self.feedback is not None:
            followed.take_report(self.feedback)

    def _view(self, leg: int, state: LegState) -> LegView:
        return EntityLegView(
            leg,
            state,
            legs=self._legs,
            waiting=self._waiting,
            feedback=self.feedback,
            pdus=self._pdus,
            sent_bytes=self._bytes,
        )

    def _number(self, sdu: T, size: int, arrived: int, legs: tuple[int, ...], now: int) -> None:
        count = self._tx_next
        self._tx_next = count + 1
        for leg in legs:
            self._send(Pdu(leg, count, count & self._mask, sdu), size, now)
            if self._recovery is not None:
                self._recovery.sent(leg, SentPdu(count, sdu, size, arrived))
        if self._legs is not None and self._failures is not None and legs:
            # Copies only, so data recovery does not count on them.
            for leg in self._legs.legs_to_probe(legs, now):
                if self._has_room(self._legs.accesses[leg], size, now):
                    self._failures.probed(leg, now)
                    self._send(Pdu(leg, count, count & self._mask, sdu), size, now)

    def _send(self, pdu: Pdu[T], size: int, now: int) -> None:
        leg = pdu.leg
        self._pdus[leg] += 1
        self._bytes[leg] += size
        if self.feedback is not None:
            self.feedback.sent(leg, pdu.count)
        if self._legs is None:
            self._ready.append(pdu)
        else:
            self._legs.accesses[leg].send(pdu, now=now, size=size, count=pdu.count)

    def _send_waiting(self, waiting: SduBuffer[T], followed: BearerLegs[Pdu[T]], now: int) -> None:
        """Give SDUs their numbers in order of arrival, for as long as their legs take them."""
        waiting.expire(now)
        while (first := waiting.first()) is not None:
            size = first.size
            self._answer = self._answer or self._policy.legs(now=now, size=size, views=self._views)
            legs = followed.select_up_legs(self._answer, now=now, size=size)
            if not followed.can_send(legs, now=now, size=size):
                return
            self._answer = ()
            waiting.pop()
            if self._duplication is not None:
                legs = self._duplication.legs(
                    legs, now=now, size=size, views=self._all_views, facts=first.facts
                )
            self._number(first.sdu, size, first.arrived, legs, now)

    def _send_again(self, recovery: Recovery[T], followed: BearerLegs[Pdu[T]], now: int) -> None:
        """Send again what is to be recovered, in order of COUNT (clause 5.5)."""
        if self.feedback is not None:
            recovery.take_status(self.feedback)
        while (first := recovery.first(now)) is not None:
            leg = followed.soonest(now=now, size=first.size)
            if leg is None or not self._has_room(followed.accesses[leg], first.size, now):
                return
            recovery.pop()
            pdu = Pdu(leg, first.count, first.count & self._mask, first.sdu, again=True)
            self._send(pdu, first.size, now)
            recovery.sent(leg, first)

    def _has_room(self, leg: LegAccess[Pdu[T]], size: int, now: int) -> bool:
        """Return whether a leg takes a PDU again; with early numbering its queue needs room."""
        return (
            leg.has_room(now=now, size=size)
            if self._waiting is None
            else leg.takes(now=now, size=size)
        )

    def _next_occasion(self, followed: BearerLegs[Pdu[T]], now: int) -> int | None:
        recovery, waiting = self._recovery, self._waiting
        again = recovery is not None and recovery.has_more
        moments = [
            followed.next_timeout(now, wanted=again or bool(waiting)),
            None if waiting is None else waiting.next_timeout(),
            None if recovery is None else recovery.next_timeout(),
        ]
        return min((moment for moment in moments if moment is not None), default=None)

    def _latest_count(self, sn: int) -> int:
        """Return the latest COUNT below TX_NEXT with this SN."""
        last = self._tx_next - 1
        return last - ((last - sn) & self._mask)
