"""Shares of the legs packet by packet, without batches."""

from __future__ import annotations

from collections.abc import Sequence


class DeficitRoundRobin:
    """Smooth weighted round robin in bytes: the leg that its share is owed most is next.

    Each packet is owed to the candidate legs in proportion to their weights, and is paid to one.
    What is owed adds up to 0, so a leg is never ahead or behind by more than a few packets,
    whatever their sizes. Deficits as in deficit round robin (Shreedhar and Varghese, SIGCOMM 1995),
    but of one queue over many links.
    """

    def __init__(self, legs: int) -> None:
        self._owed = [0.0] * legs

    def next_leg(self, size: int, weights: Sequence[float], legs: Sequence[int]) -> int:
        """The leg of `legs` whose turn it is, the lower one of equals; nothing is paid."""
        total = sum(weights[leg] for leg in legs)
        return max(legs, key=lambda leg: self._owed[leg] + size * weights[leg] / total)

    def pay(self, size: int, weights: Sequence[float], legs: Sequence[int], paid: int) -> None:
        """A packet of `size` bytes goes on leg `paid`; weights of `legs` must not all be 0."""
        total = sum(weights[leg] for leg in legs)
        for leg in legs:
            self._owed[leg] += size * weights[leg] / total
        self._owed[paid] -= size
