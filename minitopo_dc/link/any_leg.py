"""What every leg can do, whatever carries its packets: what drivers and schedules rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from minitopo_dc.link.leg import LegStatistics
from minitopo_dc.link.models.capacity import Capacity
from minitopo_dc.link.models.delay import DelayModel
from minitopo_dc.link.models.loss import LossModel

T = TypeVar("T")


class AnyLeg(Protocol[T]):
    """One direction of a leg. Times are ns; `now` never descends from call to call."""

    def push(self, packet: T, size: int, now: int) -> bool:
        """A packet of `size` bytes (> 0) arrives; False if it is known that it never comes out.

        True is a promise that :meth:`dropped` or :meth:`flush` may break, and nothing else.
        """

    def poll(self, now: int) -> list[T]:
        """All that has arrived at the other end by `now`, in order of arrival."""

    def dropped(self) -> list[T]:
        """What :meth:`push` had promised and will never come out, known since the last call.

        It is known when :meth:`poll` has been called for the moment of :meth:`next_timeout`.
        """

    def next_timeout(self) -> int | None:
        """When to poll next, or None if nothing is under way."""

    def start(self, now: int) -> None:
        """Make `now` the capacity's time 0."""

    def set_up(self, up: bool, now: int) -> None:
        """Take the leg up or down."""

    def flush(self, now: int, which: Callable[[T], bool] = ...) -> list[T]:
        """Take packets out, by default all; what :meth:`push` had promised and will not come."""

    def retune(
        self,
        now: int,
        *,
        capacity: Capacity | None = None,
        delay: DelayModel | None = None,
        loss: LossModel | None = None,
    ) -> None:
        """Change parameters without touching the queue; None leaves one as it is."""

    @property
    def is_up(self) -> bool:
        """Whether the leg serialises, as :meth:`set_up` said last."""

    @property
    def mean_delay_ns(self) -> int:
        """Mean one-way delay behind queue and serialisation, as configured."""

    def backlog_bytes(self, now: int) -> int:
        """Bytes that wait for being serialised."""

    def has_room(self, now: int, more: int) -> bool:
        """Whether the queue would take a packet of `more` bytes at `now`."""

    @property
    def joined_packets(self) -> int:
        """Packets that joined the queue so far: the number of the latest one, from 1."""

    def served_packets(self, now: int) -> int:
        """Number of the last of them that left the queue with all before it by `now`."""

    def service_end(self, now: int) -> int | None:
        """When the packet in service is through at the earliest; None: none is being served."""

    def rate_bps(self, now: int) -> int:
        """Rate of `now` in bit/s; 0 also when it is down, or its capacity has ended."""

    def drain_ns(self, now: int, more: int = 0) -> int | None:
        """How long the backlog and `more` bytes behind it take; None: no time is known."""

    def statistics(self) -> LegStatistics:
        """Counters and gauges as of the last call: `LegStatistics`, or more than those."""
