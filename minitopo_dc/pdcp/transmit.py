"""The transmitting PDCP entity: numbers SDUs and puts them on legs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from minitopo_dc.pdcp.codec import SnFormat
from minitopo_dc.pdcp.feedback import Feedback
from minitopo_dc.pdcp.policy import PolicyError, SplitPolicy, sees_legs
from minitopo_dc.pdcp.statistics import TransmitStatistics
from minitopo_dc.pdcp.view import LegReport, LegState, LegView

T = TypeVar("T")


@dataclass(slots=True)
class Pdu(Generic[T]):
    """An SDU with its number and the leg it takes (index of the bearer's legs, from 0)."""

    leg: int
    count: int
    sn: int
    sdu: T


class TransmittingEntity(Generic[T]):
    """Data transfer of TS 38.323 clause 5.2.1, for SDUs of any type.

    - An SDU gets COUNT = TX_NEXT, its PDU the SN = TX_NEXT modulo 2^bits; then TX_NEXT grows by 1.
    - The PDU goes to the leg that the split policy names; to each of several, with the same COUNT
      and in leg order, when it names several (duplication).
    - Nothing is kept: each PDU is submitted at once.

    COUNT grows without end; the standard ends it at 2^32 - 1 by renewing the keys before that.
    """

    __slots__ = (
        *("_bytes", "_first_count", "_mask", "_pdus", "_policy", "_ready", "_tx_next"),
        *("_views", "feedback"),
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
    ) -> None:
        """Make an entity whose first SDU gets COUNT `first_count`.

        Args:
            sn_format: gives the length of the SN.
            policy: chooses the legs.
            legs: their number.
            first_count: COUNT of the first SDU.
            states: the legs themselves, for a policy that sees them.
            reports: whether the receiver's reports are made use of (`feedback`).

        Raises:
            PolicyError: the policy sees legs, and `states` has not one for each.
        """
        self._policy = policy
        self._mask = sn_format.modulus - 1
        self._first_count = first_count
        self._tx_next = first_count
        self._ready: list[Pdu[T]] = []
        self._pdus = [0] * legs
        self._bytes = [0] * legs
        self.feedback = Feedback(legs) if reports else None
        self._views: tuple[LegView, ...] = ()
        if sees_legs(policy):
            if len(states) != legs:
                raise PolicyError(
                    f"split policy {type(policy).__name__} sees legs: needs {legs}, "
                    f"{len(states)} are shown"
                )
            self._views = tuple(_View(self, leg, state) for leg, state in enumerate(states))

    @property
    def tx_next(self) -> int:
        """COUNT of the next SDU (clause 7.1)."""
        return self._tx_next

    def push(self, sdu: T, size: int, now: int) -> None:
        """Take an SDU of `size` bytes from upper layers at `now` (ns).

        Raises:
            PolicyError: the policy named a leg that does not exist.
        """
        count = self._tx_next
        self._tx_next = count + 1
        legs = self._policy.legs(size, now, self._views)
        try:
            for leg in legs:
                self._pdus[leg] += 1
                self._bytes[leg] += size
                self._ready.append(Pdu(leg, count, count & self._mask, sdu))
                if self.feedback is not None:
                    self.feedback.sent(leg, count)
        except (IndexError, TypeError):
            raise PolicyError(
                f"split policy {type(self._policy).__name__} answered {legs!r}, "
                f"must be a tuple of legs, 0 to {len(self._pdus) - 1}"
            ) from None

    def poll(self, now: int) -> list[Pdu[T]]:  # noqa: ARG002  (the cores' common signature)
        """The PDUs to submit to the legs, in order of COUNT."""
        ready, self._ready = self._ready, []
        return ready

    def next_timeout(self) -> int | None:
        """None: this entity waits for nothing but `push`."""
        return None

    def statistics(self) -> TransmitStatistics:
        """The counters up to now."""
        return TransmitStatistics(
            sdus=self._tx_next - self._first_count,
            pdus=tuple(self._pdus),
            bytes=tuple(self._bytes),
        )


class _View:
    """A leg's state beside the entity's counters of it: nothing is kept here."""

    __slots__ = ("_entity", "_leg", "_state")

    def __init__(self, entity: TransmittingEntity[Any], leg: int, state: LegState) -> None:
        self._entity = entity
        self._leg = leg
        self._state = state

    @property
    def is_up(self) -> bool:
        return self._state.is_up

    @property
    def mean_delay_ns(self) -> int:
        return self._state.mean_delay_ns

    def backlog_bytes(self, now: int) -> int:
        return self._state.backlog_bytes(now)

    def has_room(self, now: int, more: int) -> bool:
        return self._state.has_room(now, more)

    def drain_ns(self, now: int, more: int = 0) -> int | None:
        return self._state.drain_ns(now, more)

    def takes(self, now: int, size: int) -> bool:
        return self._state.has_room(now, size)

    @property
    def pending_bytes(self) -> int:
        return 0

    @property
    def may_wait(self) -> bool:
        return False

    def credit_bytes(self, now: int) -> int | None:  # noqa: ARG002  (no leg's node says)
        return None

    @property
    def sent_pdus(self) -> int:
        return self._entity._pdus[self._leg]

    @property
    def sent_bytes(self) -> int:
        return self._entity._bytes[self._leg]

    @property
    def report(self) -> LegReport | None:
        feedback = self._entity.feedback
        return None if feedback is None else feedback.reports[self._leg]
