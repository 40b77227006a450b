"""One direction of an emulated radio link.

A packet passes these steps: queue -> serialisation -> propagation delay -> random loss.

* Time is an argument: `now` is in ns and never decreases from call to call.
* The queue's limit counts the packets that are not fully serialised, as tc-tbf's limit does. The
  packet in service is one of them.
* A queue discipline, if any, is asked of a packet when it joins, and when it is about to be served:
  when the one before is through, or when it finds the queue empty.
* A packet that will be lost takes its place in the queue and its serialisation time like any other.
  The loss is drawn when the packet is pushed.
* While the leg is down, no packet is serialised. Packets wait, and new ones join them up to the
  queue's limit. Packets in propagation arrive. When the leg comes up, the packet in service resumes
  where it was interrupted (as RLC resumes with the next segment, TS 38.322).
* A flush removes the packets that are not fully serialised, either all or those of one bearer (as
  the re-establishment of RLC does, TS 38.322 clause 5.1.2). Packets in propagation arrive.
* A packet that finds the queue empty is not served before it has waited for a grant.
* A capacity that has ended (end rule `stop`) serves no more packets: the queue keeps those that
  wait and refuses new ones.
* Losses and delays have a random generator each. The k-th packet that joins the queue gets the k-th
  draw of both, whatever the timing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import TypeVar

from minitopo_dc.link.any_leg import NEVER, NOT_STARTED, AnyLeg, LegParameters
from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.link.propagation import DelayModel
from minitopo_dc.units import earliest

T = TypeVar("T")


class CapacityLeg(AnyLeg[T]):
    """One direction of a leg, carrying packets of any type `T`. See the module's rules."""

    def __init__(self, parameters: LegParameters, capacity: Capacity, rng: Random) -> None:
        """Take a capacity of its own (it keeps state) and draw two seeds from `rng`."""
        super().__init__(parameters, rng)
        self._capacity = capacity
        self._zero = NOT_STARTED
        self._queue: deque[LegPacket[T]] = deque()
        self._queue_bytes = 0
        # The packet in service, the queue's first: when it is through (NEVER: none is in service),
        # its bits still to go when it was last started, its delay to come.
        self._finish = NEVER
        self._head_bits = self._head_delay = 0
        self._grant, self._granted = parameters.grant_ns, -NEVER  # ns; from when on it serves
        self._begun = 0  # when the packet in service was begun (ns)

    def _next_event(self) -> int | None:
        first = self._air.first()
        if self._finish == NEVER:
            return first
        if self._air.reorder:  # the packet behind the one in service may overtake it
            return earliest(first, self._finish)
        if first is not None:
            return first
        return self._finish if self._queue[0].lost else self._finish + self._head_delay

    def start(self, now: int) -> None:
        """Start the capacity's time: make `now` its time 0; until then it is before time 0."""
        self._pause(now)
        self._zero = now
        self._resume(now)

    def _flush(self, now: int, which: Callable[[T], bool]) -> list[LegPacket[T]]:
        self._pause(now)
        flushed = [waiting for waiting in self._queue if which(waiting.packet)]
        if flushed:
            first = self._queue[0]
            self._queue = deque(w for w in self._queue if not which(w.packet))
            self._queue_bytes -= sum(waiting.size for waiting in flushed)
            if self._queue and self._queue[0] is not first and self._choose(now):
                self._draw_head()
        self._resume(now)
        return flushed

    def _set_capacity(self, capacity: Capacity, now: int) -> None:
        self._pause(now)
        self._capacity = capacity
        self._resume(now)

    def _set_delay(self, delay: DelayModel) -> None:
        super()._set_delay(delay)
        self._head_delay = self._air.draw() if self._queue else 0

    def _backlog(self, now: int) -> int:
        if not self._queue:
            return 0
        waits = self._finish == NEVER or now < self._granted
        bits = self._head_bits if waits else self._capacity.left(now - self._zero)
        return self._queue_bytes - self._queue[0].size - (-bits // 8)

    def has_room(self, *, now: int, size: int) -> bool:
        """Return whether the queue would take a packet of `size` bytes at `now`."""
        # As any queue does, in fewer calls: a policy asks it of each leg for each packet.
        if self._finish <= now:
            self._advance(now)
        return self._limit.has_room(len(self._queue), self._queue_bytes, size=size)

    def _first_number(self) -> int | None:
        if not self._queue:
            return None
        if self._discipline is not None and self._discipline.reorders:
            return min(waiting.number for waiting in self._queue)
        return self._queue[0].number

    def _service_end(self) -> int | None:
        return None if self._finish == NEVER else self._finish

    def _rate(self, now: int) -> int:
        return self._capacity.rate_at(now - self._zero)

    def _occupancy(self) -> tuple[int, int]:
        return len(self._queue), self._queue_bytes

    def _join(self, packet: T, size: int, now: int, lost: bool, ecn: int) -> int:
        queue = self._queue
        if self._stopped:  # also what is so small that it would still have passed
            return 0
        queue.append(LegPacket(packet, size, self.joined_packets, now, lost=lost, ecn=ecn))
        self._queue_bytes += size
        if len(queue) == 1:
            if self._discipline is not None and not self._choose(now):
                return 1
            self._granted = now + self._grant
            self._begin(self._granted)
        if self._stopped:
            queue.pop()
            self._queue_bytes -= size
            return 0
        return len(queue)

    def _advance(self, now: int) -> None:
        """Serialise up to `now`, packet after packet."""
        queue = self._queue
        while self._finish <= now:
            finish = self._finish
            first = queue.popleft()
            self._queue_bytes -= first.size
            self._air.send(first, self._begun, finish, finish, delay=self._head_delay)
            self._finish = NEVER
            if queue and (self._discipline is None or self._choose(finish)):
                self._begin(finish)

    def _choose(self, now: int) -> bool:
        """Let the discipline say which packet is next; return whether one is left."""
        queue, discipline = self._queue, self._discipline
        if discipline is None:
            return True
        while queue:
            index = discipline.choose(queue, now)
            chosen = queue[index]
            passes = self._dequeue(chosen, now)
            del queue[index]
            if passes:
                queue.appendleft(chosen)
                return True
            self._queue_bytes -= chosen.size
        return False

    def _begin(self, start: int) -> None:
        """Begin with the first packet of the queue, which is a new one, at `start` (ns)."""
        self._draw_head()
        if self.is_up:
            self._serialise(start)

    def _draw_head(self) -> None:
        self._head_bits = self._queue[0].size * 8
        self._head_delay = self._air.draw()

    def _serialise(self, start: int) -> None:
        zero = self._zero
        if self._head_bits == self._queue[0].size * 8:
            self._begun = start
        finish = self._capacity.finish(start - zero, self._head_bits)
        if finish is None:
            self._stopped = True
        else:
            self._finish = finish + zero

    def _pause(self, now: int) -> None:
        """Interrupt the packet in service."""
        self._advance(now)
        if self._finish != NEVER:
            bits = self._capacity.interrupt(now - self._zero)
            self._head_bits = self._head_bits if now < self._granted else bits
            self._finish = NEVER
        self._stopped = False

    def _resume(self, now: int) -> None:
        """Go on with the packet that was interrupted, or the one that came first meanwhile."""
        if self.is_up and self._queue:
            self._serialise(max(now, self._granted))
