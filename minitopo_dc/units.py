"""Units and sizes that several parts of the package share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
ETHERNET_HEADER_BYTES: Final = 14
"""The size of the header before the network layer's (IEEE 802.3)."""


def check_within(of: object, low: float, high: float, *names: str) -> None:
    """Refuse attributes of an object that are not within limits, both of them allowed.

    None is any number.

    Raises:
        ValueError: naming the one that is wrong, and what is allowed.
    """
    for name in names:
        value = getattr(of, name)
        if value is not None and not low <= value <= high:
            allowed = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
            raise ValueError(f"{name} = {value} (allowed: {allowed})")


def earliest(*moments: int | None) -> int | None:
    """Return the least moment; None, which is never, where there is none."""
    return min((moment for moment in moments if moment is not None), default=None)


@dataclass(frozen=True, slots=True)
class QueueLimit:
    """What a queue holds at most: so many packets, and so many bytes of them; None: any number.

    Raises:
        ValueError: a limit below 1.
    """

    packets: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        check_within(self, 1, math.inf, "packets", "bytes")

    def has_room(self, packets: int, filled: int, *, size: int) -> bool:
        """Return whether `size` bytes more fit beside so many packets that fill so many bytes."""
        return (self.packets is None or packets < self.packets) and (
            self.bytes is None or filled + size <= self.bytes
        )


UNLIMITED: Final = QueueLimit()
