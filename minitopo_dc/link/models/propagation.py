"""Packets in propagation: they are serialised and have not arrived yet."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class OrderedPropagation(Generic[T]):
    """Keeps the order: no packet arrives before one put in earlier, whatever its delay."""

    __slots__ = ("_packets", "put", "taken_bytes", "taken_packets")

    def __init__(self) -> None:
        self._packets: deque[tuple[int, int, T]] = deque()
        self.put = self._packets.append
        """Takes when a packet arrives (or when the one before it does if that is later), its size,
        and the packet."""
        self.taken_packets = 0
        self.taken_bytes = 0

    def __len__(self) -> int:
        """Return the number of packets in propagation."""
        return len(self._packets)

    def first(self) -> int | None:
        """Return when the next packet arrives (ns), None if there is none."""
        return self._packets[0][0] if self._packets else None

    def take(self, now: int) -> list[T]:
        """Remove and return all that have arrived by `now`, in order of arrival."""
        packets = self._packets
        arrived = []
        while packets and packets[0][0] <= now:
            _, size, packet = packets.popleft()
            self.taken_bytes += size
            arrived.append(packet)
        self.taken_packets += len(arrived)
        return arrived


class ReorderingPropagation(Generic[T]):
    """Lets packets overtake, like netem: each arrives at its own time, equal times in order."""

    __slots__ = ("_number", "_packets", "taken_bytes", "taken_packets")

    def __init__(self) -> None:
        self._packets: list[tuple[int, int, int, T]] = []
        self._number = 0  # decides between equal times, so that packets are never compared
        self.taken_packets = 0
        self.taken_bytes = 0

    def __len__(self) -> int:
        """Return the number of packets in propagation."""
        return len(self._packets)

    def put(self, sent: tuple[int, int, T]) -> None:
        """Take a packet in, as its time of arrival (ns), its size (bytes) and the packet itself."""
        arrival, size, packet = sent
        self._number += 1
        heappush(self._packets, (arrival, self._number, size, packet))

    def first(self) -> int | None:
        """Return when the next packet arrives (ns), None if there is none."""
        return self._packets[0][0] if self._packets else None

    def take(self, now: int) -> list[T]:
        """Remove and return all that have arrived by `now`, in order of arrival."""
        arrived = []
        while self._packets and self._packets[0][0] <= now:
            _, _, size, packet = heappop(self._packets)
            self.taken_bytes += size
            arrived.append(packet)
        self.taken_packets += len(arrived)
        return arrived
