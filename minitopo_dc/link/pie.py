"""Proportional integral controllers: PIE (RFC 8033) and DualPI2 of L4S (RFC 9332, appendix A)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from minitopo_dc.link.discipline import (
    AtQueue,
    Ecn,
    LegPacket,
    QueueDiscipline,
    Verdict,
    congested,
    nanoseconds,
    number,
    queue_discipline,
)
from minitopo_dc.units import NS_PER_S

ALPHA_HZ, BETA_HZ = 0.125, 1.25
"""RFC 8033, section 4.2."""
SCALES = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))
"""Below which probability a step is so many times smaller (ibid.)."""
DECAY = 0.98
"""Of the probability with each step without a queue (ibid.)."""
LARGEST_STEP = 0.02
"""From a probability of 10 % on (section 5.5)."""
UNLIKELY, CERTAIN = 0.85, 8.5
"""Of the sum of probabilities since the last drop: none before, one at the latest (section 5.4)."""


@queue_discipline("pie")
class Pie(QueueDiscipline):
    """Tells of congestion at random, by a probability that follows the queue's delay.

    RFC 8033 with its enhancements. The delay is that of the latest packet that left, by its time
    stamp (section 4.3 leaves the choice), and 0 when the queue is empty.

    Args:
        target_ms: QDELAY_REF, 15 ms (section 4.2).
        update_ms: T_UPDATE, 15 ms (ibid.).
        burst_ms: MAX_BURST, 150 ms (section 4.4).
        mark_below: MARK_ECNTH: with a larger probability packets are dropped, 0.1 (section 5.1).
    """

    def __init__(
        self,
        *,
        target_ms: float = 15.0,
        update_ms: float = 15.0,
        burst_ms: float = 150.0,
        mark_below: float = 0.1,
    ) -> None:
        self.numbers = (
            *nanoseconds(target_ms=target_ms, update_ms=update_ms, burst_ms=burst_ms),
            number("mark_below", mark_below, 0, 1),
        )
        self.probability = 0.0
        """Of a drop."""
        self._sum = 0.0
        self._delay = self._delay_before = 0  # ns
        self._burst = self.numbers[2]  # ns in which nothing is dropped
        self._update: int | None = None  # the moment of the next step, ns

    def enqueue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
        """Return what the probability says of a packet that joins."""
        self._steps(now)
        if self._burst > 0 or not self._drops(packet, rng):
            return Verdict.PASS
        self._sum = 0.0
        return congested(packet) if self.probability <= self.numbers[3] else Verdict.DROP

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Measure the queue's delay by this packet."""
        self._steps(now)
        self._delay = packet.waited if packet.queue_packets else 0
        return Verdict.PASS

    def _drops(self, packet: AtQueue, rng: Random) -> bool:
        short = 2 * self._delay_before < self.numbers[0] and self.probability < 0.2
        if short or packet.queue_packets <= 2:
            return False
        if not self.probability:
            self._sum = 0.0
        self._sum += self.probability
        if self._sum < UNLIKELY:
            return False
        return self._sum >= CERTAIN or rng.random() < self.probability

    def _steps(self, now: int) -> None:
        """Do all steps that were due by `now` (ns)."""
        if self._update is None:
            self._update = now + int(self.numbers[1])
        while self._update <= now:
            if not (self.probability or self._delay or self._delay_before):
                idle = (now - self._update) // int(self.numbers[1])  # they would change nothing
                self._update += idle * int(self.numbers[1])
            self._step()
            self._update += int(self.numbers[1])

    def _step(self) -> None:
        target, interval, burst, _ = self.numbers
        delay, before = self._delay, self._delay_before
        step = (ALPHA_HZ * (delay - target) + BETA_HZ * (delay - before)) / NS_PER_S
        step /= next((scale for limit, scale in SCALES if self.probability < limit), 1)
        if self.probability >= 0.1 and step > LARGEST_STEP:
            step = LARGEST_STEP
        probability = self.probability + step
        if not delay and not before:
            probability *= DECAY
        self.probability = min(max(probability, 0.0), 1.0)
        self._delay_before = delay
        self._burst = max(self._burst - int(interval), 0)
        if not self.probability and 2 * delay < target and 2 * before < target:
            self._burst = int(burst)


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
            *nanoseconds(target_ms=target_ms, round_trip_ms=round_trip_ms),
            number("coupling", coupling, 0),
            *nanoseconds(ramp_from_ms=ramp_from_ms, ramp_ms=ramp_ms),
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

    def choose(self, queue: Sequence[LegPacket[Any]], now: int) -> int:
        """Return the first L4S packet, but for every 16th time, where both queues have some."""
        low_latency = [index for index, waiting in enumerate(queue) if is_l4s(waiting.ecn)]
        classic = next((i for i, waiting in enumerate(queue) if not is_l4s(waiting.ecn)), -1)
        self._steps(min(waiting.pushed for waiting in queue), now)
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
