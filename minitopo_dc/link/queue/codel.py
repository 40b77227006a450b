"""CoDel: controlled delay (RFC 8289)."""

from __future__ import annotations

import math
from random import Random

from minitopo_dc.link.queue.discipline import (
    AtQueue,
    QueueDiscipline,
    Verdict,
    congested,
    nanoseconds,
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
        self.numbers = nanoseconds("target_ms", target_ms), nanoseconds("interval_ms", interval_ms)
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
