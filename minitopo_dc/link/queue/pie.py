"""PIE: proportional integral controller, enhanced (RFC 8033)."""

from __future__ import annotations

from random import Random

from minitopo_dc.link.queue.discipline import (
    AtQueue,
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
            *(nanoseconds("target_ms", target_ms), nanoseconds("update_ms", update_ms)),
            *(nanoseconds("burst_ms", burst_ms), number("mark_below", mark_below, 0, 1)),
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
