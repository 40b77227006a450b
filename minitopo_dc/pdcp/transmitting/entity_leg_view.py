"""The view of a leg that a transmitting entity gives its split policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitopo_dc.pdcp.policies.view import LegReport, LegState, LegView
from minitopo_dc.pdcp.transmitting.bearer_legs import BearerLegs
from minitopo_dc.pdcp.transmitting.feedback import Feedback
from minitopo_dc.pdcp.transmitting.waiting import SduBuffer


class EntityLegView(LegView):
    """Reads what the leg and its transmitting entity know, and keeps nothing itself."""

    __slots__ = ("_access", "_bytes", "_feedback", "_leg", "_legs", "_pdus", "_waiting")

    def __init__(
        self,
        leg: int,
        state: LegState,
        *,
        legs: BearerLegs[Any] | None,
        waiting: SduBuffer[Any] | None,
        feedback: Feedback | None,
        pdus: Sequence[int],
        sent_bytes: Sequence[int],
    ) -> None:
        """Show `leg` (from 0) of those that the entity follows, if it does.

        `pdus` and `sent_bytes` are its counters of all legs.
        """
        super().__init__(state)
        self._leg = leg
        self._legs = legs
        self._access = None if legs is None else legs.accesses[leg]
        self._waiting = waiting
        self._feedback = feedback
        self._pdus = pdus
        self._bytes = sent_bytes

    @property
    def is_up(self) -> bool:
        """Return whether the leg is up and has not failed, as far as the entity knows."""
        return self._state.is_up if self._legs is None else self._legs.is_up(self._leg)

    @property
    def has_failed(self) -> bool:
        """Return whether the leg is not used because it loses all packets."""
        return self._legs is not None and self._legs.has_failed(self._leg)

    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg takes an SDU of `size` bytes now."""
        if self.has_failed:
            return False
        if self._waiting is None or self._access is None:
            return self._state.has_room(now=now, size=size)
        return self._access.takes(now=now, size=size)

    @property
    def may_wait(self) -> bool:
        """Return whether an SDU for which no leg is named waits."""
        return self._waiting is not None

    def credit_bytes(self, *, now: int) -> int | None:  # noqa: ARG002  (LegView's)
        """Return how many bytes the leg's node still wants, None if unknown."""
        return None if self._access is None else self._access.credit_bytes()

    @property
    def pending_bytes(self) -> int:
        """Return the bytes that wait behind the first SDU."""
        return 0 if self._waiting is None else self._waiting.bytes_behind

    @property
    def sent_pdus(self) -> int:
        """Return the number of PDUs sent on this leg so far."""
        return self._pdus[self._leg]

    @property
    def sent_bytes(self) -> int:
        """Return the bytes of the SDUs sent on this leg."""
        return self._bytes[self._leg]

    @property
    def report(self) -> LegReport | None:
        """Return the receiver's latest report of this leg, None before the first."""
        return None if self._feedback is None else self._feedback.reports[self._leg]
