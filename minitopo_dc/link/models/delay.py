"""Propagation delay with jitter: models that draw one delay (ns) for each packet."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol


class DelayModel(Protocol):
    """Draws the propagation delay of each packet."""

    @property
    def mean_ns(self) -> int:
        """Return the configured mean of the delays in ns."""

    def sample(self, rng: Random) -> int:
        """Return the delay of one packet in ns, 0 or more."""


@dataclass(frozen=True, slots=True)
class ConstantDelay:
    """The same delay for every packet.

    Raises:
        ValueError: it is negative.
    """

    delay_ns: int

    def __post_init__(self) -> None:
        """Refuse a negative delay with a ValueError."""
        _require(self.delay_ns >= 0, "delay_ns", self.delay_ns, "0 or more")

    @property
    def mean_ns(self) -> int:
        """Return the constant delay in ns."""
        return self.delay_ns

    def sample(self, rng: Random) -> int:  # noqa: ARG002 (the protocol's)
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
        """Refuse negative parameters with a ValueError."""
        _require(self.mean_ns >= 0, "mean_ns", self.mean_ns, "0 or more")
        _require(self.sd_ns >= 0, "sd_ns", self.sd_ns, "0 or more")

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
        """Refuse negative or swapped limits with a ValueError."""
        _require(self.low_ns >= 0, "low_ns", self.low_ns, "0 or more")
        _require(self.high_ns >= self.low_ns, "high_ns", self.high_ns, f"{self.low_ns} or more")

    @property
    def mean_ns(self) -> int:
        """Return the middle of the limits in ns, rounded down."""
        return (self.low_ns + self.high_ns) // 2

    def sample(self, rng: Random) -> int:
        """Return one drawn delay in ns."""
        return self.low_ns + int(rng.random() * (self.high_ns - self.low_ns + 1))


def _require(right: bool, name: str, value: int, allowed: str) -> None:
    if not right:
        raise ValueError(f"{name} = {value} ns (allowed: {allowed})")
