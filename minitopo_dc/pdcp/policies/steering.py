"""Split policies of ATSSS: the steering modes of TS 23.501 clause 5.32, as ATSSS-LL has them.

They know of a leg what echoes over it tell (PMFP's RTT measurement, TS 24.193 clause 5.4): its
round-trip time with its queues, and whether it is available. They never see a queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from minitopo_dc.pdcp.policies.policy import (
    PolicyError,
    checked_number,
    checked_whole,
    split_policy,
)
from minitopo_dc.pdcp.policies.proportional import DeficitRoundRobin
from minitopo_dc.pdcp.policies.view import LegView
from minitopo_dc.units import NS_PER_MS, NS_PER_S

Per = Literal["packet", "flow"]
PATIENCE_NS = NS_PER_S
"""After so long without an answer a leg is not available: the least timeout of RFC 6298."""
CONGESTED = 2.0
"""Times its least round-trip time, from which a leg is congested: its queue then takes as long as
its path. TS 23.501 leaves it open; this is the project's choice."""


class MeasuredLeg:
    """What echoes have told of one leg (times in ns)."""

    def __init__(self) -> None:
        self.round_trip: int | None = None
        """The latest; None: no echo has been answered yet."""
        self.least: int | None = None
        self.answered_at: int | None = None

    def answer(self, round_trip: int, now: int) -> None:
        """Note that an echo was answered at `now` after a time."""
        self.round_trip, self.answered_at = round_trip, now
        self.least = round_trip if self.least is None else min(self.least, round_trip)

    def is_above(self, limit: float | None) -> bool:
        """Return whether the latest time is above a limit; None: `CONGESTED` times the least."""
        if self.round_trip is None or self.least is None:
            return False
        return self.round_trip > (CONGESTED * self.least if limit is None else limit)


class SteeringPolicy:
    """What all steering modes share: measured legs, and the flow that stays on its leg.

    A bearer is one service data flow. With `per: flow` it keeps the leg that it gets first for as
    long as that is available. If no leg is available, all count as if they were.
    """

    needs_echoes: ClassVar[bool] = True

    def __init__(self, legs: int, *, per: Per = "packet") -> None:
        if per not in ("packet", "flow"):
            raise PolicyError(f"per is {per!r}, must be one of packet, flow")
        self._per_flow = per == "flow"
        self._kept: tuple[int, ...] = ()
        self._began: int | None = None
        self._legs = tuple(range(legs))
        self._measured = [MeasuredLeg() for _ in range(legs)]

    def echo_answered(self, leg: int, round_trip: int, now: int) -> None:
        """Take in that an echo over `leg` (from 0) took `round_trip` ns, as known at `now` (ns)."""
        self._measured[leg].answer(round_trip, now)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the legs of a packet of `size` bytes at `now` (ns)."""
        if self._began is None:
            self._began = now
        available = [
            leg
            for leg, measured in enumerate(self._measured)
            if now - (measured.answered_at or self._began) <= PATIENCE_NS
        ]
        if self._per_flow and self._kept and set(self._kept) <= set(available):
            return self._kept
        chosen = self._steer(size, available or self._legs)
        self._kept = chosen if self._is_decided(available) else ()
        return chosen

    def _is_decided(self, available: Sequence[int]) -> bool:  # noqa: ARG002
        """Return whether enough is known for a flow to stay on its leg."""
        return True

    def _steer(self, size: int, available: Sequence[int]) -> tuple[int, ...]:
        raise NotImplementedError


def _limit(limit_ms: float | None) -> float | None:
    return None if limit_ms is None else checked_number("max_rtt_ms", limit_ms, 0) * NS_PER_MS


@split_policy("smallest-delay")
class SmallestDelayPolicy(SteeringPolicy):
    """The available leg with the smallest round-trip time, the lowest of equals and at first.

    A flow stays on its leg once all available legs are measured.
    """

    def _is_decided(self, available: Sequence[int]) -> bool:
        return all(self._measured[leg].round_trip is not None for leg in available)

    def _steer(self, size: int, available: Sequence[int]) -> tuple[int, ...]:  # noqa: ARG002
        known = [leg for leg in available if self._measured[leg].round_trip is not None]
        return (min(known or available, key=lambda leg: self._measured[leg].round_trip or 0),)


@split_policy("load-balancing")
class LoadBalancingPolicy(SteeringPolicy):
    """Shares of the bytes by weights, over those available legs that are within the threshold.

    A flow that stays on one leg takes the one with the greatest weight.
    """

    def __init__(
        self,
        legs: int,
        *,
        weights: Sequence[float] | None = None,  # None: equal, as no rule says otherwise
        max_rtt_ms: float | None = None,  # no threshold unless a rule has one
        per: Per = "packet",
    ) -> None:
        super().__init__(legs, per=per)
        given = [1.0] * legs if weights is None else list(weights)
        if len(given) != legs:
            raise PolicyError(f"weights must be {legs} numbers")
        self._weights = [checked_number("weights", one, 0.01) for one in given]
        self._limit = _limit(max_rtt_ms)
        self._robin = DeficitRoundRobin(legs)

    def _steer(self, size: int, available: Sequence[int]) -> tuple[int, ...]:
        able = available
        if self._limit is not None:
            within = [leg for leg in able if not self._measured[leg].is_above(self._limit)]
            able = within or able
        leg = self._robin.next_leg(size, self._weights, able)
        self._robin.pay(size, self._weights, able, leg)
        return (leg,)


@split_policy("priority-based")
class PriorityBasedPolicy(SteeringPolicy):
    """The leg of highest priority, and the next one while that is congested (`MeasuredLeg`)."""

    def __init__(
        self,
        legs: int,
        *,
        primary: int = 1,  # the leg of a client's address; the others follow by their numbers
        max_rtt_ms: float | None = None,  # None: `CONGESTED`
    ) -> None:
        super().__init__(legs)
        first = checked_whole("primary", primary, 1, legs) - 1
        self._order = (first, *(leg for leg in self._legs if leg != first))
        self._limit = _limit(max_rtt_ms)

    def _steer(self, size: int, available: Sequence[int]) -> tuple[int, ...]:  # noqa: ARG002
        order = [leg for leg in self._order if leg in available]
        free = (leg for leg in order if not self._measured[leg].is_above(self._limit))
        return (next(free, order[0]),)


@split_policy("active-standby")
class ActiveStandbyPolicy(PriorityBasedPolicy):
    """One leg, and another one only while the first is not available."""

    def __init__(self, legs: int, *, primary: int = 1) -> None:  # the leg of a client's address
        super().__init__(legs, primary=primary)
        self._limit = math.inf  # no leg is ever congested


@split_policy("redundant")
class RedundantPolicy(SteeringPolicy):
    """All available legs; below IP nobody takes the copies out, and the end host gets both."""

    def __init__(self, legs: int) -> None:
        super().__init__(legs)

    def _steer(self, size: int, available: Sequence[int]) -> tuple[int, ...]:  # noqa: ARG002
        return tuple(available)
