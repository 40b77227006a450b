"""Clients of a mesh, fitted to what TCP had there: `python -m benchmarks.fit_mesh` (no root).

The clients RP1 to RP7 of "QUIC in wireless mesh networks". Used are TCP's throughput (table 2) and
the round-trip times that the study tells, no number of QUIC's: what QUIC makes of the legs is a
prediction. Method and residuals: docs/features.md#calibrated-clients.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from minitopo_dc.link import WifiParameters, goodput_bps, saturated_bps

TABLES = Path(__file__).parents[1] / "reference"
DATA, PAYLOAD, ACKNOWLEDGEMENT = 1500, 1448, 52
"""Bytes of TCP's IP packets over IPv4, with timestamps (RFC 7323)."""
SIZE_BYTES = 10_000_000
INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""
RATES_MBPS = (*(6.5, 13, 19.5, 26, 39, 52, 58.5, 65), *(78, 104, 117, 130))
"""802.11n, 20 MHz, long guard interval: one stream, then what two have beyond (IEEE 802.11-2012,
tables 20-30 and 20-31). The antennas have two (NanoStation M5)."""
WIRED_RTT_MS = 36.0
"""RP1's, figure 4: that of the way from the gateway to the server and back."""
HOP_RTT_MS = 4.0
"""(44 - 36) / 2 hops of RP3: sections 5.2 and 3.2."""
MEASURED_RTT_MS = {"RP1": 36.0, "RP3": 44.0, "RP4": 90.0}
ERROR = {"RP4": 0.3, "RP5": 0.3}
"""Of MPDUs where the study calls links bad (section 6.2); ours, as is `GOOD_ERROR`."""
GOOD_ERROR = 0.1
STATIONS = 3
"""That have the load; ours."""


@dataclass(frozen=True)
class Client:
    """What was measured, and the leg that does the same to TCP."""

    name: str
    hops: int
    tcp_mbps: float
    rtt_ms: float
    capacity_mbps: float
    """Goodput that TCP has once its window is open."""
    wifi: WifiParameters | None
    """None: a wire."""

    @property
    def fitted_mbps(self) -> float:
        """TCP's throughput by the leg's arithmetic."""
        rate = self.capacity_mbps if self.wifi is None else tcp_bps(self.wifi) / 1e6
        return throughput_mbps(rate, self.rtt_ms)

    def leg(self) -> dict[str, Any]:
        """The leg of a scenario."""
        way = {"delay_ms": self.rtt_ms / 2, "queue_packets": 1000}
        if self.wifi is None:
            way["rate_mbps"] = round(self.capacity_mbps * DATA / PAYLOAD, 1)
            return {"downlink": way, "uplink": dict(way)}
        medium = {
            "rate_mbps": self.wifi.rate_bps / 1e6,
            "mpdu_error_percent": self.wifi.mpdu_error * 100,
            "load_percent": round(self.wifi.load * 100, 1),
            "stations": self.wifi.stations,
        }
        return {"wifi": medium, "downlink": way, "uplink": dict(way)}


def clients() -> list[Client]:
    """All seven, fitted."""
    with (TABLES / "wmn_table_2_throughput.csv").open(newline="") as file:
        return [_fitted(row) for row in csv.DictReader(file)]


def throughput_mbps(capacity_mbps: float, rtt_ms: float) -> float:
    """Of a download of 10 MB without its handshake: slow start from 10 segments, then the capacity.

    The window doubles each round trip until it is what the capacity carries in one; nothing is
    lost. The last byte takes half a round trip.
    """
    full, sent, window, rounds = capacity_mbps * 125 * rtt_ms, 0.0, INITIAL_WINDOW * PAYLOAD, 0
    while window < full and sent + window < SIZE_BYTES:
        sent, window, rounds = sent + window, 2 * window, rounds + 1
    seconds = (rounds + 0.5) * rtt_ms / 1e3 + (SIZE_BYTES - sent) * 8 / (capacity_mbps * 1e6)
    return SIZE_BYTES * 8 / seconds / 1e6


def tcp_bps(wifi: WifiParameters) -> float:
    """TCP's goodput on a medium when its queue is never empty, so that TXOPs are full."""
    clean = replace(wifi, load=0.0, mpdu_error=0.0)
    packets = 1
    while packets < wifi.max_mpdus and (packets + 1) * (DATA + 42) <= wifi.max_bytes:
        packets += 1
    alone = goodput_bps(clean, packets, data=DATA, payload=PAYLOAD, acknowledgement=ACKNOWLEDGEMENT)
    return alone * saturated_bps(wifi) / saturated_bps(clean)


def _fitted(row: dict[str, str]) -> Client:
    name, hops, measured = row["client"], int(row["wireless_hops"]), float(row["tcp_mbps"])
    rtt = MEASURED_RTT_MS.get(name, WIRED_RTT_MS + hops * HOP_RTT_MS)
    capacity = _solved(lambda mbps: throughput_mbps(mbps, rtt), measured, 1.0, 1000.0)
    wifi = _medium(name, capacity) if hops else None
    return Client(name, hops, measured, rtt, capacity, wifi)


def _medium(name: str, capacity_mbps: float) -> WifiParameters:
    """The slowest rate with which TCP would have the capacity, and others' load on top of it."""
    for rate in RATES_MBPS:
        free = WifiParameters(
            rate_bps=round(rate * 1e6), mpdu_error=ERROR.get(name, GOOD_ERROR), stations=STATIONS
        )
        if tcp_bps(free) >= capacity_mbps * 1e6:
            break
    load = _solved(lambda part: -tcp_bps(replace(free, load=part)), -capacity_mbps * 1e6, 0.0, 0.95)
    return replace(free, load=load)


def _solved(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a rising function has a value, by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > wanted else (middle, high)
    return low


def main() -> None:
    """Print each client's residual, and its leg as a scenario has it."""
    for client in clients():
        residual = 100 * (client.fitted_mbps / client.tcp_mbps - 1)
        print(  # noqa: T201
            f"# {client.name}: {client.hops} hops, RTT {client.rtt_ms:g} ms, TCP "
            f"{client.tcp_mbps:g} Mbit/s, fitted {client.fitted_mbps:.1f} ({residual:+.1f} %)"
        )
        print(yaml.safe_dump([client.leg()], sort_keys=False, default_flow_style=None))  # noqa: T201


if __name__ == "__main__":
    main()
