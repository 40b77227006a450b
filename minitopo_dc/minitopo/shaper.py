"""What Minitopo's queue field means: how much its shaper holds.

Minitopo shapes a path with tc-tbf(8), behind the netem that delays it, and gives tbf's `limit` not
the queue field alone: it adds what the path holds in a round trip. It reckons the queue field in
time, in whole milliseconds and with a megabit of 1,024 * 1,024 bits (`LinkCharacteristics` of its
`core/topo.py`).
"""

from __future__ import annotations

import math

PACKET_BYTES = 1500
"""Of which queue field and limit are reckoned. tbf counts the Ethernet header too, 1 % more, in the
limit and in the rate alike, so that the longest wait is the same as here."""
BITS_OF_ITS_MEGABIT = 1024 * 1024
LEAST_WAIT_MS = 1


def round_trip_packets(delay_ms: float, rate_mbps: float) -> int:
    """What a round trip holds, which is also the queue field of a path without one.

    Args:
        delay_ms: of one direction.
        rate_mbps: the path's bandwidth.
    """
    return math.ceil(rate_mbps * 125_000.0 * (2 * delay_ms / 1000.0) / PACKET_BYTES)


def held_packets(delay_ms: float, queue_packets: int, rate_mbps: float) -> int:
    """How many packets of 1,500 bytes wait at most, the one that is being sent among them.

    Args:
        delay_ms: of one direction.
        queue_packets: the queue field.
        rate_mbps: the path's bandwidth, not what a trace or a change makes of it.

    Returns:
        At least 1: a leg holds the packet that it sends.
    """
    wait_ms = int(queue_packets * PACKET_BYTES * 8 * 1000.0 / (rate_mbps * BITS_OF_ITS_MEGABIT))
    limit_bytes = (
        PACKET_BYTES * round_trip_packets(delay_ms, rate_mbps)
        + rate_mbps * 1000.0 * max(wait_ms, LEAST_WAIT_MS) / 8
    )
    return max(1, int(limit_bytes / PACKET_BYTES))
