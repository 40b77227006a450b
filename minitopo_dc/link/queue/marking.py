"""Disciplines by the queue's length: a step, and random early detection."""

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

MEAN_PACKET_MS = 0.6
"""1,500 bytes at 20 Mbit/s, the papers' leg (thesis, table 4.3)."""


@queue_discipline("step")
class Step(QueueDiscipline):
    """Tells of congestion by every packet that has waited longer than a threshold.

    As the step of RFC 9331, section 5.2, and as DCTCP's K (RFC 8257, section 3.1) at a fixed rate.

    Args:
        threshold_ms: 1 ms is the default of DualPI2 in Linux (net/sched/sch_dualpi2.c).
    """

    def __init__(self, *, threshold_ms: float = 1.0) -> None:
        self.numbers = (nanoseconds("threshold_ms", threshold_ms),)

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Return whether the packet has waited too long."""
        return congested(packet) if packet.waited > self.numbers[0] else Verdict.PASS


@queue_discipline("red")
class Red(QueueDiscipline):
    """Random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993).

    The average queue in packets, a moving one, decides: below `minimum_packets` none is marked,
    from `maximum_packets` on each is dropped, between them the probability grows to `probability`
    and marks are spread evenly. While the queue is idle the average falls as if packets of
    `mean_packet_ms` had come.

    Args:
        minimum_packets: 5, as in the paper's simulations.
        maximum_packets: 15, three times that, by Floyd's "RED: Discussions of setting parameters".
        probability: 0.1, ibid.
        weight: of a new sample, 0.002, as in the paper.
        mean_packet_ms: the time that a packet takes.
    """

    def __init__(
        self,
        *,
        minimum_packets: float = 5.0,
        maximum_packets: float = 15.0,
        probability: float = 0.1,
        weight: float = 0.002,
        mean_packet_ms: float = MEAN_PACKET_MS,
    ) -> None:
        low = number("minimum_packets", minimum_packets, 0)
        self.numbers = (
            *(low, number("maximum_packets", maximum_packets, low)),
            *(number("probability", probability, 0, 1), number("weight", weight, 0, 1)),
            nanoseconds("mean_packet_ms", mean_packet_ms),
        )
        self.average = 0.0
        """Of the queue, in packets."""
        self._count = -1  # packets since the latest mark
        self._idle_since: int | None = None

    def enqueue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:
        """Return what the average says of a packet that joins."""
        low, high, probability, _, _ = self.numbers
        self._average(packet.queue_packets, now)
        if self.average < low:
            self._count = -1
            return Verdict.PASS
        if self.average >= high:
            self._count = 0
            return Verdict.DROP
        self._count += 1
        base = probability * (self.average - low) / (high - low)
        if self._count * base < 1 and rng.random() >= base / (1 - self._count * base):
            return Verdict.PASS
        self._count = 0
        return congested(packet)

    def dequeue(self, packet: AtQueue, now: int, rng: Random) -> Verdict:  # noqa: ARG002
        """Notice when the queue runs empty."""
        self._idle_since = None if packet.queue_packets else now
        return Verdict.PASS

    def _average(self, waiting: int, now: int) -> None:
        *_, weight, mean = self.numbers
        if waiting or self._idle_since is None:
            self.average = (1 - weight) * self.average + weight * waiting
        else:
            self.average *= (1 - weight) ** ((now - self._idle_since) / mean)
