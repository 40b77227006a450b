"""Split policy `bandit`: discounted UCB chooses the ratio of the legs anew in each epoch.

1. In each epoch the policy sends packets at one of the given ratios, by weighted round robin.
2. The receiver's reports of the second half of the epoch give the reward of that ratio.
3. D-UCB (Garivier and Moulines, 2011) chooses the ratio of the next epoch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb
from random import Random
from typing import ClassVar

from minitopo_dc.pdcp.policies.policy import PolicyError, checked_number, split_policy
from minitopo_dc.pdcp.policies.proportional import DeficitRoundRobin
from minitopo_dc.pdcp.policies.view import LegReport, LegView, moving_legs, up_legs
from minitopo_dc.units import NS_PER_MS


class DiscountedUcb:
    """D-UCB of Garivier and Moulines (Upper-Confidence Bound Policies for Switching Bandits, 2011).

    Each reward counts less by a factor with every later one. The arm is played whose discounted
    mean and padding are the largest: padding is 2 B sqrt(0.5 log(n) / N) with the discounted
    numbers of all plays, n, and of the arm's, N. Rewards may have any unit: they are put in
    relation to the best arm's mean, and so is B.

    Every arm is played once first: the first of all is `first`, the rest in an order that `rng`
    draws.

    Args:
        arms: their number.
        first: the arm to begin with.
        discount: factor of a reward's weight from one play to the next, above 0, at most 1.
        exploration: B, the width of rewards that has to be told apart, of the best arm's mean.
        rng: gives the order of the first plays.
    """

    def __init__(
        self, arms: int, *, first: int, discount: float, exploration: float, rng: Random
    ) -> None:
        others = [arm for arm in range(arms) if arm != first]
        rng.shuffle(others)
        self._unplayed = [*reversed(others), first]
        self._discount = discount
        self._exploration = exploration
        self._plays = [0.0] * arms
        self._rewards = [0.0] * arms

    def choose(self) -> int:
        """Return the index of the arm to play next."""
        if self._unplayed:
            return self._unplayed[-1]
        means = [reward / plays for reward, plays in zip(self._rewards, self._plays, strict=True)]
        scale = max(means) or 1.0
        log = math.log(max(sum(self._plays), 1.0))

        def bound(arm: int) -> float:
            padding = 2 * self._exploration * math.sqrt(0.5 * log / self._plays[arm])
            return means[arm] / scale + padding

        return max(range(len(means)), key=bound)

    def learn(self, arm: int, gained: float) -> None:
        """Take in that `arm` was played and `gained` so much (0 or more, in any unit)."""
        if self._unplayed and self._unplayed[-1] == arm:
            self._unplayed.pop()
        self._plays = [plays * self._discount for plays in self._plays]
        self._rewards = [reward * self._discount for reward in self._rewards]
        self._plays[arm] += 1
        self._rewards[arm] += gained


MAX_ARMS = 21
"""Ratios to choose from, while legs are few: each is played once before any is preferred."""


@split_policy("bandit")
class BanditPolicy:
    """Plays a ratio for an epoch, is rewarded by the reports, and prefers what paid (D-UCB).

    Arms: `ratios`. In the first half of an epoch what the ratio before had put on the legs goes
    away; the reports of the second half are the reward (`reward`). An epoch without two
    reports there is played on. Within an epoch packets go one by one by smooth round robin.

    Legs that do not move are left out; where none does, those that are down. Where SDUs can wait,
    one waits for the leg whose turn it is. The same seed and the same reports give the same
    choices.
    """

    sees_legs: ClassVar[bool] = True
    needs_reports: ClassVar[bool] = True

    def __init__(
        self,
        legs: int,
        *,
        epoch_ms: float = 400,  # measured: docs/measurements/policies.md
        seed: int = 1,  # as a scenario's
        discount: float = 0.9,  # measured: docs/measurements/policies.md
        exploration: float = 0.02,  # measured: docs/measurements/policies.md
        loss_cost: float = 1,  # a lost byte takes one that was delivered
        wait_ms: float = 200,  # t-Reordering of the papers (thesis, table 4.3)
    ) -> None:
        self._epoch = checked_number("epoch_ms", epoch_ms, 2) * NS_PER_MS
        self._loss_cost = checked_number("loss_cost", loss_cost, 0)
        self._wait = checked_number("wait_ms", wait_ms, 1) * NS_PER_MS
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise PolicyError(f"seed is {seed!r}, must be a whole number")
        self._ratios = ratios(legs)
        self._bandit = DiscountedUcb(
            len(self._ratios),
            first=min(range(len(self._ratios)), key=lambda arm: max(self._ratios[arm])),
            discount=checked_number("discount", discount, 0.01, 1),
            exploration=checked_number("exploration", exploration, 0),
            rng=Random(seed),
        )
        self._robin = DeficitRoundRobin(legs)
        self._arm = self._bandit.choose()
        self._began: int | None = None
        self._before: LegReport | None = None

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        """Return one leg, none if the one whose turn it is does not take an SDU that can wait."""
        self._judge(now, views)
        weights = self._ratios[self._arm]
        able = moving_legs(now, views) or up_legs(views) or list(range(len(views)))
        shared = [leg for leg in able if weights[leg]]
        if not shared:  # those of this ratio stand
            shared, weights = able, (1,) * len(views)
        leg = self._robin.next_leg(size, weights, shared)
        if views[0].may_wait and not views[leg].takes(now=now, size=size):
            return ()
        self._robin.pay(size, weights, shared, leg)
        return (leg,)

    def _judge(self, now: int, views: Sequence[LegView]) -> None:
        """Go on to the next epoch if this one is over and can be judged."""
        if self._began is None:
            self._began = now
        age = now - self._began
        if age < self._epoch / 2:
            return
        if self._before is None:
            self._before = outcome(views)
        elif age >= self._epoch:
            after = outcome(views)
            if after is None or after.at <= self._before.at:
                return
            gained = reward(self._before, after, loss_cost=self._loss_cost, wait=self._wait)
            self._bandit.learn(self._arm, gained)
            self._arm = self._bandit.choose()
            self._began, self._before = now, None


def reward(before: LegReport, after: LegReport, *, loss_cost: float, wait: float) -> float:
    """Return the bytes per ns between two outcomes, less what loss and waiting cost; at least 0.

    A lost PDU, of mean size, costs `loss_cost` times its bytes. Delivered bytes are worth less by
    the mean time in the reordering buffer over `wait` (ns).
    """
    pdus = after.delivered_pdus - before.delivered_pdus
    size = after.delivered_bytes - before.delivered_bytes
    if not pdus:
        return 0.0
    waited = (after.reordering_ns - before.reordering_ns) / pdus
    lost = (after.lost_pdus - before.lost_pdus) * size / pdus
    worth = size * (1 - waited / wait) - loss_cost * lost
    return max(0.0, worth) / (after.at - before.at)


def outcome(views: Sequence[LegView]) -> LegReport | None:
    """Return the latest report with the sums over all legs, None before the first report."""
    reports = [view.report for view in views if view.report is not None]
    if not reports:
        return None
    counts = "delivered_pdus", "delivered_bytes", "lost_pdus", "reordering_ns"
    sums = {name: sum(getattr(report, name) for report in reports) for name in counts}
    return replace(reports[0], **sums)


def ratios(legs: int) -> list[tuple[int, ...]]:
    """Return all ratios over `legs` legs in equal steps.

    Each ratio divides the same number of parts among the legs: 10 parts over two legs (0, 10, ...,
    100 %); over more legs as many as make at most `MAX_ARMS` ratios: 5 parts over three, 3 over
    four, 2 over five and six, 1 (each leg alone) over more.
    """
    fitting = (parts for parts in range(10, 1, -1) if comb(parts + legs - 1, parts) <= MAX_ARMS)
    return list(_divisions(next(fitting, 1), legs))


def _divisions(parts: int, legs: int) -> Iterator[tuple[int, ...]]:
    """Yield each way to divide `parts` among the legs, by where `legs - 1` bars can stand."""
    places = parts + legs - 1
    for bars in combinations(range(places), legs - 1):
        edges = (-1, *bars, places)
        yield tuple(edges[leg + 1] - edges[leg] - 1 for leg in range(legs))
