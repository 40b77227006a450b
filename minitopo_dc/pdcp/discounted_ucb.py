"""Discounted UCB: a bandit whose arms' rewards change."""

from __future__ import annotations

import math
from random import Random


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
        """The arm to play next."""
        if self._unplayed:
            return self._unplayed[-1]
        means = [reward / plays for reward, plays in zip(self._rewards, self._plays, strict=True)]
        scale = max(means) or 1.0
        log = math.log(max(sum(self._plays), 1.0))

        def bound(arm: int) -> float:
            padding = 2 * self._exploration * math.sqrt(0.5 * log / self._plays[arm])
            return means[arm] / scale + padding

        return max(range(len(means)), key=bound)

    def learn(self, arm: int, reward: float) -> None:
        """`arm` was played for `reward` (>= 0)."""
        if self._unplayed and self._unplayed[-1] == arm:
            self._unplayed.pop()
        self._plays = [plays * self._discount for plays in self._plays]
        self._rewards = [each * self._discount for each in self._rewards]
        self._plays[arm] += 1
        self._rewards[arm] += reward
