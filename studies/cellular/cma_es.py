"""CMA-ES: a search for the minimum of a function of a few numbers without its gradient.

Hansen, "The CMA Evolution Strategy: A Tutorial", 2016, figure 6 with the default strategy
parameters of its table 1, without negative weights. Seeded, so that a fit can be repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

OFFSPRING = 14
"""4 + 3 ln(size), for some 20 numbers."""
FIRST_STEP = 0.3
"""In units in which the function's arguments are worth about the same."""


class Search:
    """The distribution from which each generation is drawn."""

    def __init__(self, start: Vector, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        size, parents = len(start), OFFSPRING // 2
        weights = np.log(parents + 0.5) - np.log(np.arange(1, parents + 1))
        self._weights = weights / weights.sum()
        mass = 1 / float((self._weights**2).sum())
        self._step_rate = (mass + 2) / (size + mass + 5)
        self._path_rate = 4 / (size + 4)
        self._one_rate = 2 / ((size + 1.3) ** 2 + mass)
        self._many_rate = min(
            1 - self._one_rate, 2 * (mass - 2 + 1 / mass) / ((size + 2) ** 2 + mass)
        )
        self._mass = mass
        self._mean, self._step = start, FIRST_STEP
        self._covariance = np.eye(size)
        self._path, self._step_path = np.zeros(size), np.zeros(size)
        self._normal = self._moves = np.zeros((OFFSPRING, size))

    def ask(self) -> Vector:
        """Return the next generation, one row for each member."""
        self._normal = self._rng.normal(size=self._moves.shape)
        self._moves = self._normal @ np.linalg.cholesky(self._covariance).T
        return self._mean + self._step * self._moves

    def tell(self, losses: Sequence[float]) -> None:
        """Move to the better half of the generation, and learn where it lies."""
        best = np.argsort(losses)[: len(self._weights)]
        move = self._weights @ self._moves[best]
        self._mean = self._mean + self._step * move
        self._step_path = self._evolved_path(
            self._step_path, self._step_rate, self._weights @ self._normal[best]
        )
        self._path = self._evolved_path(self._path, self._path_rate, move)
        kept = 1 - self._one_rate - self._many_rate
        self._covariance = (
            kept * self._covariance
            + self._one_rate * np.outer(self._path, self._path)
            + self._many_rate * (self._moves[best].T * self._weights) @ self._moves[best]
        )
        length = float(np.linalg.norm(self._step_path)) / math.sqrt(len(self._mean))
        self._step *= math.exp(min(1.0, self._step_rate / (1 + self._step_rate) * (length - 1)))

    def _evolved_path(self, path: Vector, rate: float, move: Vector) -> Vector:
        return (1 - rate) * path + math.sqrt(rate * (2 - rate) * self._mass) * move


def minimise(loss: Callable[[Vector], float], start: Vector, generations: int, seed: int) -> Vector:
    """Return the best place that was tried; print the least loss of each generation."""
    search = Search(start, seed)
    best = (loss(start), start)
    for generation in range(1, generations + 1):
        places = search.ask()
        losses = [loss(place) for place in places]
        least = int(np.argmin(losses))
        if losses[least] < best[0]:
            best = (losses[least], places[least])
        print(f"{generation}: {losses[least]:.2f}, best {best[0]:.2f}", flush=True)  # noqa: T201
        search.tell(losses)
    return best[1]
