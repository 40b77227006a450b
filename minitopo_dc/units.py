"""Units and sizes that several parts of the package share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
ETHERNET_HEADER_BYTES: Final = 14
"""The size of the header before the network layer's (IEEE 802.3)."""


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """What a queue holds at most: so many packets, and so many bytes of them; None: any number.

    Raises:
        ValueError: a limit below 1.
    """

    packets: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse a queue that holds nothing."""
        for name, limit in (("queue_packets", self.packets), ("queue_bytes", self.bytes)):
            if limit is not None and limit < 1:
                raise ValueError(f"{name} = {limit} (allowed: 1 or more, or none for no limit)")

    def has_room(self, packets: int, filled: int, *, size: int) -> bool:
        """Return whether `size` bytes more fit beside so many packets that fill so many bytes."""
        return (self.packets is None or packets < self.packets) and (
            self.bytes is None or filled + size <= self.bytes
        )


UNLIMITED: Final = QueueLimit()
