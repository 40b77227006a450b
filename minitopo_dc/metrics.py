"""What a transfer is measured by."""

from __future__ import annotations


def goodput_mbps(size_bytes: int, completion_s: float) -> float:
    """Goodput in Mbit/s: 8 * size_bytes / completion_s / 10^6.

    Bits that the application asked for, each counted once and no headers (RFC 2647, section 3.17),
    over the whole transfer including its handshake.

    Raises:
        ValueError: the completion time is not positive.
    """
    if not completion_s > 0:
        raise ValueError(f"completion_s: {completion_s}; allowed: above 0")
    return size_bytes * 8 / completion_s / 1e6


def capacity_share(size_bytes: int, available_bits: int) -> float:
    """Part of the legs' capacity that became goodput: 8 * size_bytes / available_bits.

    ``available_bits`` are what all legs together could have carried during the transfer. Headers
    take a few per cent of them, so 1 is out of reach.

    Raises:
        ValueError: no bits were available.
    """
    if available_bits <= 0:
        raise ValueError(f"available_bits: {available_bits}; allowed: above 0")
    return size_bytes * 8 / available_bits
