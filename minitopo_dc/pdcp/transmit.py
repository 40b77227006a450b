"""The transmitting PDCP entity: numbers SDUs and puts them on legs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from minitopo_dc.pdcp.classify import PacketFacts
from minitopo_dc.pdcp.codec import SnFormat
from minitopo_dc.pdcp.duplication import SelectiveDuplication
from minitopo_dc.pdcp.feedback import Feedback
from minitopo_dc.pdcp.flow_control import FlowControl, LegNode
from minitopo_dc.pdcp.leg_access import LEAD_NS, LegAccess, NearLeg
from minitopo_dc.pdcp.policy import PolicyError, SplitPolicy, sees_legs
from minitopo_dc.pdcp.recovery import Recovery, SentPdu
from minitopo_dc.pdcp.statistics import HoldingStatistics, TransmitStatistics
from minitopo_dc.pdcp.view import LegQueue, LegState, LegView
from minitopo_dc.pdcp.view_of_leg import ViewOfLeg
from minitopo_dc.pdcp.waiting import SduBuffer

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
    """Data transfer of TS 38.323 clause 5.2.1, for SDUs of any type.

    - An SDU gets COUNT = TX_NEXT, its PDU the SN = TX_NEXT modulo 2^bits; then TX_NEXT grows by 1.
    - The PDU goes to the leg that the split policy names; to each of several, with the same COUNT
      and in leg order, when it names several (duplication).

    Early numbering: all this happens as the SDU comes, and nothing is kept. Late numbering (with
    `waiting`): SDUs wait here, and the first one gets its number when its leg takes it:

    - The policy is asked for the first SDU only. `()`: none now. It is asked again at the next
      occasion: an SDU comes, or a leg serves.
    - A leg that it names takes the SDU when it can, and meanwhile all wait. Of several legs it is
      enough that one takes it: the others get their copies into their queues.
    - An SDU that has waited for discardTimer is discarded, without a number.

    With late numbering and with `recovery`, a leg that is down is not used: what the policy means
    for it takes the leg that is up and expected to deliver first. With early numbering and none
    that is up it goes to the one named, into its queue.

    Where legs are followed (`waiting`, `flow_control` or `recovery`), `poll` has to be called until
    it gives nothing, each time after its PDUs have been put on their legs; also at
    `next_timeout()`, and when a leg has changed.

    COUNT grows without end; the standard ends it at 2^32 - 1 by renewing the keys before that.
    """

    __slots__ = (
        *("_again", "_all_views", "_answer", "_bytes", "_down", "_duplication", "_first_count"),
        *("_legs", "_mask", "_pdus", "_policy", "_ready", "_recovery", "_resent", "_states"),
        *("_tx_next", "_views", "_waiting", "_wake", "feedback"),
    )

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
        flow_control: Sequence[FlowControl] = (),
        recovery: Recovery[T] | None = None,
        duplication: SelectiveDuplication | None = None,
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

        Raises:
            PolicyError: legs are to be seen, and `states` has not one for each.
        """
        self._policy = policy
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
        self._again: deque[SentPdu[T]] = deque()
        self._resent = 0
        self._answer: tuple[int, ...] = ()
        self._wake: int | None = None
        self._down: set[int] = set()
        self.feedback = Feedback(legs) if reports else None
        follows = waiting is not None or recovery is not None or bool(flow_control)
        duplicates_by_leg = duplication is not None and duplication.sees_legs
        if (follows or duplicates_by_leg or sees_legs(policy)) and len(states) != legs:
            raise PolicyError(
                f"split policy {type(policy).__name__} sees legs: needs {legs}, "
                f"{len(states)} are shown"
            )
        self._legs: tuple[LegAccess[Pdu[T]], ...] = ()
        if follows:
            lead = LEAD_NS if sees_legs(policy) else None
            self._legs = _accesses(states, flow_control, lead)
        self._all_views = tuple(self._view(leg, state) for leg, state in enumerate(states))
        self._views: tuple[LegView, ...] = self._all_views if sees_legs(policy) else ()

    @property
    def tx_next(self) -> int:
        """COUNT of the next SDU (clause 7.1)."""
        return self._tx_next

    @property
    def follows_legs(self) -> bool:
        """Whether `poll` has to be called until it gives nothing, and when a leg has changed."""
        return bool(self._legs)

    @property
    def recovers(self) -> bool:
        """Whether `leg_lost` has any effect: data recovery is configured."""
        return self._recovery is not None

    @property
    def needs_facts(self) -> bool:
        """Whether `push` is to be told what a packet's headers tell."""
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
            PolicyError: the policy named a leg that does not exist.
        """
        if self._waiting is not None:
            on_legs = sum(map(len, self._legs))
            return self._waiting.push(sdu, size, now, facts=facts, on_legs=on_legs)
        legs = self._policy.legs(size, now, self._views)
        if self._legs:
            legs = self._that_are_up(legs, size, now) or legs
        if self._duplication is not None:
            legs = self._duplication.legs(legs, size, now, self._all_views, facts)
        self._number(sdu, size, now, legs, now)
        return bool(legs)

    def poll(self, now: int) -> list[Pdu[T]]:
        """The PDUs to submit to the legs, in order of COUNT but for those sent again."""
        for leg in self._legs:
            leg.settle(now)
        if self._recovery is not None:
            self._send_again(self._recovery, now)
        if self._waiting is not None:
            self._send_waiting(self._waiting, now)
        for leg in self._legs:
            self._ready += leg.arrived(now)
        if self._legs:
            self._wake = self._next_occasion(now)
        ready, self._ready = self._ready, []
        return ready

    def dropped(self) -> list[T]:
        """SDUs that were discarded since the last call, by discardTimer."""
        return [] if self._waiting is None else self._waiting.take_expired()

    def next_timeout(self) -> int | None:
        """When to poll again, as of the last poll; None: at the next `push`."""
        return self._wake

    def newly_down(self) -> list[int]:
        """The legs that are down and were up at the last call, for `leg_lost`."""
        down = {leg for leg, state in enumerate(self._states) if not state.is_up}
        newly, self._down = down - self._down, down
        return sorted(newly)

    def leg_lost(self, leg: int, flushed: Sequence[int], now: int) -> None:
        """`leg` went down at `now` (ns), and `flushed` are the SNs that were taken from its queue.

        Data recovery (clause 5.5) then sends again on the others what is not confirmed of what it
        was given: these at once, the rest when a status report says that they are missing.
        """
        if self._recovery is not None:
            withdrawn = {pdu.count for pdu in self._legs[leg].withdraw()}
            counts = withdrawn.union(map(self._latest_count, flushed))
            heard = now + self._states[leg].mean_delay_ns
            self._again.extend(self._recovery.leg_lost(leg, counts, heard))

    def statistics(self) -> TransmitStatistics:
        """The counters up to now."""
        sdus, pdus, size = self._tx_next - self._first_count, tuple(self._pdus), tuple(self._bytes)
        if not self._legs and self._duplication is None:
            return TransmitStatistics(sdus, pdus, size)
        waiting = self._waiting
        return HoldingStatistics(
            sdus,
            pdus,
            size,
            waiting=0 if waiting is None else len(waiting),
            waiting_maximum=0 if waiting is None else waiting.most,
            dropped_buffer=0 if waiting is None else waiting.dropped,
            discarded=0 if waiting is None else waiting.discarded,
            resent=self._resent,
            duplicated=0 if self._duplication is None else self._duplication.duplicated,
        )

    def _view(self, leg: int, state: LegState) -> LegView:
        return ViewOfLeg(
            leg,
            state,
            access=self._legs[leg] if self._legs else None,
            waiting=self._waiting,
            feedback=self.feedback,
            pdus=self._pdus,
            sent_bytes=self._bytes,
        )

    def _number(self, sdu: T, size: int, arrived: int, legs: tuple[int, ...], now: int) -> None:
        count = self._tx_next
        self._tx_next = count + 1
        try:
            for leg in legs:
                self._pdus[leg] += 1
                self._bytes[leg] += size
                if self.feedback is not None:
                    self.feedback.sent(leg, count)
                pdu = Pdu(leg, count, count & self._mask, sdu)
                if self._legs:
                    self._legs[leg].send(pdu, size, count, now)
                else:
                    self._ready.append(pdu)
                if self._recovery is not None:
                    self._recovery.sent(leg, SentPdu(count, sdu, size, arrived))
        except (IndexError, TypeError):
            raise PolicyError(
                f"split policy {type(self._policy).__name__} answered {legs!r}, "
                f"must be a tuple of legs, 0 to {len(self._pdus) - 1}"
            ) from None

    def _send_waiting(self, waiting: SduBuffer[T], now: int) -> None:
        """Number SDUs, first come first, as long as their legs take them."""
        waiting.expire(now)
        while (first := waiting.first()) is not None:
            size = first.size
            self._answer = self._answer or self._policy.legs(size, now, self._views)
            legs = self._that_are_up(self._answer, size, now)
            if not any(self._legs[leg].takes(size, now) for leg in legs):
                return
            self._answer = ()
            waiting.pop()
            if self._duplication is not None:
                legs = self._duplication.legs(legs, size, now, self._all_views, first.facts)
            self._number(first.sdu, size, first.arrived, legs, now)

    def _send_again(self, recovery: Recovery[T], now: int) -> None:
        """Data recovery goes before what has no number yet (clause 5.5: in order of COUNT)."""
        if self.feedback is not None:
            self._again.extend(recovery.missing(self.feedback))
        while self._again:
            pdu = self._again[0]
            leg = self._soonest(pdu.size, now)
            if leg is None or not self._has_room(leg, pdu.size, now):
                return
            self._again.popleft()
            if recovery.is_too_old(pdu, now):
                continue
            self._resent += 1
            self._pdus[leg] += 1
            self._bytes[leg] += pdu.size
            if self.feedback is not None:
                self.feedback.sent(leg, pdu.count)
            sent = Pdu(leg, pdu.count, pdu.count & self._mask, pdu.sdu, again=True)
            self._legs[leg].send(sent, pdu.size, pdu.count, now)
            recovery.sent(leg, pdu)

    def _has_room(self, leg: int, size: int, now: int) -> bool:
        """Whether a leg takes a PDU again; with early numbering its queue has to have room."""
        if self._waiting is None:
            return self._states[leg].has_room(now, size)
        return self._legs[leg].takes(size, now)

    def _that_are_up(self, legs: tuple[int, ...], size: int, now: int) -> tuple[int, ...]:
        """Those of a policy's answer that are up, or in their place the leg that is soonest."""
        try:
            up = tuple(leg for leg in legs if self._legs[leg].is_up())
        except (IndexError, TypeError):
            return legs  # no answer: refused where it is numbered
        if up or not legs:
            return up
        soonest = self._soonest(size, now)
        return () if soonest is None else (soonest,)

    def _soonest(self, size: int, now: int) -> int | None:
        """The leg that is up on which an SDU is expected first, the lower one of equals."""
        expected = [
            (drain + state.mean_delay_ns, leg)
            for leg, state in enumerate(self._states)
            if self._legs[leg].is_up() and (drain := state.drain_ns(now, size)) is not None
        ]
        return min(expected)[1] if expected else None

    def _next_occasion(self, now: int) -> int | None:
        wanted = bool(self._again or self._waiting)
        moments = [leg.next_timeout(now, wanted=wanted) for leg in self._legs]
        if self._waiting is not None:
            moments.append(self._waiting.next_timeout())
        return min((moment for moment in moments if moment is not None), default=None)

    def _latest_count(self, sn: int) -> int:
        """The latest COUNT below TX_NEXT with this SN."""
        last = self._tx_next - 1
        return last - ((last - sn) & self._mask)


def _accesses(
    states: Sequence[LegQueue], flow_control: Sequence[FlowControl], lead: int | None
) -> tuple[LegAccess[Pdu[T]], ...]:
    if not flow_control:
        return tuple(NearLeg(state, lead=lead) for state in states)
    return tuple(LegNode(*each) for each in zip(states, flow_control, strict=True))
