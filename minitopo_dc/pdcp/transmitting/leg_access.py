"""How much of one bearer a leg takes at a moment, asked of the leg itself.

The twin with a backhaul between is `flow_control`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Final, Generic, TypeVar

from minitopo_dc.pdcp.policies.view import LegState
from minitopo_dc.units import NS_PER_S

LEAD_NS: Final = 2_000_000
"""A leg takes what it serves within 2 ms: the slot of 1 ms that it sends (TS 36.211, and 38.211 at
15 kHz) and the next, which it has to fill beforehand."""
LEAST_PACKETS: Final = 2
"""One in service, and one behind it, so that a slow leg is never idle either."""


T = TypeVar("T")


class Outstanding:
    """PDUs of one bearer in one leg's queue, told from others' by the leg's numbers of packets."""

    __slots__ = ("_inside", "_leg", "bytes", "gone_bytes", "highest_count", "lost", "passed")

    def __init__(self, leg: LegState) -> None:
        self._leg = leg
        self._inside: deque[tuple[int, int, int]] = deque()  # number, size, COUNT
        self.bytes = 0
        """Of their SDUs."""
        self.gone_bytes = 0
        """Of the SDUs that are not in the queue any more."""
        self.highest_count: int | None = None
        """The highest COUNT of those that were served."""
        self.lost = 0
        """PDUs that the queue did not take."""
        self.passed = 0
        """PDUs that were served."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self._inside)

    def put(self, *, size: int, count: int) -> None:
        """A PDU joins the queue as its next packet, or is dropped there."""
        inside = self._inside
        last = inside[-1][0] if inside else 0
        inside.append((max(self._leg.joined_packets, last) + 1, size, count))
        self.bytes += size

    def settle(self, now: int) -> None:
        """Forget what was dropped, and what has been served by `now` (ns)."""
        inside, joined = self._inside, self._leg.joined_packets
        while inside and inside[-1][0] > joined:
            self._gone(inside.pop()[1])
            self.lost += 1
        served = self._leg.served_packets(now=now)
        while inside and inside[0][0] <= served:
            _, size, count = inside.popleft()
            self._gone(size)
            self.passed += 1
            if self.highest_count is None or count > self.highest_count:
                self.highest_count = count

    def flushed(self) -> None:
        """All of them were taken out of the queue."""
        self._inside.clear()
        self.gone_bytes += self.bytes
        self.bytes = 0

    def _gone(self, size: int) -> None:
        self.bytes -= size
        self.gone_bytes += size


class LegAccess(ABC, Generic[T]):
    """A leg to the transmitting entity that does not just give it all: PDUs of type `T`.

    Args:
        leg: the leg.
        header: bytes that a PDU has more than its SDU.
    """

    __slots__ = ("_header", "_leg", "inside")

    def __init__(self, leg: LegState, header: int) -> None:
        self._leg = leg
        self._header = header
        self.inside = Outstanding(leg)
        """PDUs in its queue, as of the last `settle`."""

    @abstractmethod
    def __len__(self) -> int:
        """PDUs on their way to the leg or in its queue, as of the last `settle`."""

    @abstractmethod
    def settle(self, now: int) -> None:
        """All that `arrived` gave has reached the leg: look how far it is at `now` (ns)."""

    @abstractmethod
    def is_up(self) -> bool:
        """Whether the leg is up, as far as the entity knows."""

    @abstractmethod
    def takes(self, *, now: int, size: int) -> bool:
        """Whether it takes an SDU of `size` bytes."""

    @abstractmethod
    def has_room(self, *, now: int, size: int) -> bool:
        """Whether the leg's queue has room for it behind all that is on its way there."""

    @abstractmethod
    def credit_bytes(self) -> int | None:
        """Bytes that its node still wants, below 0 when it has too many; None: it does not say."""

    @abstractmethod
    def send(self, pdu: T, *, now: int, size: int, count: int) -> None:
        """Send a PDU with an SDU of `size` bytes to the leg."""

    @abstractmethod
    def arrived(self, now: int) -> list[T]:
        """PDUs that reach the leg by `now`: to be given to it at once."""

    @abstractmethod
    def withdraw(self, now: int) -> list[T]:
        """The leg is lost and its queue emptied: take back what has not reached it."""

    @abstractmethod
    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """When something arrives or, where that is `wanted`, it may take more than now (ns)."""


class NearLeg(LegAccess[T]):
    """A leg beside its transmitting entity takes what it will serve soon, and not more.

    So a PDU gets its number as late as possible, and nothing that has one is dropped by the leg's
    queue. Of each bearer over the leg, as its node keeps a queue for each. A leg with a queue that
    it never serves again (its capacity has ended) is as one that is down.

    Args:
        leg: the leg.
        lead: of how much it takes at a time, in ns of its present rate; None: until its queue is
            full. So it is for a split that does not see its legs: it sends a batch on one while the
            others must not run dry.
        header: bytes that a PDU has more than its SDU.
    """

    __slots__ = ("_lead", "_sent", "_serves", "_settled")

    def __init__(self, leg: LegState, *, lead: int | None = LEAD_NS, header: int = 0) -> None:
        super().__init__(leg, header)
        self._lead = lead
        self._sent: list[tuple[T, int, int]] = []  # PDU, size, COUNT
        self._settled = self._serves = True

    def __len__(self) -> int:
        """PDUs in the leg's queue, or about to be."""
        return len(self.inside) + len(self._sent)

    def settle(self, now: int) -> None:
        """Look how far the leg's service is."""
        self.inside.settle(now)
        self._settled = not self._sent
        self._serves = not self._leg.is_up or serves(self._leg, now)

    def is_up(self) -> bool:
        """Whether the leg is."""
        return self._leg.is_up and self._serves

    def takes(self, *, now: int, size: int) -> bool:
        """Whether it serves all it has of the bearer within `lead`, and its queue has room."""
        if not (self.is_up() and self.has_room(now=now, size=size)):
            return False
        if self._lead is None or len(self.inside) < LEAST_PACKETS:
            return True
        return self.inside.bytes < bytes_within(self._leg, now=now, time=self._lead)

    def has_room(self, *, now: int, size: int) -> bool:
        """Whether the queue has, or is empty: then it drops what it will never have room for.

        What was sent must be in the queue before more is: one PDU after the other.
        """
        if not self._settled:
            return False
        leg = self._leg
        return leg.has_room(now=now, size=size + self._header) or is_empty(leg, now)

    def credit_bytes(self) -> None:
        """None: nothing is said."""

    def send(self, pdu: T, *, now: int, size: int, count: int) -> None:  # noqa: ARG002  (LegAccess')
        """Give a PDU to the leg."""
        self._sent.append((pdu, size, count))
        self._settled = False

    def arrived(self, now: int) -> list[T]:  # noqa: ARG002
        """What was sent."""
        sent, self._sent = self._sent, []
        for _, size, count in sent:
            self.inside.put(size=size, count=count)
        return [pdu for pdu, _, _ in sent]

    def withdraw(self, now: int) -> list[T]:  # noqa: ARG002
        """What was sent and not fetched yet."""
        self.inside.flushed()
        sent, self._sent = self._sent, []
        return [pdu for pdu, _, _ in sent]

    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """When the packet in service is through."""
        return self._leg.service_end(now=now) if wanted else None


def is_empty(leg: LegState, now: int) -> bool:
    """Whether a leg's queue holds no packet, of whatever bearer."""
    return leg.served_packets(now=now) == leg.joined_packets


def serves(leg: LegState, now: int) -> bool:
    """Whether a leg that is up will ever serve what is in its queue, be it nothing."""
    return leg.service_end(now=now) is not None or is_empty(leg, now)


def bytes_within(leg: LegState, *, now: int, time: int) -> int:
    """Bytes that a leg serves in `time` (ns) at the rate of `now`; 0 where none is known."""
    return leg.rate_bps(now=now) * time // (8 * NS_PER_S)
