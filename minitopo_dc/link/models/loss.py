"""Random loss on the air: models that decide for each packet."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Protocol


class LossModel(Protocol):
    """Decides for each packet whether it is lost."""

    def lost(self, rng: Random) -> bool:
        """Return whether the next packet is lost."""

    def moments(self, packets: int) -> tuple[float, float]:
        """Return mean and variance of the number of losses among the first packets."""


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Every packet is lost with probability `p`, whatever happened to the others.

    Raises:
        ValueError: `p` is no probability.
    """

    p: float

    def __post_init__(self) -> None:
        """Refuse a `p` that is no probability with a ValueError."""
        _require_probability("p", self.p)

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
        """Refuse a parameter that is no probability with a ValueError."""
        for name in ("p", "r", "h", "k"):
            _require_probability(name, getattr(self, name))

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


def _require_probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} = {value} (allowed: a probability, 0 to 1)")
