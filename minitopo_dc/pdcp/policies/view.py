"""What a split policy sees of each leg of its bearer.

A base station that splits knows of a leg what the leg's node reports: how much more data it wants
(TS 38.425 clause 5.4.2, the desired buffer size and data rate of DL DELIVERY STATUS), what came
through, and the delay of its own backhaul. Here backlog, room and rate are asked of the leg itself
and are those of the very moment; what the receiver says comes by a packet of its own, and late.

Who sees what: a policy sees a `LegView` of each leg, and nothing else. The transmitting entity sees
the leg itself, as a `LegState`, and reaches it by a `LegAccess` (`transmitting.leg_access`), which
may have a backhaul between. Whoever drives a leg, and gives it packets, has an `AnyLeg` of
`minitopo_dc.link`, which is a `LegState` without either package knowing the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LegReport:
    """What the receiver's latest report (`report.Report`) says of one leg.

    All but `at` and `highest_count` grow only, so a policy that remembers the last one knows
    what happened since. `sent_pdus - delivered_pdus - lost_pdus` of a view is what is on the leg,
    or was when the report was made.

    Attributes:
        at: when it reached the transmitting entity, ns.
        highest_count: highest COUNT received on the leg; None: nothing was.
        delivered_pdus: PDUs received on the leg, each copy of a duplicated one on its own leg.
        delivered_bytes: of their SDUs, without PDCP headers.
        lost_pdus: those sent on the leg up to `highest_count`, less `delivered_pdus`. Exact on
            a leg that keeps the order; on one that does not, some may still come.
        reordered: SDUs received on the leg that waited in the reordering buffer.
        reordering_ns: sum of their waiting times. They waited for what another leg carried (or
            lost), so the leg with the most is the one that is ahead.
    """

    at: int
    highest_count: int | None
    delivered_pdus: int
    delivered_bytes: int
    lost_pdus: int
    reordered: int
    reordering_ns: int


class LegState(Protocol):
    """What a leg shows of itself and of its queue (a `minitopo_dc.link.AnyLeg` does).

    Of the whole leg, which other bearers and traffic without a bearer share. Asking changes
    nothing. Packets are numbered from 1 as they join its queue, which they leave in that order.
    """

    @property
    def is_up(self) -> bool:
        """Whether the leg serialises; False in an outage."""

    @property
    def mean_delay_ns(self) -> int:
        """Mean one-way delay behind queue and serialisation, ns, as configured."""

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes of IP packets, with PDCP headers, not serialised yet at `now` (ns)."""

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether its queue would take a packet of `size` bytes; else it drops it."""

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take at the rate of `now` (ns).

        None where no time is known: the leg is down or has the rate 0.
        """

    @property
    def joined_packets(self) -> int:
        """Number of the latest packet in its queue."""

    def served_packets(self, *, now: int) -> int:
        """Return the number of the last one that has left it by `now` (ns)."""

    def rate_bps(self, *, now: int) -> int:
        """Return the rate at `now` in bit/s; 0 also when it is down or has ended."""

    def service_end(self, *, now: int) -> int | None:
        """Return when the packet in service is through (ns); None: none is being served."""


class LegView(ABC):
    """One leg as a policy sees it: what the leg shows, and what this bearer did on it.

    Nothing is kept here. A leg that has failed is to a policy as one that is down.
    """

    __slots__ = ("_state",)

    def __init__(self, state: LegState) -> None:
        self._state = state

    @property
    def mean_delay_ns(self) -> int:
        """Mean one-way delay behind queue and serialisation, ns, as configured."""
        return self._state.mean_delay_ns

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes of IP packets, with PDCP headers, not serialised yet at `now` (ns)."""
        return self._state.backlog_bytes(now=now)

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the leg's queue would take a packet of `size` bytes; else it drops it."""
        return self._state.has_room(now=now, size=size)

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take at the rate of `now` (ns).

        None where no time is known: the leg is down, has failed, or has the rate 0.
        """
        return None if self.has_failed else self._state.drain_ns(now=now, more=more)

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Whether the leg serialises and has not failed, as far as the bearer knows."""

    @property
    @abstractmethod
    def has_failed(self) -> bool:
        """Whether it loses all that the bearer sends on it, by the receiver's reports.

        Always False without `leg_failure_ms`, and while no other leg is up that has not failed.
        """

    @abstractmethod
    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg would take an SDU of `size` bytes now.

        With early numbering: its queue has room. With late numbering: its node wants more.
        """

    @property
    @abstractmethod
    def pending_bytes(self) -> int:
        """Bytes of SDUs of the bearer that wait for a leg behind the one asked for.

        Of the bearer, so the same on each leg. 0 with early numbering: there nothing waits.
        """

    @property
    @abstractmethod
    def may_wait(self) -> bool:
        """Whether an SDU for which no leg is named waits (late numbering), or is dropped (early).

        Of the bearer, so the same on each leg.
        """

    @abstractmethod
    def credit_bytes(self, *, now: int) -> int | None:
        """Return what the leg's node still wants in bytes (TS 38.425 clause 5.4.2).

        Below 0 where more was sent than it wanted; None: it does not say.
        """

    @property
    @abstractmethod
    def sent_pdus(self) -> int:
        """PDUs that this bearer put on the leg, those that its queue dropped included."""

    @property
    @abstractmethod
    def sent_bytes(self) -> int:
        """Bytes of their SDUs, without PDCP headers."""

    @property
    @abstractmethod
    def report(self) -> LegReport | None:
        """The receiver's latest, None before the first, and always without `report_ms`."""
