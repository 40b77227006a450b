"""Delay and random loss on the air, and the packets under way.

A model of the delay, constant, drawn or by a curve, gives one (ns) for each packet; a model of
losses decides whether it is lost. A curve gives the mean delay as a function of
the leg's capacity. The paper of Krämer et al. (Electronics 11 (2022) 1492) has no delays in its
traces and takes a curve through two typical values of 5G, d(50) = 20 and d(200) = 100 (its figure
3), without a formula or units. Read here as one-way ms at Mbit/s. Each kind of curve but `constant`
goes through both points.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random
from typing import Any, Generic, Literal, TypeVar

from minitopo_dc.link.capacity import Capacity
from minitopo_dc.link.discipline import LegPacket
from minitopo_dc.units import NS_PER_US, check_within


@dataclass(frozen=True, slots=True)
class ConstantDelay:
    """The same delay for every packet.

    Raises:
        ValueError: it is negative.
    """

    delay_ns: int

    def __post_init__(self) -> None:
        check_within(self, 0, math.inf, "delay_ns")

    @property
    def mean_ns(self) -> int:
        """Return the constant delay in ns."""
        return self.delay_ns

    def sample(self, rng: Random) -> int:  # noqa: ARG002 (a model's)
        """Return the constant delay in ns."""
        return self.delay_ns


@dataclass(frozen=True, slots=True)
class NormalDelay:
    """A normal distribution of delays; values below 0 become 0, as in netem.

    `mean_ns` and `sd_ns` are those of the distribution before that.

    Raises:
        ValueError: mean or standard deviation is negative.
    """

    mean_ns: int
    sd_ns: int

    def __post_init__(self) -> None:
        check_within(self, 0, math.inf, "mean_ns", "sd_ns")

    def sample(self, rng: Random) -> int:
        """Return one drawn delay in ns."""
        delay = int(rng.gauss(self.mean_ns, self.sd_ns))
        return delay if delay > 0 else 0


@dataclass(frozen=True, slots=True)
class UniformDelay:
    """A uniform distribution of delays from `low_ns` to `high_ns`, both included.

    Raises:
        ValueError: the limits are negative or in the wrong order.
    """

    low_ns: int
    high_ns: int

    def __post_init__(self) -> None:
        check_within(self, 0, math.inf, "low_ns")
        check_within(self, self.low_ns, math.inf, "high_ns")

    @property
    def mean_ns(self) -> int:
        """Return the middle of the limits in ns, rounded down."""
        return (self.low_ns + self.high_ns) // 2

    def sample(self, rng: Random) -> int:
        """Return one drawn delay in ns."""
        return self.low_ns + int(rng.random() * (self.high_ns - self.low_ns + 1))


DelayModel = ConstantDelay | NormalDelay | UniformDelay
"""A model of the propagation delay, of which `sample` gives one for each packet (ns)."""


DelayCurve = Literal["power", "exponential", "linear", "constant"]
"""d(c) in ms at c Mbit/s: 0.2131 c^1.16096; 20 * 5^((c - 50) / 150); 20 + (c - 50) * 80 / 150, but
at least 0; 19."""
LOW, HIGH = (50.0, 20.0), (200.0, 100.0)
"""The two points: Mbit/s, ms."""
EXPONENT = 1.160964047443681
"""ln(100 / 20) / ln(200 / 50). Written down, so that it is the same on every platform."""
CONSTANT_MS = 19.0
"""Half of 38 ms, the mean round trip of LTE that the paper cites (its reference 7)."""


def curve_delay_ns(curve: DelayCurve, rate_bps: int) -> int:
    """Return the one-way delay (ns) at a capacity, in whole µs so that platforms agree."""
    return round(_delay_ms(curve, rate_bps / 1e6) * 1000) * NS_PER_US


def delay_steps(curve: DelayCurve, capacity: Capacity) -> Iterator[tuple[int, int]]:
    """Yield each time (ns, from 0) at which a capacity begins, and the delay (ns) from then on.

    While the capacity is 0 nothing passes, and the delay stays as it was. The delay of
    opportunities, which have no rate, follows their mean over each second.
    """
    delay = curve_delay_ns(curve, 0)
    for time, rate in capacity.steps():
        delay = curve_delay_ns(curve, rate) if rate else delay
        yield time, delay


def _delay_ms(curve: DelayCurve, mbps: float) -> float:
    (c1, d1), (c2, d2) = LOW, HIGH
    if curve == "power":
        return d1 * float((mbps / c1) ** EXPONENT)
    if curve == "exponential":
        return d1 * float((d2 / d1) ** ((mbps - c1) / (c2 - c1)))
    if curve == "linear":
        return max(0.0, d1 + (d2 - d1) * (mbps - c1) / (c2 - c1))
    return CONSTANT_MS


T = TypeVar("T")
Served = Callable[[Any, int, int, int, int], None]
"""Takes a packet that passes on to propagation, and when (ns) it joined the queue, when its
transmission began, when all of it was sent once, and when the receiver had it, in order."""
_arrival = attrgetter("arrival")


class Propagation(Generic[T]):
    """Packets in propagation, the k-th of which has the k-th draw of the delay.

    They keep their order: none arrives before one put in earlier, whatever its delay. With
    `reorder` they overtake, as with netem: each arrives at its own time, equal times in order.
    """

    def __init__(self, delay: DelayModel, rng: Random, *, reorder: bool) -> None:
        self.delay = delay
        self.reorder = reorder
        self.served: Served | None = None
        self._rng = rng
        self._packets: deque[LegPacket[T]] = deque()
        self._latest = 0  # arrival, ns
        self.lost_packets = 0
        self.taken_packets = 0
        self.taken_bytes = 0

    def __len__(self) -> int:
        """Return the number of packets in propagation."""
        return len(self._packets)

    def draw(self) -> int:
        """Return the delay of the next packet (ns)."""
        return self.delay.sample(self._rng)

    def send(
        self, packet: LegPacket[T], begun: int, carried: int, now: int, *, delay: int | None = None
    ) -> None:
        """Lose a packet that begins at `now` (ns) if it is to be lost, else take it in.

        Args:
            packet: of the leg's.
            begun: when its transmission began (ns).
            carried: when all of it was sent once (ns).
            now: when the receiver had it, in order.
            delay: a delay that was drawn for it before (ns).
        """
        if packet.lost:
            self.lost_packets += 1
            return
        if self.served is not None:
            self.served(packet.packet, packet.pushed, begun, carried, now)
        packet.arrival = now + (self.draw() if delay is None else delay)
        if self.reorder:
            insort(self._packets, packet, key=_arrival)
            return
        packet.arrival = self._latest = max(packet.arrival, self._latest)
        self._packets.append(packet)

    def first(self) -> int | None:
        """Return when the next packet arrives (ns), None if there is none."""
        return self._packets[0].arrival if self._packets else None

    def take(self, now: int) -> list[T]:
        """Remove and return all that have arrived by `now`, in order of arrival."""
        arrived = []
        while self._packets and self._packets[0].arrival <= now:
            packet = self._packets.popleft()
            self.taken_bytes += packet.size
            arrived.append(packet.packet)
        self.taken_packets += len(arrived)
        return arrived


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Every packet is lost with probability `p`, whatever happened to the others.

    Raises:
        ValueError: `p` is no probability.
    """

    p: float

    def __post_init__(self) -> None:
        check_within(self, 0, 1, "p")

    def lost(self, rng: Random) -> bool:
        """Return whether the next packet is lost."""
        return rng.random() < self.p

    def moments(self, packets: int) -> tuple[float, float]:
        """Return mean and variance of the number of losses: those of a binomial distribution."""
        return packets * self.p, packets * self.p * (1 - self.p)


@dataclass(slots=True)
class GilbertElliott:
    """Bursts: a two-state Markov chain, Good and Bad, that takes one step per packet.

    A packet is decided by the state that it finds, then the state may change; the first packet
    finds Good. In the notation of Hasslinger and Hohlfeld ("The Gilbert-Elliott model for packet
    loss in real time services on the Internet", MMB 2008) and of netem's `gemodel`:

    * `p`: from Good to Bad, `r`: from Bad to Good;
    * `h`: a packet in Bad arrives, `k`: a packet in Good arrives.

    h = 0 and k = 1 lose all in Bad and none in Good; k = 1 alone is Gilbert's model (Bell System
    Technical Journal 39, 1960), all four are Elliott's (ibid. 42, 1963). In the long run
    (p (1 - h) + r (1 - k)) / (p + r) of the packets are lost, and Bad lasts 1 / r packets.

    Raises:
        ValueError: one of them is no probability.
    """

    p: float
    r: float
    h: float = 0.0
    k: float = 1.0
    _bad: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_within(self, 0, 1, "p", "r", "h", "k")

    def lost(self, rng: Random) -> bool:
        """Return whether the next packet is lost."""
        arrives, change = (self.h, self.r) if self._bad else (self.k, self.p)
        lost = rng.random() >= arrives
        if rng.random() < change:
            self._bad = not self._bad
        return lost

    def moments(self, packets: int) -> tuple[float, float]:
        """Return mean and variance of the number of losses among the first packets.

        The mean counts from the first packet, in Good; the variance, which bursts enlarge, is that
        of a chain that is stationary: k packets apart the states have the correlation
        (1 - p - r)^k.
        """
        if not self.p:
            return Bernoulli(1 - self.k).moments(packets)
        bad = self.p / (self.p + self.r)
        more, kept = self.k - self.h, 1 - self.p - self.r
        share = bad * (1 - self.h) + (1 - bad) * (1 - self.k)
        settling = (1 - kept**packets) / (1 - kept)
        apart = kept * (packets - settling) / (1 - kept)
        variance = packets * share * (1 - share) + 2 * more**2 * bad * (1 - bad) * apart
        return packets * share - bad * more * settling, variance


LossModel = Bernoulli | GilbertElliott
"""A model of losses, which decides for each packet whether it is lost."""
