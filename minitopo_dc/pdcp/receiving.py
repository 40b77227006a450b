"""The receiving PDCP entity: it discards duplicates and restores the order of SDUs.

When a PDU arrives (TS 38.323 clause 5.2.2.1; W is half the SN space):

1. Its COUNT is the one with its SN in RX_DELIV - W .. RX_DELIV + W - 1. (The standard chooses
   between the HFN of RX_DELIV, one more and one less, which gives the same COUNT.)
2. If COUNT < RX_DELIV or the COUNT was received before, discard the PDU. A COUNT below 0 is
   discarded in this way as well.
3. Otherwise store the PDU. If COUNT >= RX_NEXT, RX_NEXT becomes COUNT + 1.
4. With outOfOrderDelivery, deliver the SDU now.
5. If COUNT = RX_DELIV, deliver the stored SDUs with consecutive COUNTs from there on. RX_DELIV
   becomes the first COUNT that is not delivered.
6. If t-Reordering runs and RX_DELIV >= RX_REORD, stop it. If it does not run (any more) and
   RX_DELIV < RX_NEXT, RX_REORD becomes RX_NEXT and t-Reordering starts.

When t-Reordering expires (clause 5.2.2.2):

1. Deliver all stored SDUs with COUNT < RX_REORD, then those with consecutive COUNTs from RX_REORD
   on. RX_DELIV becomes the first COUNT >= RX_REORD that is not delivered.
2. If RX_DELIV < RX_NEXT, RX_REORD becomes RX_NEXT and t-Reordering starts again.

An expiry takes effect at its own time, even if the next call comes later, and before a PDU that
arrives at that very time. The delivered SDUs therefore do not depend on when the caller polls.
"""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar, get_args

from minitopo_dc.pdcp.codec import NO_COUNT, Pdu, SnFormat
from minitopo_dc.pdcp.report import MAX_BYTES, LegReception, StatusReport
from minitopo_dc.pdcp.statistics import WAITING_BUCKETS, ReceiveStatistics, WaitingTime
from minitopo_dc.pdcp.timers import AdaptiveTReordering, Timer

T = TypeVar("T")

Delivery = Literal["in-order", "out-of-order", "off"]
"""`out-of-order` is the standard's outOfOrderDelivery; `off` is no PDCP reordering at all."""

_NEVER: Final = 1 << 63
"""In ns, 292 years: the end of a timer that is stopped or infinite."""


class ReceivingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.2 for SDUs of any type; `now` never decreases.

    `delivery="off"` skips the algorithm: each SDU is delivered as it arrives, duplicates too.

    Two options go beyond the standard:

    - `legs_keep_order`: each leg delivers in order of COUNT. A missing COUNT is given up as soon as
      every leg has delivered a higher one, as if t-Reordering had expired for it. While a leg is
      silent, t-Reordering decides. A PDU that is sent again on another leg (clause 5.5, data
      recovery) is discarded if its COUNT was given up; it is in time while the leg that lost it is
      silent.
    - An adaptive t-Reordering gets its value each time that it starts (`AdaptiveTReordering`).
    """

    # With in-order and out-of-order delivery the following holds between two calls:
    # RX_DELIV <= RX_NEXT, and they are equal exactly when _stored is empty, since RX_NEXT - 1 has
    # been received and is stored unless it is below RX_DELIV. Then t-Reordering is stopped.

    def __init__(
        self,
        sn_format: SnFormat,
        *,
        t_reordering: Timer,
        legs: int,
        delivery: Delivery = "in-order",  # TS 38.331: outOfOrderDelivery is configured explicitly
        first_count: int = 0,  # clause 7.1: initial value of RX_NEXT and RX_DELIV
        legs_keep_order: bool = False,  # TS 38.322: RLC does not put SDUs in order
    ) -> None:
        """Make an entity that expects `first_count` first.

        Args:
            sn_format: gives the length of the SN.
            t_reordering: how long a missing COUNT is waited for.
            legs: number of legs that PDUs come from.
            delivery: when SDUs go up.
            first_count: the transmitting entity's.
            legs_keep_order: whether what is missing is told lost by the order on each leg.

        Raises:
            ValueError: an unknown delivery.
        """
        if delivery not in get_args(Delivery):
            allowed = ", ".join(get_args(Delivery))
            raise ValueError(f"delivery {delivery!r}: must be one of {allowed}")
        self._in_order = delivery == "in-order"
        self._off = delivery == "off"
        self._mask = sn_format.modulus - 1
        self._window = sn_format.modulus // 2
        self._adaptive = AdaptiveTReordering(legs) if t_reordering.is_adaptive else None
        self._t_reordering = t_reordering.ns if self._adaptive is None else self._adaptive.value(0)
        # COUNT after the highest that each leg has delivered; used only with `legs_keep_order`.
        self._leg_next = [first_count] * legs if legs_keep_order else []
        self._missing_by_order = 0
        self._first_count = first_count
        self.rx_next = self.rx_deliv = self.rx_reord = first_count
        """COUNT of the next SDU expected to be received, of the first one that is waited for, and
        COUNT after that of the PDU that started t-Reordering (clause 7.1)."""
        self._expires = _NEVER
        # By COUNT what waits; None: it is delivered already, out of order.
        self._stored: dict[int, Pdu[T] | None] = {}
        self._ready: list[T] = []
        # SN -> COUNT given up last with this SN: tells a late PDU from the copy of a delivered one.
        self._given_up: dict[int, int] = {}
        # Of what `note` has counted: COUNT after the highest of all legs, and of each leg the same,
        # its PDUs and their SDUs' bytes.
        self._noted_next = 0
        self._noted = [[0, 0, 0] for _ in range(legs)]
        self._pdus = [0] * legs
        self._duplicates = self._old = self._missing = self._expiries = 0
        self.desynchronised = 0
        """PDUs with another COUNT than the one that was concluded from their SN, among those whose
        COUNT was told to `push`. Legs whose skew is more than half the SN space make them, and
        stale SDUs are then delivered as if they were new."""
        self._buffered_maximum = 0
        self._waited = [0] * legs
        self._waited_ns = [0] * legs
        self._waiting_maximum = 0
        self._histogram = [0] * WAITING_BUCKETS

    def push(self, pdu: Pdu[T], now: int) -> bool:
        """Take a data PDU that arrived on its leg at `now` (ns); return False if it is discarded.

        Its COUNT is used for `desynchronised` only, as no real receiver knows it.
        """
        count = pdu.count
        self._pdus[pdu.leg] += 1
        if now >= self._expires:
            self._expire(now)
        deliv = self.rx_deliv
        ahead = (pdu.sn - deliv) & self._mask
        if not (ahead or self._stored or self._off):  # the usual case: in order, and none waits
            if count not in (deliv, NO_COUNT):
                self.desynchronised += 1
            self._ready.append(pdu.sdu)
            self.rx_deliv = self.rx_next = deliv + 1
            return True
        if self._off:
            self._ready.append(pdu.sdu)
            return True
        concluded = deliv + ahead if ahead < self._window else deliv + ahead - self._mask - 1
        if count not in (concluded, NO_COUNT):
            self.desynchronised += 1
        pdu.arrived = now
        kept = self._receive(concluded, pdu, now)
        if self._leg_next and concluded >= self._leg_next[pdu.leg]:
            self._leg_next[pdu.leg] = concluded + 1
            self._give_up_passed_gaps(now)
        return kept

    def poll(self, now: int) -> list[T]:
        """Return the SDUs to hand to upper layers at `now` (ns), in order; call it after `push`."""
        if now >= self._expires:
            self._expire(now)
        ready, self._ready = self._ready, []
        return ready

    def next_timeout(self) -> int | None:
        """Return the end of t-Reordering (ns), None while it does not run or is infinite."""
        return None if self._expires == _NEVER else self._expires

    def note(self, pdu: Pdu[T]) -> None:
        """Count a PDU that arrived for the reports, whatever `push` does with it.

        Duplicates, and PDUs that come too late, count as well. A COUNT is the one nearest to the
        highest so far over all legs, so it does not depend on the delivery, which may be off.
        """
        lowest = self._noted_next - self._window
        count = lowest + ((pdu.sn - lowest) & self._mask)
        if count < 0:
            return  # nobody sent it
        noted = self._noted[pdu.leg]
        noted[0] = max(noted[0], count + 1)
        noted[1] += 1
        noted[2] += pdu.size
        self._noted_next = max(self._noted_next, count + 1)

    def receptions(self) -> tuple[LegReception, ...]:
        """Return what a report says of each leg: what `note` has counted, and what waited."""
        of_legs = zip(self._noted, self._waited, self._waited_ns, strict=True)
        return tuple(
            LegReception(next_count, pdus, size, waited, waited_ns)
            for (next_count, pdus, size), waited, waited_ns in of_legs
        )

    def status(self, limit: int = MAX_BYTES) -> StatusReport:
        """Return the present status report (clause 5.4.1), of at most `limit` bytes as a PDU.

        With delivery `off` nothing is known, and no COUNT is ever said to be received.
        """
        return StatusReport.of(self.rx_deliv, self._stored, limit)

    def statistics(self) -> ReceiveStatistics:
        """Return the counters; an expiry counts once `push` or `poll` has passed its time."""
        buffered = len(self._stored) if self._in_order else 0
        return ReceiveStatistics(
            pdus=tuple(self._pdus),
            delivered=sum(self._pdus) - self._duplicates - self._old - buffered,
            duplicates=self._duplicates,
            old=self._old,
            missing=self._missing,
            t_reordering_expiries=self._expiries,
            buffered=buffered,
            buffered_maximum=self._buffered_maximum,
            waiting=WaitingTime(
                count=sum(self._waited),
                total_ns=sum(self._waited_ns),
                maximum_ns=self._waiting_maximum,
                histogram=tuple(self._histogram),
            ),
            t_reordering_ns=self._t_reordering if self._adaptive is not None else None,
            missing_by_order=self._missing_by_order if self._leg_next else None,
        )

    def _receive(self, count: int, pdu: Pdu[T], now: int) -> bool:
        """Process a received data PDU as in clause 5.2.2.1; return False if it is discarded."""
        if count < self.rx_deliv:
            return self._discard(count, pdu.leg, now)
        stored = self._stored
        if count in stored:
            self._duplicates += 1
            return False
        if count == self.rx_deliv:
            self._ready.append(pdu.sdu)
            self.rx_deliv = self._deliver_from(count + 1, now)
        elif self._in_order:
            stored[count] = pdu
            self._buffered_maximum = max(self._buffered_maximum, len(stored))
        else:
            stored[count] = None
            self._ready.append(pdu.sdu)
        if self._adaptive is not None:
            self._learn(self._adaptive, count, pdu.leg, now)
        if count >= self.rx_next:
            self.rx_next = count + 1
        if self.rx_deliv >= self.rx_reord:  # as always while t-Reordering is stopped
            self._restart(now)
        return True

    def _learn(self, adaptive: AdaptiveTReordering, count: int, leg: int, now: int) -> None:
        """Tell the adaptive timer of a gap that this COUNT opens, or that it belonged to one."""
        if count > self.rx_next:
            adaptive.opened(self.rx_next, count, now)
        elif count < self.rx_next:
            adaptive.arrived(count, leg, now)

    def _give_up_passed_gaps(self, now: int) -> None:
        """Give up what is missing below the least of the legs' next COUNTs, as legs keep order.

        The COUNT just below that one was received, so it is stored if it was not delivered.
        """
        passed = min(self._leg_next)
        if passed > self.rx_deliv:
            before = self._missing
            self.rx_deliv = self._give_up_gaps_below(passed, now)
            self._missing_by_order += self._missing - before
            if self.rx_deliv >= self.rx_reord:
                self._restart(now)

    def _discard(self, count: int, leg: int, now: int) -> bool:
        """Count a PDU with COUNT < RX_DELIV, which is a copy unless its COUNT was given up."""
        sn = count & self._mask
        if self._given_up.get(sn) == count:
            del self._given_up[sn]  # another copy of it is a duplicate
            self._old += 1
            if self._adaptive is not None:
                self._adaptive.arrived(count, leg, now)
        elif count < self._first_count:
            self._old += 1
        else:
            self._duplicates += 1
        return False

    def _restart(self, now: int) -> None:
        """Stop t-Reordering, and start it again if a COUNT is waited for."""
        self._expires = _NEVER
        if self.rx_deliv < self.rx_next:
            self.rx_reord = self.rx_next
            if self._adaptive is not None:
                self._t_reordering = self._adaptive.value(now)
            if self._t_reordering is not None:
                self._expires = now + self._t_reordering

    def _expire(self, now: int) -> None:
        """Let t-Reordering expire as in clause 5.2.2.2, each time up to `now`, at its own time.

        An expiry that restarts the timer makes RX_REORD = RX_NEXT, so that the next one delivers
        all: there are at most two in a row.
        """
        while now >= self._expires:
            end = self._expires
            self._expiries += 1
            self.rx_deliv = self._give_up_gaps_below(self.rx_reord, end)
            self._restart(end)

    def _give_up_gaps_below(self, reord: int, at: int) -> int:
        """Deliver the stored COUNTs < `reord` and on from there; return the first not delivered.

        `reord` - 1 is stored (RX_REORD's is while the timer runs): its run goes on from `reord`.
        """
        count = self.rx_deliv
        while count < reord:
            if count in self._stored:
                count = self._deliver_from(count, at)
            else:
                self._given_up[count & self._mask] = count
                self._missing += 1
                count += 1
        return count

    def _deliver_from(self, count: int, at: int) -> int:
        """Deliver stored SDUs with consecutive COUNTs from `count` on; return the next COUNT."""
        while count in self._stored:
            pdu = self._stored.pop(count)
            if pdu is not None:
                self._ready.append(pdu.sdu)
                waited = at - pdu.arrived
                self._waited[pdu.leg] += 1
                self._waited_ns[pdu.leg] += waited
                self._waiting_maximum = max(self._waiting_maximum, waited)
                bucket = (waited // 1000).bit_length()
                self._histogram[min(bucket, WAITING_BUCKETS - 1)] += 1
            count += 1
        return count
