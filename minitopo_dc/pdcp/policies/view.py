"""The view of a leg that a split policy gets.

A policy gets a `LegView` of each leg of its bearer. It does not know which `LegState` it is:

- The leg itself (each of `minitopo_dc.link` is one, though neither package imports the other). All
  is current. No base station can know so much of another node's leg: it is called ideal.
- With flow control an estimate (`LegEstimate`), from what the leg's node reports over its backhaul.

The receiver's reports travel as packets and are delayed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LegReport:
    """What the receiver's latest report (`report.Report`) says of one leg.

    All but `at` and `highest_count` only grow, so a policy that remembers the last report knows
    what happened since. `sent_pdus - delivered_pdus - lost_pdus` of a view is the number of PDUs on
    the leg when the report was made.

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
    """What is known of a leg. Asking changes nothing."""

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Return whether the leg serialises packets; it does not in an outage."""

    @property
    @abstractmethod
    def mean_delay_ns(self) -> int:
        """Return the configured mean one-way delay behind queue and serialisation, in ns."""

    @abstractmethod
    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes of IP packets, with PDCP headers, not serialised yet at `now` (ns)."""

    @abstractmethod
    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the queue would take a packet of `size` bytes instead of dropping it."""

    @abstractmethod
    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the backlog and `more` bytes behind it take at the rate of `now` (ns).

        None where no time is known: the leg is down, has failed, or has the rate 0.
        """


class LegQueue(LegState, Protocol):
    """What a leg itself shows of it and of its queue (each `minitopo_dc.link.AnyLeg` does).

    Of the whole leg, which other bearers and traffic without a bearer share. Packets are numbered
    from 1 as they join its queue, which they leave in that order.
    """

    @property
    def slot_lead_ns(self) -> int:
        """Return in what time (ns) the mean rate passes two slots, sent and next; 0: none."""

    def rate_bps(self, *, now: int) -> int:
        """Return the rate at `now` in bit/s; 0 also when it is down or has ended."""

    @property
    def joined_packets(self) -> int:
        """Return the number of the latest packet that joined the leg's queue, counted from 1."""

    def served_packets(self, *, now: int) -> int:
        """Return the number of the last packet that has left the queue by `now` (ns)."""

    def service_end(self, *, now: int) -> int | None:
        """Return when the packet in service is through (ns); None: none is being served."""


class LegView(LegState):
    """One leg as a policy sees it: what is known of it, and what this bearer did on it.

    Nothing is kept here. A leg that has failed is to a policy as one that is down.
    """

    @property
    @abstractmethod
    def has_failed(self) -> bool:
        """Return whether the leg loses all that the bearer sends, by the receiver's reports.

        It is always False without `leg_failure_ms`, and while no other leg is up that has not
        failed.
        """

    @abstractmethod
    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg would take an SDU of `size` bytes now.

        With early numbering: its queue has room. With late numbering: its node wants more.
        """

    @property
    @abstractmethod
    def pending_bytes(self) -> int:
        """Return the bytes of the bearer's SDUs that wait behind the one for which a leg is asked.

        It belongs to the bearer, so it is the same on each leg. With early numbering it is 0, as no
        SDU waits.
        """

    @property
    @abstractmethod
    def may_wait(self) -> bool:
        """Return whether an SDU without a leg waits (late numbering) or is dropped (early).

        It belongs to the bearer, so it is the same on each leg.
        """

    @abstractmethod
    def credit_bytes(self, *, now: int) -> int | None:
        """Return how many bytes the leg's node still wants (TS 38.425 clause 5.4.2).

        It is below 0 where more was sent than the node wanted, and None where the node does not
        say.
        """

    @property
    @abstractmethod
    def sent_pdus(self) -> int:
        """Return how many PDUs this bearer put on the leg, with those that its queue dropped."""

    @property
    @abstractmethod
    def sent_bytes(self) -> int:
        """Return the bytes of the SDUs of these PDUs, without PDCP headers."""

    @property
    @abstractmethod
    def report(self) -> LegReport | None:
        """Return the receiver's latest report; None before the first and without `report_ms`."""


def candidates(views: Sequence[LegView], *, now: int, size: int) -> list[int]:
    """Return the legs that may get an SDU of `size` bytes at `now`, ascending; none: let it wait.

    These are the legs that move (are up, with a rate above 0) and take it. Where none moves, they
    are those that are up and take it, as nothing would ever end the waiting for a leg of rate 0.
    Where SDUs cannot wait and no leg takes it, they are those that move, else all.
    """
    taking = [leg for leg, view in enumerate(views) if view.takes(now=now, size=size)]
    moving = moving_legs(now, views)
    able = [leg for leg in taking if leg in (moving or up_legs(views))]
    if able or views[0].may_wait:
        return able
    return moving or list(range(len(views)))


def moving_legs(now: int, views: Sequence[LegView]) -> list[int]:
    """Return the legs that are up with a rate above 0, ascending."""
    return [leg for leg, view in enumerate(views) if view.drain_ns(now=now) is not None]


def up_legs(views: Sequence[LegView]) -> list[int]:
    """Return the legs that are up, ascending."""
    return [leg for leg, view in enumerate(views) if view.is_up]
