"""Units and sizes that several parts of the package share."""

from __future__ import annotations

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000
NS_PER_US: Final = 1_000
ETHERNET_HEADER_BYTES: Final = 14
"""The size of the header before the network layer's (IEEE 802.3)."""
