"""Flow control between a leg's node and the split point, over a backhaul (TS 38.425).

The node of a leg (in NR a DU or the secondary node) tells the node that hosts PDCP how many bytes
it wants, by DL DELIVERY STATUS (clauses 5.4.2 and 5.5.2.2). This desired buffer size counts from
the highest PDCP SN that the leg's node has transmitted: the node that hosts PDCP may send that many
bytes beyond it. PDUs and statuses are delayed by the backhaul.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final, TypeVar

from minitopo_dc.pdcp.policies.view import LegState
from minitopo_dc.pdcp.transmitting.legs import (
    LEAD_NS,
    MIN_PACKETS,
    BearerLeg,
    BearerLegs,
    bytes_within,
    is_empty,
    will_serve,
)

T = TypeVar("T")

MIN_BYTES: Final = MIN_PACKETS * 1500
"""What a node that is up wants at least: two packets as Ethernet carries them (RFC 894)."""


@dataclass(frozen=True, slots=True)
class FlowControl:
    """Flow control of one leg's node: how often, how late and how much it asks for.

    Attributes:
        interval: ns from one status to the next.
        delay: of the backhaul one way, ns.
        desired: ns of its leg's present rate that the node wants to have, None: what a status
            and its answer take, so that the node does not run dry: `interval` + 2 `delay` and the
            2 ms that a leg without a backhaul takes.
    """

    interval: int
    delay: int
    desired: int | None = None

    @property
    def desired_ns(self) -> int:
        """Return `desired` in ns, or what None stands for: `interval` + 2 `delay` + 2 ms."""
        if self.desired is not None:
            return self.desired
        return self.interval + 2 * self.delay + LEAD_NS


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """DL DELIVERY STATUS of one bearer (TS 38.425 clause 5.5.2.2).

    Attributes:
        desired_bytes: desired buffer size, counted from what the leg has transmitted.
        highest_count: highest COUNT transmitted by the leg, None: none yet. (The message has its
            SN.)
        gone_bytes: of SDUs that left the node's queue since the beginning. (The message has the
            highest SN instead; which bytes lie below it the other node knows. Here it is said.)
        lost_pdus: PDUs that the node's queue dropped.
        is_up: whether the leg was up, and served what it had. (The message has a radio link outage
            indication.)
    """

    desired_bytes: int
    highest_count: int | None
    gone_bytes: int
    lost_pdus: int
    is_up: bool


class LegNode(BearerLeg[T]):
    """Both ends of one leg's backhaul for one bearer: the node, and what the other end knows of it.

    Until the first status has come the other end assumes that the leg is up and wants two SDUs.
    """

    def __init__(
        self, number: int, state: LegState, bearer: BearerLegs[T], control: FlowControl
    ) -> None:
        """Make both ends for leg `number` of a bearer."""
        super().__init__(number, state, bearer)
        self._control = control
        self._due: int | None = None  # of the next status; None: the first settles it
        self._statuses: deque[tuple[int, DeliveryStatus]] = deque()
        self._line: deque[tuple[int, T, int, int]] = deque()  # due, PDU, size, COUNT
        self._line_bytes = self._given_bytes = 0
        self.status: DeliveryStatus | None = None
        """The latest that arrived."""

    @property
    def held(self) -> int:
        """Return the PDUs on the backhaul and in the leg's queue."""
        return len(self._line) + len(self.inside)

    @property
    def serves(self) -> bool:
        """Return whether the leg was up by the latest status."""
        return self.status is None or self.status.is_up

    def settle(self, now: int) -> None:
        """Make the status that is due at `now` (ns), and take those that have arrived."""
        self.inside.settle(now)
        if self._due is None or now >= self._due:
            begin = now if self._due is None else self._due
            interval = self._control.interval
            self._due = begin + interval * ((now - begin) // interval + 1)
            self._statuses.append((now + self._control.delay, self._made(now)))
        while self._statuses and self._statuses[0][0] <= now:
            self.status = self._statuses.popleft()[1]

    def credit_bytes(self, *, now: int) -> int:  # noqa: ARG002  (LegView's)
        """Return the bytes that may still be sent; below 0 if the node wants less than it has."""
        if self.status is None:
            return MIN_BYTES - self._given_bytes
        return self.status.desired_bytes - (self._given_bytes - self.status.gone_bytes)

    def send(self, pdu: T, *, now: int, size: int, count: int) -> None:
        """Put a PDU on the backhaul."""
        self._line.append((now + self._control.delay, pdu, size, count))
        self._line_bytes += size
        self._given_bytes += size

    def arrived(self, now: int) -> list[T]:
        """Return the PDUs that reach the leg by `now` (ns), to be given to it at once."""
        arrived = []
        while self._line and self._line[0][0] <= now:
            _, pdu, size, count = self._line.popleft()
            self._line_bytes -= size
            self.inside.put(size=size, count=count)
            arrived.append(pdu)
        return arrived

    def withdraw(self, now: int) -> list[T]:
        """Take back the PDUs on the backhaul, as the loss of the leg is known at once."""
        withdrawn = [pdu for _, pdu, _, _ in self._line]
        self._given_bytes -= self._line_bytes
        self._line_bytes = 0
        self._line.clear()
        self.inside.flushed()
        self._statuses.clear()  # of before
        self.status = self._made(now)
        return withdrawn

    def next_timeout(self, now: int, *, more: bool) -> int | None:  # noqa: ARG002  (BearerLeg's)
        """Return when the next PDU or status arrives, or the next status is due (ns)."""
        moments = [self._line[0][0]] if self._line else []
        if self._statuses:
            moments.append(self._statuses[0][0])
        if self._due is not None:
            moments.append(self._due)
        return min(moments, default=None)

    def _fits(self, now: int, size: int) -> bool:
        """Return whether the leg's queue has room for it and all bytes that are on the backhaul."""
        line = self._line_bytes + len(self._line) * self._bearer.header
        if self._state.has_room(now=now, size=line + size + self._bearer.header):
            return True
        return not self._line and is_empty(self._state, now)

    def _wants(self, now: int, size: int) -> bool:
        """Return whether the node wants an SDU of `size` bytes; an empty one wants any."""
        return self.credit_bytes(now=now) >= min(size, MIN_BYTES)

    def _made(self, now: int) -> DeliveryStatus:
        inside = self.inside
        is_up = self._state.is_up and will_serve(self._state, now)
        within = bytes_within(self._state, now=now, time=self._control.desired_ns) if is_up else 0
        return DeliveryStatus(
            desired_bytes=max(within, MIN_BYTES) if is_up else 0,
            highest_count=inside.highest_count,
            gone_bytes=inside.gone_bytes,
            lost_pdus=inside.lost,
            is_up=is_up,
        )
