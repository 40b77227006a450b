"""The receiving MAC of one direction of a WiFi leg: MPDUs go up in order (block-ack window)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Generic, TypeVar

from minitopo_dc.link.delay import DelayModel
from minitopo_dc.link.propagation import OrderedPropagation, ReorderingPropagation
from minitopo_dc.link.wifi_station import Msdu

T = TypeVar("T")


class Reordering(Generic[T]):
    """Holds what has come before its turn, then hands it to propagation.

    Args:
        delay: of the propagation behind the hop.
        rng: draws it.
        reorder: whether packets may overtake in propagation.
    """

    def __init__(self, delay: DelayModel, rng: Random, *, reorder: bool) -> None:
        self.delay = delay
        self.air: OrderedPropagation[T] | ReorderingPropagation[T]
        self.air = ReorderingPropagation() if reorder else OrderedPropagation()
        self.released = self.dropped_loss = 0
        """Packets that have left it, and those of them that were lost behind the hop."""
        self._rng = rng
        self._expected = 0
        self._held: dict[int, Sequence[Msdu[T]]] = {}

    def put(self, sequence: int, msdus: Sequence[Msdu[T]]) -> None:
        """An MPDU has come, or, without packets, never will."""
        self._held[sequence] = msdus

    def release(self, now: int) -> None:
        """Hand on what is in order now."""
        while (msdus := self._held.pop(self._expected, None)) is not None:
            self._expected += 1
            for msdu in msdus:
                self._hand_on(msdu, now)

    def _hand_on(self, msdu: Msdu[T], now: int) -> None:
        self.released += 1
        if msdu.lost:
            self.dropped_loss += 1
        else:
            self.air.put((now + self.delay.sample(self._rng), msdu.size, msdu.packet))
