"""Flow control of TS 38.425: what the node of a leg tells the node that hosts PDCP.

The node of a leg (in NR a DU or the secondary node) sends DL DATA DELIVERY STATUS (clauses 5.4.2
and 5.5.2.2): how many bytes it wants, how fast it can send them, and what it has sent. It does so
periodically, when it has sent a number of bytes, and when it is polled (DL USER DATA, clause
5.5.2.1). The frames to it are numbered (NR-U sequence number), so it sees which ones are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from minitopo_dc.pdcp.policies.view import LegQueue
from minitopo_dc.pdcp.transmitting.legs import (
    LEAD_NS,
    MIN_PACKETS,
    Outstanding,
    bytes_within,
    will_serve,
)
from minitopo_dc.units import UNLIMITED, QueueLimit

MAX_BYTES: Final = 1500
"""Of a packet as Ethernet carries it (RFC 894)."""
MIN_BYTES: Final = MIN_PACKETS * MAX_BYTES
"""What a node that is up wants at least."""
PDU_BYTES: Final = 1600
"""The least size of a queue in bytes: one packet as Ethernet carries it, with a PDCP header."""


@dataclass(frozen=True, slots=True)
class FlowControl:
    """Flow control of one leg's node over a backhaul; both directions of that are alike.

    Attributes:
        interval: ns from one periodic status to the next, and from one poll to the next at least.
        delay: of the backhaul one way, ns.
        desired: ns of its leg's present rate that the node wants to have, None: what a status
            and its answer take, so that the node does not run dry: `interval`, the backhaul there
            and back, and the 2 ms that a leg without a backhaul takes.
        status_bytes: a status is sent after so many bytes of SDUs have left the node's queue, too;
            None: not so.
        jitter: ns that the backhaul takes beyond `delay` at most.
        rate_bps: of the backhaul in bit/s; None: without limit.
        loss: of the backhaul, the share of its frames from 0 to 1.
        seed: of jitter and loss.
        queue: the limit of the queue at the node.
    """

    interval: int
    delay: int
    desired: int | None = None
    status_bytes: int | None = None
    jitter: int = 0
    rate_bps: int | None = None
    loss: float = 0.0
    seed: str = ""
    queue: QueueLimit = UNLIMITED

    @property
    def fill_packets(self) -> int | None:
        """Return how many PDUs may be in the node's queue when one more has arrived: half of it.

        The other half takes what is on its way when the rate falls. None: any number.
        """
        return None if self.queue.packets is None else max(1, self.queue.packets // 2)

    @property
    def fill_bytes(self) -> int | None:
        """Return how many bytes may be there when one more PDU arrives: half, if that one fits."""
        limit = self.queue.bytes
        return None if limit is None else max(0, min(limit // 2, limit - PDU_BYTES))

    @property
    def round_trip_ns(self) -> int:
        """Return what a status and its answer take on the backhaul at most (ns)."""
        return 2 * (self.delay + self.jitter)

    @property
    def desired_ns(self) -> int:
        """Return `desired` in ns, or what None stands for."""
        if self.desired is not None:
            return self.desired
        return self.interval + self.round_trip_ns + LEAD_NS

    @property
    def fill(self) -> int | None:
        """Return `fill_bytes`, or those of `fill_packets` as Ethernet carries them, if less."""
        packets = None if self.fill_packets is None else self.fill_packets * MAX_BYTES
        limits = [limit for limit in (self.fill_bytes, packets) if limit is not None]
        return min(limits, default=None)

    @property
    def mean_delay_ns(self) -> int:
        """Return the mean delay of the backhaul one way, without serialisation (ns)."""
        return self.delay + self.jitter // 2


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """DL DATA DELIVERY STATUS of one bearer (TS 38.425 clause 5.5.2.2).

    Highest delivered PDCP SN, which a node knows with RLC AM, is not modelled: no estimate uses it.

    Attributes:
        desired_bytes: desired buffer size, counted from what the leg has transmitted.
        desired_bps: desired data rate in bit/s: the leg's present one.
        transmitted: up to this frame all have left the node's queue, by NR-U sequence numbers from
            1 on; 0: none yet. (The message has their highest PDCP SN, and that of retransmissions
            apart; which frames these were the other node knows.)
        lost: ranges of frames, first and last, that the backhaul lost since the latest status.
        is_up: whether the leg was up, and served what it had; False stands for the cause value
            radio link outage.
    """

    desired_bytes: int
    desired_bps: int
    transmitted: int
    lost: tuple[tuple[int, int], ...]
    is_up: bool


class LegNode:
    """The node of a leg, for one bearer: it counts frames and makes statuses."""

    def __init__(self, queue: LegQueue, inside: Outstanding, control: FlowControl) -> None:
        """Make the node of a leg, where `inside` is what its queue has of this bearer."""
        self._queue = queue
        self._inside = inside
        self._control = control
        self._due: int | None = None  # of the next periodic status; None: the first call settles it
        self._reported_bytes = 0
        self._received = 0
        self._lost: list[tuple[int, int]] = []

    def settle(self, now: int) -> DeliveryStatus | None:
        """Look how far the leg is at `now` (ns), and return the status that is due."""
        self._inside.settle(now)
        if self._due is None or now >= self._due:
            begin = now if self._due is None else self._due
            interval = self._control.interval
            self._due = begin + interval * ((now - begin) // interval + 1)
            return self.status(now)
        gone, least = self._inside.gone_bytes - self._reported_bytes, self._control.status_bytes
        return self.status(now) if least is not None and gone >= least else None

    def receive(self, number: int, *, size: int) -> None:
        """Take a frame with an SDU of `size` bytes, which goes on the leg at once; 0: a poll."""
        if number > self._received + 1:
            self._lost.append((self._received + 1, number - 1))
        self._received = number
        if size:
            self._inside.put(size=size, count=number)

    def flush(self, number: int) -> None:
        """Forget all frames up to `number`: they are withdrawn, and the leg's queue is emptied."""
        self._inside.flushed()
        self._received = number

    def next_timeout(self, now: int) -> int | None:
        """Return when the next status may be due (ns); None before the first."""
        if self._due is None or self._control.status_bytes is None or not len(self._inside):
            return self._due
        end = self._queue.service_end(now=now)
        return self._due if end is None else min(end, self._due)

    def status(self, now: int) -> DeliveryStatus:
        """Return the status of `now` (ns), as of the last `settle`."""
        queue, first = self._queue, self._inside.first_count
        is_up = queue.is_up and will_serve(queue, now)
        lost, self._lost = tuple(self._lost), []
        self._reported_bytes = self._inside.gone_bytes
        return DeliveryStatus(
            desired_bytes=self._desired_bytes(now) if is_up else 0,
            desired_bps=queue.rate_bps(now=now),
            transmitted=self._received if first is None else first - 1,
            lost=lost,
            is_up=is_up,
        )

    def _desired_bytes(self, now: int) -> int:
        """Return what the leg serves in the desired time, or less if the queue has no room for it.

        What leaves the queue while the status and its answer are on the backhaul needs no room.
        """
        control = self._control
        desired = bytes_within(self._queue, now=now, time=control.desired_ns)
        if (fill := control.fill) is not None:
            passing = bytes_within(self._queue, now=now, time=control.round_trip_ns)
            desired = min(desired, passing + fill)
        return max(desired, MIN_BYTES)
