"""The amount of one bearer's data that a leg accepts now, as the leg itself tells.

`flow_control` determines the same for a leg behind a backhaul.
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
MIN_PACKETS: Final = 2
"""One in service, and one behind it, so that a slow leg is never idle either."""


T = TypeVar("T")


class Outstanding:
    """PDUs of one bearer in a leg's queue, told from others' by the leg's packet numbers."""

    __slots__ = ("_inside", "_leg", "bytes", "gone_bytes", "highest_count", "lost", "passed")

    def __init__(self, leg: LegState) -> None:
        self._leg = leg
        self._inside: deque[tuple[int, int, int]] = deque()  # number, size, COUNT
        self.bytes = 0
        """Bytes of the SDUs of these PDUs."""
        self.gone_bytes = 0
        """Bytes of the SDUs that are not in the queue any more."""
        self.highest_count: int | None = None
        """The highest COUNT of those that were served."""
        self.lost = 0
        """PDUs that the queue did not take."""
        self.passed = 0
        """PDUs that were served."""

    def __len__(self) -> int:
        """Return how many PDUs of the bearer are in the queue."""
        return len(self._inside)

    def put(self, *, size: int, count: int) -> None:
        """Note that a PDU joins the queue as its next packet, or is dropped there."""
        inside = self._inside
        last = inside[-1][0] if inside else 0
        inside.append((max(self._leg.joined_packets, last) + 1, size, count))
        self.bytes += size

    def settle(self, now: int) -> None:
        """Forget what was dropped, and what has been served by `now` (ns)."""
        inside, joined = self._inside, self._leg.joined_packets
        while inside and inside[-1][0] > joined:
            self._remove_bytes(inside.pop()[1])
            self.lost += 1
        served = self._leg.served_packets(now=now)
        while inside and inside[0][0] <= served:
            _, size, count = inside.popleft()
            self._remove_bytes(size)
            self.passed += 1
            if self.highest_count is None or count > self.highest_count:
                self.highest_count = count

    def flushed(self) -> None:
        """Note that all of them were taken out of the queue."""
        self._inside.clear()
        self.gone_bytes += self.bytes
        self.bytes = 0

    def _remove_bytes(self, size: int) -> None:
        self.bytes -= size
        self.gone_bytes += size


class LegAccess(ABC, Generic[T]):
    """Access of a transmitting entity to a leg that it does not fill blindly: PDUs of type `T`.

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
        """Return the PDUs on their way to the leg or in its queue, as of the last `settle`."""

    @abstractmethod
    def settle(self, now: int) -> None:
        """Look how far the leg is at `now` (ns), when all that `arrived` gave has reached it."""

    @abstractmethod
    def is_up(self) -> bool:
        """Return whether the leg is up, as far as the entity knows."""

    @abstractmethod
    def takes(self, *, now: int, size: int) -> bool:
        """Return whether the leg takes an SDU of `size` bytes at `now` (ns)."""

    @abstractmethod
    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the leg's queue has room for it behind all that is on its way there."""

    @abstractmethod
    def credit_bytes(self) -> int | None:
        """Return the bytes its node still wants, below 0 for too many; None: it does not say."""

    @abstractmethod
    def send(self, pdu: T, *, now: int, size: int, count: int) -> None:
        """Send a PDU with an SDU of `size` bytes to the leg."""

    @abstractmethod
    def arrived(self, now: int) -> list[T]:
        """Return the PDUs that reach the leg by `now` (ns), to be given to it at once."""

    @abstractmethod
    def withdraw(self, now: int) -> list[T]:
        """Take back what has not reached the leg, which is lost and whose queue is emptied."""

    @abstractmethod
    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """Return when something arrives or, if `wanted`, the leg may take more than now (ns)."""


class NearLeg(LegAccess[T]):
    """A leg beside its transmitting entity, which takes only what it will serve soon.

    So a PDU gets its number as late as possible, and the leg's queue drops nothing that has a
    number. Each bearer over the leg is counted by itself, as its node keeps a queue for each. A leg
    with a queue that it never serves again (its capacity has ended) is treated as down.

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
        """Return the PDUs in the leg's queue, or about to be put there."""
        return len(self.inside) + len(self._sent)

    def settle(self, now: int) -> None:
        """Look how far the leg's service is."""
        self.inside.settle(now)
        self._settled = not self._sent
        self._serves = not self._leg.is_up or serves(self._leg, now)

    def is_up(self) -> bool:
        """Return whether the leg is up and will serve its queue."""
        return self._leg.is_up and self._serves

    def takes(self, *, now: int, size: int) -> bool:
        """Return whether it serves all of the bearer within `lead` and its queue has room."""
        if not (self.is_up() and self.has_room(now=now, size=size)):
            return False
        if self._lead is None or len(self.inside) < MIN_PACKETS:
            return True
        return self.inside.bytes < bytes_within(self._leg, now=now, time=self._lead)

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the queue has room, or is empty and would drop an SDU of this size anyway.

        The PDU sent before must have reached the queue first: one PDU after the other.
        """
        if not self._settled:
            return False
        leg = self._leg
        return leg.has_room(now=now, size=size + self._header) or is_empty(leg, now)

    def credit_bytes(self) -> None:
        """Return None, as a leg beside its entity does not ask for bytes."""

    def send(self, pdu: T, *, now: int, size: int, count: int) -> None:  # noqa: ARG002  (LegAccess')
        """Give a PDU to the leg."""
        self._sent.append((pdu, size, count))
        self._settled = False

    def arrived(self, now: int) -> list[T]:  # noqa: ARG002
        """Return what was sent since the last call, which reaches the leg at once."""
        sent, self._sent = self._sent, []
        for _, size, count in sent:
            self.inside.put(size=size, count=count)
        return [pdu for pdu, _, _ in sent]

    def withdraw(self, now: int) -> list[T]:  # noqa: ARG002
        """Return what was sent and not fetched by `arrived` yet, and forget it."""
        self.inside.flushed()
        sent, self._sent = self._sent, []
        return [pdu for pdu, _, _ in sent]

    def next_timeout(self, now: int, *, wanted: bool) -> int | None:
        """Return when the packet in service is through (ns), if `wanted`; else None."""
        return self._leg.service_end(now=now) if wanted else None


def is_empty(leg: LegState, now: int) -> bool:
    """Return whether a leg's queue holds no packet of any bearer."""
    return leg.served_packets(now=now) == leg.joined_packets


def serves(leg: LegState, now: int) -> bool:
    """Return whether a leg that is up will ever serve its queue; True if the queue is empty."""
    return leg.service_end(now=now) is not None or is_empty(leg, now)


def bytes_within(leg: LegState, *, now: int, time: int) -> int:
    """Return the bytes that a leg serves in `time` (ns) at the rate of `now`; 0 if unknown."""
    return leg.rate_bps(now=now) * time // (8 * NS_PER_S)
