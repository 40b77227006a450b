"""PDCP data recovery (TS 38.323 clause 5.5): what a lost leg had is sent again on the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

from minitopo_dc.pdcp.feedback import Feedback
from minitopo_dc.pdcp.status_report import StatusReport

T = TypeVar("T")


@dataclass(slots=True)
class SentPdu(Generic[T]):
    """An SDU of `size` bytes that came at `arrived` (ns), sent with COUNT `count`."""

    count: int
    sdu: T
    size: int
    arrived: int


class Recovery(Generic[T]):
    """Keeps what each leg was given until the receiver confirms it by a status report.

    - A leg is lost. What was taken back from its queue has not arrived: it is to be sent again at
      once. The rest may still arrive, or be lost: it is suspected.
    - The first status that comes a leg's delay later knows what has arrived: what is suspected and
      missing there is to be sent again. (Clause 5.5 sends all that is not confirmed. The delay
      spares what was in propagation.)
    - What another leg was given as well (duplication) is not sent again.
    - What discardTimer has ended for is not sent again (clause 5.3).

    Args:
        legs: their number.
        most: PDUs a leg that are kept at most: half the SN space, beyond which a COUNT could not be
            told from another one (clause 5.2.1, note 1).
        discard_timer: ns, None: infinity.
    """

    def __init__(self, legs: int, *, most: int, discard_timer: int | None) -> None:
        self._of_legs: list[dict[int, SentPdu[T]]] = [{} for _ in range(legs)]
        self._suspected: list[tuple[int, list[SentPdu[T]]]] = []
        self._most = most
        self._discard_timer = discard_timer
        self._confirmed = 0  # first missing COUNT of the latest status

    def sent(self, leg: int, pdu: SentPdu[T]) -> None:
        """A PDU was sent on `leg`."""
        kept = self._of_legs[leg]
        kept[pdu.count] = pdu
        if len(kept) > self._most:
            del kept[next(iter(kept))]

    def leg_lost(self, leg: int, taken_back: Collection[int], heard: int) -> list[SentPdu[T]]:
        """What has to be sent again at once, in order of COUNT.

        Args:
            leg: the one that is lost.
            taken_back: COUNTs of what did not leave its queue.
            heard: when the last of what did leave it may have arrived (ns).
        """
        kept, self._of_legs[leg] = self._of_legs[leg], {}
        alone = [pdu for pdu in kept.values() if not any(pdu.count in k for k in self._of_legs)]
        alone.sort(key=lambda pdu: pdu.count)
        self._suspected.append((heard, [pdu for pdu in alone if pdu.count not in taken_back]))
        return [pdu for pdu in alone if pdu.count in taken_back]

    def missing(self, feedback: Feedback) -> list[SentPdu[T]]:
        """What the latest status says has to be sent again, in order of COUNT."""
        status = feedback.status
        if status is None:
            return []
        if status.fmc > self._confirmed:
            self._confirm(status)
        at = feedback.status_at
        if not self._suspected or at is None or at < self._suspected[0][0]:
            return []
        _, suspected = self._suspected.pop(0)
        return [pdu for pdu in suspected if not status.received(pdu.count)]

    def is_too_old(self, pdu: SentPdu[T], now: int) -> bool:
        """Whether discardTimer has ended for it by `now` (ns)."""
        return self._discard_timer is not None and now - pdu.arrived >= self._discard_timer

    def _confirm(self, status: StatusReport) -> None:
        """Forget what lies below the first missing COUNT; what was sent again, a little later."""
        self._confirmed = status.fmc
        for kept in self._of_legs:
            for count in list(takewhile(lambda count: count < status.fmc, kept)):
                del kept[count]
