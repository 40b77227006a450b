"""Propagation delay with jitter: models that draw one delay (ns) per packet."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Protocol


class DelayModel(Protocol):
    """Draws delays."""

    @property
    def mean_ns(self) -> int:
        """Their mean in ns, as configured."""

    def sample(self, rng: Random) -> int:
        """One delay in ns, >= 0."""


@dataclass(frozen=True, slots=True)
class ConstantDelay:
    """The same delay for every packet.

    Raises:
        ValueError: it is negative.
    """

    delay_ns: int

    def __post_init__(self) -> None:
        """Refuse a negative delay."""
        _require(self.delay_ns >= 0, "delay_ns", self.delay_ns, "0 or more")

    @property
    def mean_ns(self) -> int:
        """The delay."""
        return self.delay_ns

    def sample(self, rng: Random) -> int:  # noqa: ARG002 (the protocol's)
        """The delay."""
        return self.delay_ns


@dataclass(frozen=True, slots=True)
class NormalDelay:
    """A normal distribution; what falls below 0 becomes 0, as in netem.

    `mean_ns` and `sd_ns` are those of the distribution before that.

    Raises:
        ValueError: mean or standard deviation is negative.
    """

    mean_ns: int
    sd_ns: int

    def __post_init__(self) -> None:
        """Refuse negative parameters."""
        _require(self.mean_ns >= 0, "mean_ns", self.mean_ns, "0 or more")
        _require(self.sd_ns >= 0, "sd_ns", self.sd_ns, "0 or more")

    def sample(self, rng: Random) -> int:
        """One draw."""
        delay = int(rng.gauss(self.mean_ns, self.sd_ns))
        return delay if delay > 0 else 0


@dataclass(frozen=True, slots=True)
class UniformDelay:
    """Every delay from `low_ns` to `high_ns` alike.

    Raises:
        ValueError: the limits are negative or in the wrong order.
    """

    low_ns: int
    high_ns: int

    def __post_init__(self) -> None:
        """Refuse limits that are none."""
        _require(self.low_ns >= 0, "low_ns", self.low_ns, "0 or more")
        _require(self.high_ns >= self.low_ns, "high_ns", self.high_ns, f"{self.low_ns} or more")

    @property
    def mean_ns(self) -> int:
        """The middle of the limits, rounded down."""
        return (self.low_ns + self.high_ns) // 2

    def sample(self, rng: Random) -> int:
        """One draw."""
        return self.low_ns + int(rng.random() * (self.high_ns - self.low_ns + 1))


def _require(right: bool, name: str, value: int, allowed: str) -> None:
    if not right:
        raise ValueError(f"{name} = {value} ns (allowed: {allowed})")
