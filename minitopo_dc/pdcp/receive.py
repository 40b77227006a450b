"""The receiving PDCP entity: discards duplicates and puts SDUs back in order."""

from __future__ import annotations

from typing import Final, Generic, Literal, TypeVar, get_args

from minitopo_dc.pdcp.codec import SnFormat
from minitopo_dc.pdcp.statistics import WAITING_BUCKETS, ReceiveStatistics, WaitingTime

T = TypeVar("T")

Delivery = Literal["in-order", "out-of-order", "off"]
"""`out-of-order` is the standard's outOfOrderDelivery; `off` is no PDCP reordering at all."""

_NEVER: Final = 1 << 63
"""In ns, 292 years: the end of a timer that is stopped or infinite."""


class ReceivingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.2, for SDUs of any type.

    A PDU arrives (clause 5.2.2.1); W is half the SN space:

    - Its COUNT is the one with its SN in RX_DELIV - W .. RX_DELIV + W - 1. (This is the standard's
      choice between the HFN of RX_DELIV, one more and one less, in one subtraction.)
    - COUNT < RX_DELIV, or received before: discard. This covers a COUNT below 0 as well.
    - Otherwise store it; RX_NEXT becomes COUNT + 1 if COUNT >= RX_NEXT.
    - With outOfOrderDelivery, deliver it now.
    - If COUNT = RX_DELIV, deliver the stored SDUs with consecutive COUNTs from there on; RX_DELIV
      becomes the first one not delivered.
    - Stop t-Reordering if it runs and RX_DELIV >= RX_REORD. If it does not run (now) and
      RX_DELIV < RX_NEXT, RX_REORD becomes RX_NEXT and it starts.

    t-Reordering expires (clause 5.2.2.2):

    - Deliver all stored SDUs with COUNT < RX_REORD, then those with consecutive COUNTs from
      RX_REORD on; RX_DELIV becomes the first COUNT >= RX_REORD not delivered.
    - If RX_DELIV < RX_NEXT, RX_REORD becomes RX_NEXT and t-Reordering starts again.

    Time: `now` never decreases. An expiry takes effect at its own time, also when the next call
    comes later, and before a PDU that arrives at that very time. What is delivered therefore does
    not depend on when the caller polls.

    `delivery="off"` skips all of this: each SDU is delivered as it arrives, duplicates too.
    """

    # With in-order and out-of-order delivery the following holds between two calls:
    # RX_DELIV <= RX_NEXT, and they are equal exactly when _stored is empty, since RX_NEXT - 1 has
    # been received and is stored unless it is below RX_DELIV. Then t-Reordering is stopped.

    __slots__ = (
        "_buffered_maximum",
        "_duplicates",
        "_expires",
        "_expiries",
        "_first_count",
        "_given_up",
        "_histogram",
        "_in_order",
        "_mask",
        "_missing",
        "_off",
        "_old",
        "_pdus",
        "_ready",
        "_running",
        "_rx_deliv",
        "_rx_next",
        "_rx_reord",
        "_stored",
        "_t_reordering",
        "_waited",
        "_waited_ns",
        "_waiting_maximum",
        "_window",
    )

    def __init__(
        self,
        sn_format: SnFormat,
        *,
        t_reordering: int | None,
        legs: int,
        delivery: Delivery = "in-order",  # TS 38.331: outOfOrderDelivery is configured explicitly
        first_count: int = 0,  # clause 7.1: initial value of RX_NEXT and RX_DELIV
    ) -> None:
        """Make an entity that expects `first_count` first.

        Args:
            sn_format: gives the length of the SN.
            t_reordering: ns, None for infinity; see `check_t_reordering`.
            legs: number of legs that PDUs come from.
            delivery: when SDUs go up.
            first_count: the transmitting entity's.

        Raises:
            ValueError: a negative t-Reordering or an unknown delivery.
        """
        if t_reordering is not None and t_reordering < 0:
            raise ValueError(f"t-Reordering is {t_reordering} ns, must be >= 0 or None (infinity)")
        if delivery not in get_args(Delivery):
            allowed = ", ".join(get_args(Delivery))
            raise ValueError(f"delivery {delivery!r}: must be one of {allowed}")
        self._in_order = delivery == "in-order"
        self._off = delivery == "off"
        self._mask = sn_format.modulus - 1
        self._window = sn_format.modulus // 2
        self._t_reordering = t_reordering
        self._first_count = first_count
        self._rx_next = self._rx_deliv = self._rx_reord = first_count
        self._running = False
        self._expires = _NEVER
        # COUNT -> SDU, its time of arrival (ns), its leg; or () for an SDU delivered out of order.
        self._stored: dict[int, tuple[T, int, int] | tuple[()]] = {}
        self._ready: list[T] = []
        # SN -> COUNT given up last with this SN: tells a late PDU from the copy of a delivered one.
        self._given_up: dict[int, int] = {}
        self._zero_counters(legs)

    def _zero_counters(self, legs: int) -> None:
        self._pdus = [0] * legs
        self._duplicates = self._old = self._missing = self._expiries = 0
        self._buffered_maximum = 0
        self._waited = [0] * legs
        self._waited_ns = [0] * legs
        self._waiting_maximum = 0
        self._histogram = [0] * WAITING_BUCKETS

    @property
    def rx_next(self) -> int:
        """RX_NEXT: COUNT of the next SDU expected to be received (clause 7.1)."""
        return self._rx_next

    @property
    def rx_deliv(self) -> int:
        """RX_DELIV: COUNT of the first SDU not delivered but still waited for (clause 7.1)."""
        return self._rx_deliv

    @property
    def rx_reord(self) -> int:
        """RX_REORD: COUNT after that of the PDU that started t-Reordering last (clause 7.1)."""
        return self._rx_reord

    def push(self, sn: int, sdu: T, leg: int, now: int) -> bool:
        """A data PDU arrived on `leg` at `now` (ns). False: discarded, never polled."""
        self._pdus[leg] += 1
        if now >= self._expires:
            self._expire(now)
        if self._off:
            self._ready.append(sdu)
            return True
        deliv = self._rx_deliv
        ahead = (sn - deliv) & self._mask
        if not ahead and not self._stored:  # the usual case: in order, and no one waits
            self._ready.append(sdu)
            self._rx_deliv = self._rx_next = deliv + 1
            return True
        if ahead >= self._window:
            return self._discard(deliv + ahead - self._mask - 1)
        return self._receive(deliv + ahead, sdu, leg, now)

    def poll(self, now: int) -> list[T]:
        """The SDUs to hand to upper layers at `now` (ns), in order. Call it after `push`."""
        if now >= self._expires:
            self._expire(now)
        ready, self._ready = self._ready, []
        return ready

    def next_timeout(self) -> int | None:
        """End of t-Reordering (ns); None when it does not run or is infinite."""
        return None if self._expires == _NEVER else self._expires

    def reordering(self) -> list[tuple[int, int]]:
        """For each leg, the SDUs that came by it, waited and were delivered: how many, how long.

        How long is the sum of their waiting times in ns, as in `WaitingTime`.
        """
        return list(zip(self._waited, self._waited_ns, strict=True))

    def statistics(self) -> ReceiveStatistics:
        """The counters now; an expiry counts once `push` or `poll` has passed its time."""
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
        )

    def _receive(self, count: int, sdu: T, leg: int, now: int) -> bool:
        """Clause 5.2.2.1 for a COUNT >= RX_DELIV."""
        stored = self._stored
        if count in stored:
            self._duplicates += 1
            return False
        if count == self._rx_deliv:
            self._ready.append(sdu)
            self._rx_deliv = self._deliver_from(count + 1, now)
        elif self._in_order:
            stored[count] = (sdu, now, leg)
            self._buffered_maximum = max(self._buffered_maximum, len(stored))
        else:
            stored[count] = ()
            self._ready.append(sdu)
        if count >= self._rx_next:
            self._rx_next = count + 1
        if self._running and self._rx_deliv >= self._rx_reord:
            self._running = False
            self._expires = _NEVER
        if not self._running:
            self._start_if_needed(now)
        return True

    def _discard(self, count: int) -> bool:
        """Count a PDU with COUNT < RX_DELIV, which is a copy unless its COUNT was given up."""
        sn = count & self._mask
        if self._given_up.get(sn) == count:
            del self._given_up[sn]  # another copy of it is a duplicate
            self._old += 1
        elif count < self._first_count:
            self._old += 1
        else:
            self._duplicates += 1
        return False

    def _start_if_needed(self, now: int) -> None:
        """Start t-Reordering, which does not run, if a COUNT is waited for."""
        if self._rx_deliv < self._rx_next:
            self._rx_reord = self._rx_next
            self._running = True
            if self._t_reordering is not None:
                self._expires = now + self._t_reordering

    def _expire(self, now: int) -> None:
        """Clause 5.2.2.2, for each expiry up to `now`, at its own time.

        An expiry that restarts the timer makes RX_REORD = RX_NEXT, so that the next one delivers
        all: there are at most two in a row.
        """
        while now >= self._expires:
            end = self._expires
            self._expires = _NEVER
            self._running = False
            self._expiries += 1
            self._rx_deliv = self._give_up_before(self._rx_reord, end)
            self._start_if_needed(end)

    def _give_up_before(self, reord: int, at: int) -> int:
        """Deliver the stored COUNTs < `reord` and on from there; the first not delivered.

        RX_REORD - 1 is stored as long as the timer runs: its run includes those from RX_REORD on.
        """
        count = self._rx_deliv
        while count < reord:
            if count in self._stored:
                count = self._deliver_from(count, at)
            else:
                self._given_up[count & self._mask] = count
                self._missing += 1
                count += 1
        return count

    def _deliver_from(self, count: int, at: int) -> int:
        """Deliver stored SDUs with consecutive COUNTs from `count` on; the first not stored."""
        take = self._stored.pop
        while (entry := take(count, None)) is not None:
            if entry:
                sdu, arrived, leg = entry
                self._ready.append(sdu)
                waited = at - arrived
                self._waited[leg] += 1
                self._waited_ns[leg] += waited
                self._waiting_maximum = max(self._waiting_maximum, waited)
                bucket = (waited // 1000).bit_length()
                self._histogram[min(bucket, WAITING_BUCKETS - 1)] += 1
            count += 1
        return count
