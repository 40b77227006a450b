"""A leg behind a backhaul (Xn), and what the node that splits can know of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from random import Random
from typing import Final, Generic, TypeVar

from minitopo_dc.pdcp.codec import Pdu
from minitopo_dc.pdcp.policies.view import LegQueue
from minitopo_dc.pdcp.transmitting.flow_control import (
    MIN_BYTES,
    DeliveryStatus,
    FlowControl,
    LegNode,
)
from minitopo_dc.pdcp.transmitting.legs import BearerLeg, BearerLegs
from minitopo_dc.units import NS_PER_S, earliest

T = TypeVar("T")

FRAME_BYTES: Final = 60
"""Of a frame without PDU: IPv4 20 (RFC 791), UDP 8, GTP-U 12 with the type of its extension (TS
29.281 clause 5), and a NR user plane frame of at most 20 (TS 38.425 clause 5.5.2)."""


class Backhaul(Generic[T]):
    """Frames on their way: serialised at its rate, then delayed, in order; some are lost.

    Whether a frame is lost is drawn first, then its jitter, uniform from 0 to `jitter`; nothing is
    drawn where there is neither.
    """

    def __init__(self, control: FlowControl, rng: Random) -> None:
        """Make a direction with the delay, jitter, rate and loss of `control`."""
        self._control = control
        self._rng = rng
        self.frames: deque[tuple[int, T]] = deque()
        """What is on its way: when a frame arrives (ns), and what it holds."""
        self._free = self._last = 0

    def send(self, what: T, *, size: int, now: int) -> bool:
        """Send a frame with a PDU of `size` bytes at `now` (ns); False: it will be lost."""
        control = self._control
        at = now
        if control.rate_bps is not None:
            bits = (FRAME_BYTES + size) * 8
            at = self._free = max(now, self._free) + -(-bits * NS_PER_S // control.rate_bps)
        if control.loss and self._rng.random() < control.loss:
            return False
        at += control.delay
        if control.jitter:
            at += int(control.jitter * self._rng.random())
        self._last = max(at, self._last)
        self.frames.append((self._last, what))
        return True

    def arrived(self, now: int) -> list[T]:
        """Return what has arrived by `now` (ns)."""
        frames, arrived = self.frames, []
        while frames and frames[0][0] <= now:
            arrived.append(frames.popleft()[1])
        return arrived

    def next_arrival(self) -> int | None:
        """Return when the next frame arrives (ns); None: there is none."""
        return self.frames[0][0] if self.frames else None


@dataclass(slots=True)
class InFlight:
    """A PDU that no status has reported as gone."""

    number: int
    size: int
    """Of its SDU, in bytes."""
    count: int
    due: int
    """When it is expected at the leg's node, ns."""
    end: int
    """When the node is expected to have served it, ns."""


BEFORE_ANY: Final = DeliveryStatus(
    desired_bytes=MIN_BYTES, desired_bps=0, transmitted=0, lost=(), is_up=True
)
"""What a leg's node counts as having told before its first status; a rate of 0 is unknown."""


class LegEstimate:
    """The state of a leg as the node that splits estimates it, from statuses and what it has sent.

    Extrapolated is only this: since a status was made, the leg has served without pause, at the
    rate that the status reports, what was at its node. What is still on the backhaul it serves when
    that has arrived. A status is taken to be as old as the backhaul's mean delay.

    Before the first status the leg counts as up, its rate as unknown, and it wants two SDUs.
    """

    def __init__(self, control: FlowControl, *, radio_ns: int, header: int) -> None:
        """Know nothing but the leg's mean delay `radio_ns` and a PDU's `header` bytes."""
        self._delay = control.mean_delay_ns
        self._fill_packets, self._fill_bytes = control.fill_packets, control.fill_bytes
        self._header = header
        self._status = BEFORE_ANY
        self._sent: deque[InFlight] = deque()
        self._sent_bytes = 0  # of their SDUs
        self._idle = 0  # when the node has served all of them, by this estimate
        self.mean_delay_ns = radio_ns + self._delay
        """The configured mean delay of the leg, and of the backhaul before it (ns)."""

    def __len__(self) -> int:
        """Return how many PDUs the leg has, or the backhaul, as far as is known."""
        return len(self._sent)

    @property
    def is_up(self) -> bool:
        """Return whether the latest status has no radio link outage."""
        return self._status.is_up

    def rate_bps(self, *, now: int) -> int:  # noqa: ARG002  (LegState's)
        """Return the rate of the latest status in bit/s; 0 where it is down or unknown."""
        return self._status.desired_bps if self.is_up else 0

    def backlog_bytes(self, *, now: int) -> int:
        """Return the bytes with headers sent and not yet served by the leg, at least 0."""
        sent = self._sent_bytes + len(self._sent) * self._header
        rate = self.rate_bps(now=now)
        if not rate:
            return sent
        return min(sent, max(0, self._idle - now) * rate // (8 * NS_PER_S))

    def drain_ns(self, *, now: int, more: int = 0) -> int | None:
        """Return how long the leg takes, from when what is sent now gets to it, to serve that.

        That are `more` bytes, and what is left before them by then.
        """
        rate = self.rate_bps(now=now)
        if not rate:
            return None
        return max(0, self._idle - now - self._delay) + _service_ns(more, rate)

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the node wants an SDU of `size` bytes; an empty one wants any."""
        return self.credit_bytes() >= min(size, MIN_BYTES) and self.room_from() <= now

    def room_from(self) -> int:
        """Return from when on (ns) what is sent is expected to find the node's queue half empty."""
        moment, rate = 0, self._status.desired_bps
        if self._fill_bytes is not None and rate:
            moment = self._idle - _service_ns(self._fill_bytes, rate) - self._delay
        if self._fill_packets is not None and len(self._sent) >= self._fill_packets:
            moment = max(moment, self._sent[-self._fill_packets].end - self._delay)
        return moment

    def credit_bytes(self) -> int:
        """Return the bytes that may still be sent; below 0 if the node wants less than it has."""
        return self._status.desired_bytes - self._sent_bytes

    def sent(self, number: int, *, size: int, count: int, now: int) -> None:
        """Note a PDU with an SDU of `size` bytes that is sent at `now` (ns) as frame `number`."""
        due = now + self._delay
        pdu = InFlight(number, size, count, due, due)
        self._sent.append(pdu)
        self._sent_bytes += size
        self._serve(pdu)

    def take(self, status: DeliveryStatus, now: int) -> int | None:
        """Take a status that came at `now` (ns); return the highest COUNT that it says is gone."""
        self._status = status
        gone = [pdu for pdu in self._sent if pdu.number <= status.transmitted]
        self._sent = deque(
            pdu
            for pdu in self._sent
            if pdu.number > status.transmitted
            and not any(first <= pdu.number <= last for first, last in status.lost)
        )
        self._sent_bytes = sum(pdu.size for pdu in self._sent)
        self._idle = now - self._delay
        for pdu in self._sent:
            self._serve(pdu)
        return max((pdu.count for pdu in gone), default=None)

    def withdraw(self) -> list[int]:
        """Forget all PDUs, and return their COUNTs."""
        counts = [pdu.count for pdu in self._sent]
        self._sent.clear()
        self._sent_bytes = self._idle = 0
        return counts

    def _serve(self, pdu: InFlight) -> None:
        if rate := self._status.desired_bps:
            begin = max(self._idle, pdu.due)
            self._idle = pdu.end = begin + _service_ns(pdu.size + self._header, rate)


def _service_ns(size: int, rate: int) -> int:
    return -(-size * 8 * NS_PER_S // rate)


class DistantLeg(BearerLeg[T]):
    """A leg behind a backhaul: its node, and all that the bearer knows of it without seeing it.

    The node is polled when the leg's credit is used up.
    """

    def __init__(
        self, number: int, queue: LegQueue, bearer: BearerLegs[T], control: FlowControl
    ) -> None:
        """Make both ends for leg `number` of a bearer."""
        super().__init__(number, queue, bearer)
        self._estimate = LegEstimate(control, radio_ns=queue.mean_delay_ns, header=bearer.header)
        self._state = self._estimate
        self._node = LegNode(queue, self.inside, control)
        rng = Random(control.seed)
        self._down = Backhaul[tuple[int, Pdu[T] | None]](control, rng)  # by the frame's number
        self._up = Backhaul[DeliveryStatus](control, rng)
        self._number = 0
        self._interval = control.interval
        self._polled: int | None = None

    @property
    def held(self) -> int:
        """Return the PDUs that the leg has, or the backhaul, as far as is known."""
        return len(self._estimate)

    @property
    def on_the_way(self) -> int:
        """Return the PDUs that are on the backhaul."""
        return sum(pdu is not None for _, (_, pdu) in self._down.frames)

    def settle(self, now: int) -> int | None:
        """Send the status that is due at `now` (ns), and take those that have arrived."""
        status = self._node.settle(now)
        if status is not None:
            self._up.send(status, size=0, now=now)
        counts = [self._estimate.take(status, now) for status in self._up.arrived(now)]
        self._poll_if_used_up(now)
        return max((count for count in counts if count is not None), default=None)

    def credit_bytes(self, *, now: int) -> int:  # noqa: ARG002  (LegView's)
        """Return the bytes that may still be sent; below 0 if the node wants less than it has."""
        return self._estimate.credit_bytes()

    def send(self, pdu: Pdu[T], now: int) -> bool:
        """Send a PDU at `now` (ns); False: the backhaul will lose it."""
        self._number += 1
        self._estimate.sent(self._number, size=pdu.size, count=pdu.count, now=now)
        size = pdu.size + self._bearer.header
        sent = self._down.send((self._number, pdu), size=size, now=now)
        self._poll_if_used_up(now)
        return sent

    def arrived(self, now: int) -> list[Pdu[T]]:
        """Return the PDUs that reach the leg by `now` (ns), to be given to it at once."""
        arrived = []
        for number, pdu in self._down.arrived(now):
            self._node.receive(number, size=0 if pdu is None else pdu.size)
            if pdu is None:
                self._up.send(self._node.status(now), size=0, now=now)
            else:
                arrived.append(pdu)
        return arrived

    def withdraw(self, now: int) -> list[int]:  # noqa: ARG002  (BearerLeg's)
        """Take back all that is not known to have been served; the leg's queue is emptied."""
        self._down.frames.clear()
        self._node.flush(self._number)
        return self._estimate.withdraw()

    def next_timeout(self, now: int, *, more: bool) -> int | None:
        """Return when the next PDU or status arrives, or the next status is due (ns).

        If `more` is to be sent it is also when the node's queue is expected to have room.
        """
        room = self._estimate.room_from() if more else 0
        arrivals = self._down.next_arrival(), self._up.next_arrival()
        return earliest(*arrivals, self._node.next_timeout(now), room if room > now else None)

    def _fits(self, now: int, size: int) -> bool:
        return self._estimate.has_room(now=now, size=size)

    _wants = _fits

    def _poll_if_used_up(self, now: int) -> None:
        """Poll the node for a status unless it has been polled within the latest interval."""
        recent = self._polled is not None and now - self._polled < self._interval
        if self._estimate.credit_bytes() > 0 or recent:
            return
        self._polled = now
        self._number += 1
        self._down.send((self._number, None), size=0, now=now)
