"""DualPI2: the coupled dual queue of L4S (RFC 9332, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from minitopo_dc.link.queue.discipline import (
    AtQueue,
    Ecn,
    QueueDiscipline,
    Verdict,
    Waiting,
    congested,
    nanoseconds,
    number,
    queue_discipline,
)
from minitopo_dc.units import NS_PER_S

WEIGHT = 16
"""One packet in so many is a classic one while both queues have some (section 4.2.2)."""
FEW = 1
"""L4S packets behind one that is marked for its delay, at least (Th_len, appendix A.1)."""


@queue_discipline("dualpi2")
class DualPi2(QueueDiscipline):
    """Keeps L4S packets (ECT(1), CE) apart from classic ones, and couples their congestion.

    A PI controller of the longer delay gives p'. Classic packets are marked or dropped with p'
    squared, L4S packets marked with the larger one of `coupling` p' and of a ramp over their own
    delay. Marks are spread evenly by a sum of probabilities (`recur`), not at random. Where
    `coupling` p' exceeds 1, L4S packets are dropped with p' squared, too.

    Args:
        target_ms: 15 ms (appendix A.1).
        round_trip_ms: RTT_max, 100 ms (ibid.), of which the gains and T_update follow.
        coupling: k, 2 (appendix A.1).
        ramp_from_ms: minTh, 0.8 ms (appendix A.1).
        ramp_ms: range, 0.4 ms (ibid.).
    """

    reorders = True

    def __init__(
        self,
        *,
        target_ms: float = 15.0,
        round_trip_ms: float = 100.0,
        coupling: float = 2.0,
        ramp_from_ms: float = 0.8,
        ramp_ms: float = 0.4,
    ) -> None:
        self.numbers = (
            *(nanoseconds("target_ms", target_ms), nanoseconds("round_trip_ms", round_trip_ms)),
            number("coupling", coupling, 0),
            *(nanoseconds("ramp_from_ms", ramp_from_ms), nanoseconds("ramp_ms", ramp_ms)),
        )
        round_trip = self.numbers[1] / NS_PER_S
        self._interval = min(self.numbers[0], self.numbers[1] // 3)
        self._alpha = 0.1 * (self._interval / NS_PER_S) / (round_trip * round_trip)
        self._beta = 0.3 / round_trip
        self.probability = 0.0
        """The base p'."""
        self._delay_before = 0
        self._update: int | None = None
        self._turn = 0
        self._sums = [0.0, 0.0]  # of the classic queue, and of L4S
        self._behind = 0  # L4S packets behind the chosen one

    def choose(self, queue: Sequence[Waiting], now: int) -> int:
        """Return the first L4S packet, but for every 16th time, where both queues have some."""
        low_latency = [index for index, waiting in enumerate(queue) if is_l4s(waiting[-1])]
        classic = next((i for i, waiting in enumerate(queue) if not is_l4s(waiting[-1])), -1)
        self._steps(min(waiting[-2] for waiting in queue), now)
        self._behind = len(low_latency) - 1
        if classic < 0 or not low_latency:
            return 0
        self._turn = (self._turn + 1) % WEIGHT
        return low_latency[0] if self._turn else classic

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return whether the chosen packet is marked or dropped."""
        coupling = self.numbers[2]
        classic, coupled = self.probability * self.probability, coupling * self.probability
        if not is_l4s(packet.ecn):
            if not self._recurs(0, classic):
                return Verdict.PASS
            overload = classic >= min(1 / (coupling * coupling), 1.0)
            return Verdict.DROP if overload else congested(packet)
        if coupled < 1:
            marks = self._recurs(1, max(self._ramp(packet.waited), coupled))
        elif self._recurs(1, classic):
            return Verdict.DROP
        else:
            marks = self._recurs(1, coupled)
        return Verdict.MARK if marks else Verdict.PASS

    def _ramp(self, waited: int) -> float:
        """Return the probability of a mark by the packet's own delay."""
        *_, start, length = self.numbers
        if self._behind <= FEW or waited <= start:
            return 0.0
        return float(min((waited - start) / length, 1.0))

    def _recurs(self, queue: int, probability: float) -> bool:
        self._sums[queue] += probability
        if self._sums[queue] <= 1:
            return False
        self._sums[queue] -= 1
        return True

    def _steps(self, oldest: int, now: int) -> None:
        """Do the steps that were due by `now`; the queues have had the same heads since the last.

        Args:
            oldest: when the packet that has waited longest joined (ns).
            now: in ns.
        """
        if self._update is None:
            self._update = now + self._interval
        while self._update <= now:
            self._step(max(self._update - oldest, 0))
            self._update += self._interval
            if self._update < oldest and not (self.probability or self._delay_before):
                self._update += (oldest - self._update) // self._interval * self._interval

    def _step(self, delay: int) -> None:
        step = self._alpha * (delay - self.numbers[0]) + self._beta * (delay - self._delay_before)
        self.probability = min(max(self.probability + step / NS_PER_S, 0.0), 1.0)
        self._delay_before = delay


def is_l4s(ecn: int) -> bool:
    """Return whether a packet belongs to the low-latency queue (RFC 9331, section 5.1)."""
    return ecn in (Ecn.ECT_1, Ecn.CE)
