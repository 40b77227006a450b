"""CoDel, controlled delay (RFC 8289), and FQ-CoDel: it in a queue for each flow (RFC 8290).

Packets have a `flow_id`, bytes that all packets of a flow share. The queues take turns.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Container, Sequence
from random import Random
from typing import Any
from zlib import crc32

from minitopo_dc.link.discipline import (
    AtQueue,
    LegPacket,
    QueueDiscipline,
    Verdict,
    congested,
    nanoseconds,
    number,
    queue_discipline,
)

MTU_BYTES = 1500
"""A backlog of one packet of this size, or less, is never too much (RFC 8289, section 4.4)."""
_PASSED, _ENTERED, _DROPPED = range(3)


@queue_discipline("codel")
class CoDel(QueueDiscipline):
    """Tells of congestion when the least waiting time of an interval is above a target.

    The pseudocode of RFC 8289, section 5: from then on at times that come closer by the square root
    of their number, until a packet has waited less. A mark takes the place of a drop, after which
    the same packet goes on (section 3.4).

    Args:
        target_ms: 5 ms (section 4.4).
        interval_ms: 100 ms (section 4.3).
    """

    def __init__(self, *, target_ms: float = 5.0, interval_ms: float = 100.0) -> None:
        self.numbers = nanoseconds(target_ms=target_ms, interval_ms=interval_ms)
        self._first_above = self._drop_next = 0  # ns
        self._count = self._last_count = 0
        self._dropping = False
        self._before = _PASSED  # what became of the packet before, if it was at the same moment

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return whether the packet has to go or to be marked now."""
        may_drop = self._is_above(packet, now)
        before, self._before = self._before, _PASSED
        if before == _ENTERED:
            return Verdict.PASS
        if not self._dropping:
            return self._enter(packet, now) if may_drop else Verdict.PASS
        if not may_drop:
            self._dropping = False
            return Verdict.PASS
        if before == _DROPPED:
            self._schedule(self._drop_next)
        if now < self._drop_next:
            return Verdict.PASS
        self._count += 1
        verdict = congested(packet)
        if verdict is Verdict.MARK:
            self._schedule(self._drop_next)
        else:
            self._before = _DROPPED
        return verdict

    def _is_above(self, packet: AtQueue, now: int) -> bool:
        """Return whether packets have waited for longer than the target for an interval."""
        target, interval = self.numbers
        if packet.waited < target or packet.queue_bytes <= MTU_BYTES:
            self._first_above = 0
            return False
        if not self._first_above:
            self._first_above = now + interval
            return False
        return now >= self._first_above

    def _enter(self, packet: AtQueue, now: int) -> Verdict:
        """Begin to drop, at the rate of the last time if that was just before."""
        recent = now - self._drop_next < 16 * self.numbers[1]
        more = self._count - self._last_count
        self._count = self._last_count = more if more > 1 and recent else 1
        self._dropping = True
        self._schedule(now)
        verdict = congested(packet)
        self._before = _PASSED if verdict is Verdict.MARK else _ENTERED
        return verdict

    def _schedule(self, after: int) -> None:
        """Set the next moment by the control law."""
        self._drop_next = after + int(self.numbers[1] / math.sqrt(self._count))


@queue_discipline("fq-codel")
class FqCodel(QueueDiscipline):
    """Serves flows in turns, those that had nothing waiting first, and each by CoDel.

    Flows are told apart by a hash of addresses, protocol and ports (section 4.1.2). Behind PDCP
    they cannot be: a node of a leg gets ciphered PDUs (TS 38.323, clause 5.8), so that all PDUs of
    a bearer are one flow, and only what no bearer carries is several. The hash is CRC-32 without
    the random number of section 4.1.2, as nobody attacks it here. Beyond the limit of the queue the
    packet that comes is dropped, not one of the longest flow (section 4.1.3).

    Args:
        target_ms: of CoDel, 5 ms (section 5.2.2).
        interval_ms: of CoDel, 100 ms (section 5.2.1).
        flows: hashes, 1024 (section 5.2.5).
        quantum_bytes: a flow's turn, 1514 (section 5.2.4).
    """

    reorders = True

    def __init__(
        self,
        *,
        target_ms: float = 5.0,
        interval_ms: float = 100.0,
        flows: int = 1024,
        quantum_bytes: int = 1514,
    ) -> None:
        CoDel(target_ms=target_ms, interval_ms=interval_ms)  # refuses wrong ones
        self._codel = {"target_ms": target_ms, "interval_ms": interval_ms}
        self._flows = int(number("flows", flows, 0, 1 << 20))
        self._quantum = int(number("quantum_bytes", quantum_bytes, 0, 1 << 20))
        self._hashes: dict[int, int] = {}  # of the queue's packets, by their number
        self._credit: dict[int, int] = {}  # bytes, of the flows with one hash
        self._of_flow: dict[int, CoDel] = {}
        self._new: deque[int] = deque()
        self._old: deque[int] = deque()
        self._chosen = 0
        self._goes_on = False  # the last packet was dropped, and its flow has another one
        self._waiting = 0, 0  # packets and bytes of the chosen flow

    def choose(self, queue: Sequence[LegPacket[Any]], now: int) -> int:
        """Return the first packet of the flow whose turn it is."""
        if len(queue) == 1 and queue[0].pushed == now:  # it has found the queue empty
            self._new.clear()
            self._old.clear()
        self._hashes = {
            waiting.number: self._hashes[waiting.number]
            if waiting.number in self._hashes
            else crc32(waiting.packet.flow_id) % self._flows
            for waiting in queue
        }
        first: dict[int, int] = {}
        for index, name in enumerate(self._hashes.values()):
            first.setdefault(name, index)
        listed = {*self._new, *self._old}
        for name in first:
            if name not in listed:
                self._of_flow.setdefault(name, CoDel(**self._codel))
                self._credit[name] = self._quantum
                self._new.append(name)
        if not self._goes_on:
            self._chosen = self._turn(first)
        pairs = zip(queue, self._hashes.values(), strict=True)
        mine = [waiting.size for waiting, name in pairs if name == self._chosen]
        self._waiting = len(mine), sum(mine)
        return first[self._chosen]

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
        """Return what the CoDel of the chosen flow makes of the packet."""
        packets, size = self._waiting
        alone = packet._replace(queue_packets=packets - 1, queue_bytes=size - packet.size)
        verdict = self._of_flow[self._chosen].dequeue(alone, now, rng)
        self._goes_on = verdict is Verdict.DROP  # CoDel never drops the last one
        if not self._goes_on:
            self._credit[self._chosen] -= packet.size
        return verdict

    def _turn(self, waiting: Container[int]) -> int:
        """Return the flow whose turn it is, by deficit round robin (section 4.2)."""
        while True:
            flows = self._new or self._old
            name = flows[0]
            if self._credit[name] <= 0:
                self._credit[name] += self._quantum
                self._old.append(flows.popleft())
            elif name in waiting:
                return name
            elif flows is self._new:
                self._old.append(flows.popleft())
            else:
                flows.popleft()
