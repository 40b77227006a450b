"""The seven clients of the mesh: legs that give TCP what it had there (`fit.py`), and its hops."""

from __future__ import annotations

from typing import Any

import minitopo_dc as dc

HOPS = {"RP1": 0, "RP2": 1, "RP3": 2, "RP4": 5, "RP5": 3, "RP6": 1, "RP7": 5}
"""Wireless ones: RP1 is on a wire."""
GOOD = {"mpdu_error_percent": 10.0}


def wireless(delay_ms: float, **medium: Any) -> dc.Leg:
    """Return a leg over WiFi with what is before and behind it, the same in both directions."""
    way: Any = {"delay_ms": delay_ms, "queue_packets": 1000}
    return dc.Leg(wifi={**GOOD, "stations": 3, **medium}, downlink=way, uplink=way)


def bad_last(hops: int) -> dict[str, Any]:
    """Return the fields of hops of which the last one is bad."""
    return {"mpdu_error_percent": 30.0, "hops": [*[GOOD] * (hops - 1), {}]}


WIRE: Any = {"rate_mbps": 86.5, "delay_ms": 18.0, "queue_packets": 1000}
CLIENTS = {
    "RP1": dc.Leg(downlink=WIRE, uplink=WIRE),
    "RP2": wireless(19.8, rate_mbps=104.0, load_percent=1.0),
    "RP3": wireless(21.6, rate_mbps=104.0, load_percent=0.3, hops=2),
    "RP4": wireless(43.4, rate_mbps=13.0, load_percent=17.1, **bad_last(5)),
    "RP5": wireless(23.1, rate_mbps=19.5, load_percent=2.8, **bad_last(3)),
    "RP6": wireless(19.8, rate_mbps=78.0, load_percent=0.1),
    "RP7": wireless(26.8, rate_mbps=52.0, load_percent=1.5, hops=5),
}
SPREAD_MBPS = (39.5, 60.9, 74.9, 86.9, 98.3, 109.9, 122.6, 138.5, 160.3, 202.6)
"""Rates of RP3's hops over which TCP's throughput has the standard deviation that follows from
table 2 (`fit.py`). What QUIC has over them is not fitted."""
