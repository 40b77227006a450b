"""Metrics of a transfer: goodput, share of the capacity, fairness."""

from __future__ import annotations

from collections.abc import Sequence


def goodput_mbps(size_bytes: int, completion_s: float) -> float:
    """Return the goodput in Mbit/s: 8 * size_bytes / completion_s / 10^6.

    It counts the bits that the application asked for, each once and no headers (RFC 2647, section
    3.17), over the whole transfer including its handshake.

    Raises:
        ValueError: the completion time is not positive.
    """
    if not completion_s > 0:
        raise ValueError(f"completion_s: {completion_s}; allowed: above 0")
    return size_bytes * 8 / completion_s / 1e6


def capacity_share(size_bytes: int, available_bits: int) -> float:
    """Return the part of the legs' capacity that became goodput: 8 * size_bytes / available_bits.

    `available_bits` are what all legs together could have carried during the transfer. Headers take
    a few per cent of them, so 1 is out of reach.

    Raises:
        ValueError: no bits were available.
    """
    if available_bits <= 0:
        raise ValueError(f"available_bits: {available_bits}; allowed: above 0")
    return size_bytes * 8 / available_bits


def jain_index(goodputs: Sequence[float]) -> float:
    """Return Jain's fairness index: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (equal).

    R. Jain, D. Chiu, W. Hawe: "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC-TR-301, 1984.

    Raises:
        ValueError: there is no goodput above 0, so that nothing was shared.
    """
    squares = sum(goodput * goodput for goodput in goodputs)
    if not squares:
        raise ValueError("goodputs: none is above 0")
    return sum(goodputs) ** 2 / (len(goodputs) * squares)
