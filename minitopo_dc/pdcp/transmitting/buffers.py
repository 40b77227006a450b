"""The SDUs that a transmitting entity keeps: waiting for a leg, and for data recovery.

Data recovery (TS 38.323 clause 5.5) sends PDUs of a lost leg again on the others:

1. PDUs that are taken back from the lost leg's queue are sent again at once.
2. The leg's other unconfirmed PDUs may still arrive. They are sent again if they are missing in the
   first status report that comes a leg's delay later.
3. A PDU is not sent again if another leg got a copy, if discardTimer has ended, or if the receiver
   has its COUNT or does not wait for it any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from itertools import takewhile
from operator import attrgetter
from typing import Generic, TypeVar

from minitopo_dc.pdcp.codec import Pdu
from minitopo_dc.pdcp.report import StatusReport
from minitopo_dc.pdcp.transmitting.feedback import Feedback
from minitopo_dc.units import UNLIMITED, QueueLimit

T = TypeVar("T")


class SduBuffer(Generic[T]):
    """SDUs in order of arrival, each for as long as discardTimer (TS 38.323 clauses 5.2.1, 5.3).

    Args:
        limit: of what waits here and in the legs' queues together. What exceeds it is dropped as
            it arrives.
        discard_timer: ns, None: infinity. An SDU that has waited so long is discarded then, by
            the call that is the first at or after that moment.
    """

    def __init__(self, limit: QueueLimit = UNLIMITED, discard_timer: int | None = None) -> None:
        self.limit = limit
        self.discard_timer = discard_timer
        self._waiting: deque[Pdu[T]] = deque()
        self._expired: list[T] = []
        self.bytes = 0
        """Bytes of the SDUs that wait."""
        self.dropped = 0
        """SDUs that found the buffer full."""
        self.discarded = 0
        """SDUs that discardTimer has ended for."""
        self.most = 0
        """The most SDUs that ever waited."""

    def __len__(self) -> int:
        """Return how many SDUs wait."""
        return len(self._waiting)

    def push(self, pdu: Pdu[T], *, on_legs: tuple[int, int] = (0, 0)) -> bool:
        """Take an SDU that comes now beside the SDUs and bytes `on_legs`.

        Returns:
            False: there is no room, it is dropped.
        """
        self.expire(pdu.arrived)
        if self.is_full(pdu.size, on_legs):
            self.dropped += 1
            return False
        self._waiting.append(pdu)
        self.bytes += pdu.size
        self.most = max(self.most, len(self._waiting))
        return True

    def without_number(self, *, early: bool) -> int:
        """Return how many SDUs came and used no COUNT; `early`: all that wait have one."""
        return self.dropped if early else self.dropped + self.discarded + len(self)

    def is_full(self, size: int, on_legs: tuple[int, int]) -> bool:
        """Return whether no SDU of `size` may wait beside the SDUs and bytes in legs' queues."""
        packets, filled = on_legs
        waiting = packets + len(self._waiting)
        return not self.limit.has_room(waiting, filled + self.bytes, size=size)

    def expire(self, now: int) -> None:
        """Discard what has waited for discardTimer by `now` (ns)."""
        while (end := self.next_timeout()) is not None and end <= now:
            self._expired.append(self.pop().sdu)
            self.discarded += 1

    def first(self) -> Pdu[T] | None:
        """Return the SDU that is next and leave it where it is."""
        return self._waiting[0] if self._waiting else None

    @property
    def bytes_behind(self) -> int:
        """Return the bytes of the SDUs behind the first."""
        return self.bytes - self._waiting[0].size if self._waiting else 0

    def pop(self) -> Pdu[T]:
        """Remove and return the SDU that is next."""
        first = self._waiting.popleft()
        self.bytes -= first.size
        return first

    def take_expired(self) -> list[T]:
        """Return the SDUs discarded since the last call."""
        expired, self._expired = self._expired, []
        return expired

    def next_timeout(self) -> int | None:
        """Return when discardTimer of the first SDU ends (ns), None if it is infinite."""
        if self.discard_timer is None or not self._waiting:
            return None
        return self._waiting[0].arrived + self.discard_timer


class Recovery(Generic[T]):
    """Keeps what each leg was given until the receiver confirms it by a status report.

    - A leg is lost. What was taken back from its queue has not arrived: it is to be sent again at
      once. The rest may still arrive, or be lost: it is suspected.
    - The first status that comes a leg's delay later knows what has arrived: what is suspected and
      missing there is to be sent again. (Clause 5.5 sends all that is not confirmed. The delay
      spares what was in propagation.)
    - What another leg was given as well (duplication) is not sent again.
    - Nor is what discardTimer has ended for (clause 5.3), or what the receiver, by its latest
      status, has or waits for no more.

    Args:
        legs: their number.
        most: PDUs a leg that are kept at most: half the SN space, beyond which a COUNT could not be
            told from another one (clause 5.2.1, note 1).
        discard_timer: ns, None: infinity.
    """

    def __init__(self, legs: int, *, most: int, discard_timer: int | None) -> None:
        self._of_legs: list[dict[int, Pdu[T]]] = [{} for _ in range(legs)]
        self._suspected: list[tuple[int, list[Pdu[T]]]] = []
        self._again: deque[Pdu[T]] = deque()  # in order of COUNT
        self._given_up: list[T] = []
        self._most = most
        self._discard_timer = discard_timer
        self._confirmed = 0  # first missing COUNT of the latest status
        self.resent = 0
        """PDUs sent again."""
        self.not_resent = 0
        """PDUs that were to be sent again, but that were too old or not needed any more."""

    def sent(self, leg: int, pdu: Pdu[T]) -> None:
        """Remember a PDU that was sent on `leg`."""
        kept = self._of_legs[leg]
        kept[pdu.count] = pdu
        if len(kept) > self._most:
            del kept[next(iter(kept))]

    def leg_lost(self, leg: int, taken_back: Collection[int], heard: int) -> None:
        """Decide which PDUs of a lost leg are sent again at once, and which may have arrived.

        Args:
            leg: the one.
            taken_back: COUNTs of what did not leave its queue.
            heard: when the last of what did leave it may have arrived (ns).
        """
        kept, self._of_legs[leg] = self._of_legs[leg], {}
        alone = [pdu for pdu in kept.values() if not any(pdu.count in k for k in self._of_legs)]
        self._suspected.append((heard, [pdu for pdu in alone if pdu.count not in taken_back]))
        self._send_again(pdu for pdu in alone if pdu.count in taken_back)

    def take_status(self, feedback: Feedback) -> None:
        """Learn from the latest status what has arrived, and what is missing."""
        status, at = feedback.status, feedback.status_at
        if status is None or at is None:
            return
        if status.fmc > self._confirmed:
            self._confirm(status)
        known = [pdus for heard, pdus in self._suspected if heard <= at]
        if known:
            self._suspected = [entry for entry in self._suspected if entry[0] > at]
            self._send_again(p for pdus in known for p in pdus if not status.received(p.count))

    @property
    def has_more(self) -> bool:
        """Return whether any PDU is to be sent again."""
        return bool(self._again)

    def first(self, now: int) -> Pdu[T] | None:
        """Return what is to be sent again next and leave it where it is."""
        again = self._again
        while again and self._is_obsolete(again[0], now):
            self.not_resent += 1
            self._given_up.append(again.popleft().sdu)
        return again[0] if again else None

    def pop(self) -> None:
        """Remove the first PDU, which is sent again now."""
        self._again.popleft()
        self.resent += 1

    def take_given_up(self) -> list[T]:
        """Return the SDUs, since the last call, that were to be sent again and will not be."""
        given_up, self._given_up = self._given_up, []
        return given_up

    def next_timeout(self) -> int | None:
        """Return when discardTimer ends for what is to be sent again next (ns)."""
        if self._discard_timer is None or not self._again:
            return None
        return self._again[0].arrived + self._discard_timer

    def _is_obsolete(self, pdu: Pdu[T], now: int) -> bool:
        too_old = self._discard_timer is not None and now - pdu.arrived >= self._discard_timer
        return too_old or pdu.count < self._confirmed

    def _send_again(self, pdus: Iterable[Pdu[T]]) -> None:
        self._again = deque(sorted([*self._again, *pdus], key=attrgetter("count")))

    def _confirm(self, status: StatusReport) -> None:
        """Forget all PDUs below the first missing COUNT.

        What was sent again is forgotten a little later.
        """
        self._confirmed = status.fmc
        for kept in self._of_legs:
            for count in list(takewhile(lambda count: count < status.fmc, kept)):
                del kept[count]
