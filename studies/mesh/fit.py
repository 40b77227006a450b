"""Clients of a mesh, fitted to what TCP had there: `python studies/mesh/fit.py`.

The clients RP1 to RP7 of "QUIC in wireless mesh networks". Used are TCP's throughput (table 2) and
the round-trip times that the study tells, no number of QUIC's: what QUIC makes of the legs is a
prediction. studies/mesh/measured.md#the-fit-of-the-legs has method and residuals. With
`--write DIRECTORY` it writes a scenario for each. With `--growing NAME ...` it prints what TCP has
over the hops of these clients if its window grows, in place of 1,000 segments from the end of slow
start on. With `--spread NAME ...` it prints rates over which TCP's throughput varies as much as the
study's.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np
import yaml

from minitopo_dc.link import (
    ConstantDelay,
    LegParameters,
    WifiParameters,
    WifiPath,
    exchange_ns,
    goodput_bps,
    saturated_bps,
)

TABLES = Path(__file__).with_name("reference")
NS_PER_MS, NS_PER_S = 10**6, 10**9
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
"""Of MPDUs on the last hop, where the study calls links bad (section 6.2); ours, as is
`GOOD_ERROR`. Were all hops so, too many MPDUs would be dropped for CUBIC to have TCP's throughput.
"""
GOOD_ERROR = 0.1
STATIONS = 3
"""Other stations that make the load; this project's choice."""
PING = 84
"""Bytes of ping's IP packets (ping(8))."""
CARRIED = {"RP2": 0.92, "RP3": 0.92, "RP4": 0.9, "RP5": 0.905, "RP6": 0.915, "RP7": 0.89}
"""What a window of segments carries over the client's hops (`carried_mbps`), of what the arithmetic
says of one: its acknowledgements collide with its data, and hops in series are not always busy."""
WINDOW = 1000
"""Segments: what fills a queue."""
WINDOWS = (10, 25, 50, 100, 200, 400, 700, WINDOW)
"""Segments whose throughput over the hops is counted; between them it is interpolated."""
GROWING_S = 4
"""For how long it is counted for each."""
CONNECTIONS, STUDENT_95 = 200, 1.97
"""Of each client (section 4.1), and the factor of their confidence interval (Student's)."""
SPREAD_LEGS = 10
SCENARIO = """\
# Client {name} of "QUIC in wireless mesh networks": {hops}, TCP's {tcp:g} Mbit/s (table 2).
# Made by studies/mesh/fit.py; studies/mesh/measured.md has the method and what is ours.
transport: quic
mode: sc
congestion_control: cubic      # the study's server, section 3.1
workload: {{size_mb: 10}}        # section 3.3
timeout_s: 300
options:
  preset: modern               # or v43, bquic
  max_datagram_bytes: 1350     # gQUIC's over IPv4
  receive_buffer_bytes: 33554432
legs:
{leg}"""


@dataclass(frozen=True)
class Client:
    """A client's measurements, and the leg that gives TCP the same throughput."""

    name: str
    hops: int
    tcp_mbps: float
    tcp_sd_mbps: float
    rtt_ms: float
    capacity_mbps: float
    """Goodput that TCP has once its window is open."""
    wifi: WifiParameters | None
    """Of the last hop, which is the slowest; None: a wire."""

    @property
    def fitted_mbps(self) -> float:
        """Return TCP's throughput (Mbit/s) by the leg's arithmetic."""
        rate = self.capacity_mbps
        if self.wifi is not None:
            rate = CARRIED[self.name] * tcp_bps(self.wifi) / 1e6
        return throughput_mbps(rate, self.rtt_ms)

    @property
    def delay_ms(self) -> float:
        """Return the one-way delay (ms) of all but the hops' own time for a ping."""
        pings = (exchange_ns(hop, 1, PING) / (1 - hop.mpdu_error) for hop in self.path)
        return self.rtt_ms / 2 - sum(pings) / NS_PER_MS

    @property
    def path(self) -> list[WifiParameters]:
        """Return the parameters of all hops."""
        if self.wifi is None:
            return []
        good = replace(self.wifi, mpdu_error=GOOD_ERROR)
        return [*[good] * (self.hops - 1), self.wifi]

    def scenario(self) -> str:
        """Return the text of the client's scenario file."""
        hops = f"{self.hops} hop{'s' * (self.hops > 1)}" if self.hops else "a wire"
        leg = yaml.safe_dump([self.leg()], sort_keys=False, default_flow_style=None, width=1000)
        return SCENARIO.format(name=self.name, hops=hops, tcp=self.tcp_mbps, leg=leg)

    def leg(self) -> dict[str, Any]:
        """Return the leg of the client's scenario."""
        way = {"delay_ms": round(self.delay_ms, 1), "queue_packets": WINDOW}
        if self.wifi is None:
            way["rate_mbps"] = round(self.capacity_mbps * DATA / PAYLOAD, 1)
            return {"downlink": way, "uplink": dict(way)}
        medium: dict[str, Any] = {
            "rate_mbps": self.wifi.rate_bps / 1e6,
            "mpdu_error_percent": self.wifi.mpdu_error * 100,
            "load_percent": round(self.wifi.load * 100, 1),
            "stations": self.wifi.stations,
        }
        if self.hops > 1:
            medium["hops"] = self.hops
        if self.name in ERROR:
            good = ({"mpdu_error_percent": GOOD_ERROR * 100} for _ in self.path[1:])
            medium["hops"] = [*good, {}]
        return {"wifi": medium, "downlink": way, "uplink": dict(way)}


def clients() -> list[Client]:
    """Return all seven clients, fitted."""
    with (TABLES / "wmn_table_2_throughput.csv").open(newline="") as file:
        return [_fitted(row) for row in csv.DictReader(file)]


def throughput_mbps(capacity_mbps: float, rtt_ms: float) -> float:
    """Return the throughput (Mbit/s) of 10 MB without the handshake: slow start, then the capacity.

    Slow start begins with 10 segments. The window doubles each round trip until it is what the
    capacity carries in one; nothing is lost. The last byte takes half a round trip.
    """
    full, sent, window, rounds = capacity_mbps * 125 * rtt_ms, 0.0, INITIAL_WINDOW * PAYLOAD, 0
    while window < full and sent + window < SIZE_BYTES:
        sent, window, rounds = sent + window, 2 * window, rounds + 1
    seconds = (rounds + 0.5) * rtt_ms / 1e3 + (SIZE_BYTES - sent) * 8 / (capacity_mbps * 1e6)
    return SIZE_BYTES * 8 / seconds / 1e6


def tcp_bps(wifi: WifiParameters) -> float:
    """Return TCP's goodput (bit/s) on a medium when its queue is never empty, with full TXOPs."""
    clean = replace(wifi, load=0.0, mpdu_error=0.0)
    packets = 1
    while packets < wifi.max_mpdus and (packets + 1) * (DATA + 42) <= wifi.max_bytes:
        packets += 1
    alone = goodput_bps(clean, packets, data=DATA, payload=PAYLOAD, acknowledgement=ACKNOWLEDGEMENT)
    return alone * saturated_bps(wifi) / saturated_bps(clean)


def carried_mbps(
    hops: Sequence[WifiParameters], seconds: int = 20, segments: int = WINDOW
) -> float:
    """Return what a window of segments carries over hops, with a packet back for every two.

    Nothing else delays them. A second before the counting begins fills the queues. It is in Mbit/s.
    """
    path = WifiPath(hops, [Random(seed) for seed in range(len(hops))])
    plain = LegParameters(queue_packets=2 * WINDOW, delay=ConstantDelay(0))
    down, up = (path.leg(plain, Random(1 + way), uplink=bool(way)) for way in (0, 1))
    down.start(0)
    up.start(0)
    now = arrived = counted = on_the_way = 0
    while now < (seconds + 1) * NS_PER_S:
        while on_the_way < segments:
            down.push(None, DATA, now)
            on_the_way += 1
        now = min(due for leg in (down, up) if (due := leg.next_timeout()) is not None)
        new = len(down.poll(now))
        counted += new if now >= NS_PER_S else 0
        for _ in range((arrived + new) // 2 - arrived // 2):
            up.push(None, ACKNOWLEDGEMENT, now)
        arrived += new
        on_the_way -= len(down.dropped()) + 2 * (len(up.poll(now)) + len(up.dropped()))
    return counted * PAYLOAD * 8 / seconds / 1e6


def growing_mbps(carried: Callable[[float], float], rtt_ms: float) -> float:
    """Return the throughput (Mbit/s) of 10 MB while each window carries what it can over the hops.

    Args:
        carried: what a window of so many segments carries (Mbit/s).
        rtt_ms: the round trip without queues.

    Slow start doubles the window up to `WINDOW`, and a round takes a round trip or, where the hops
    carry less, the time for its window. The last byte takes half a round trip.
    """
    sent, window, seconds = 0.0, float(INITIAL_WINDOW), 0.5 * rtt_ms / 1e3
    while sent < SIZE_BYTES:
        size = min(window * PAYLOAD, SIZE_BYTES - sent)
        needed = size * 8 / (carried(window) * 1e6)
        seconds += needed if sent + size >= SIZE_BYTES else max(rtt_ms / 1e3, needed)
        sent, window = sent + size, min(2 * window, WINDOW)
    return SIZE_BYTES * 8 / seconds / 1e6


def grown_mbps(client: Client) -> float:
    """Return TCP's throughput (Mbit/s) over the client's hops with windows that grow."""
    carried = [carried_mbps(client.path, GROWING_S, window) for window in WINDOWS]
    return growing_mbps(lambda window: float(np.interp(window, WINDOWS, carried)), client.rtt_ms)


def spread_rates_mbps(client: Client) -> list[float]:
    """Return rates of equally likely legs, over which TCP's throughput varies as in table 2.

    The standard deviation follows from the confidence interval of 200 connections. That the
    throughput is distributed normally is this project's choice.
    """
    assert client.wifi is not None
    wifi, between = client.wifi, NormalDist(client.tcp_mbps, client.tcp_sd_mbps)
    rates = []
    for part in range(SPREAD_LEGS):
        mbps = between.inv_cdf((part + 0.5) / SPREAD_LEGS)

        def tcp_mbps(rate_mbps: float) -> float:
            faster = replace(wifi, rate_bps=round(rate_mbps * 1e6))
            return throughput_mbps(CARRIED[client.name] * tcp_bps(faster) / 1e6, client.rtt_ms)

        rates.append(round(_solved(tcp_mbps, mbps, 6.5, 600.0), 1))
    return rates


def _fitted(row: dict[str, str]) -> Client:
    name, hops, measured = row["client"], int(row["wireless_hops"]), float(row["tcp_mbps"])
    rtt = MEASURED_RTT_MS.get(name, WIRED_RTT_MS + hops * HOP_RTT_MS)
    capacity = _solved(lambda mbps: throughput_mbps(mbps, rtt), measured, 1.0, 1000.0)
    wifi = _medium(name, capacity / CARRIED[name]) if hops else None
    sd = float(row["tcp_ci95"]) * CONNECTIONS**0.5 / STUDENT_95
    return Client(name, hops, measured, sd, rtt, capacity, wifi)


def _medium(name: str, capacity_mbps: float) -> WifiParameters:
    """Return the slowest rate with which TCP would have the capacity, and others' load on top."""
    for rate in RATES_MBPS:
        free = WifiParameters(
            rate_bps=round(rate * 1e6), mpdu_error=ERROR.get(name, GOOD_ERROR), stations=STATIONS
        )
        if tcp_bps(free) >= capacity_mbps * 1e6:
            break
    load = _solved(lambda part: -tcp_bps(replace(free, load=part)), -capacity_mbps * 1e6, 0.0, 0.95)
    return replace(free, load=load)


def _solved(rising: Callable[[float], float], value: float, low: float, high: float) -> float:
    """Return where a rising function has a value, by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > value else (middle, high)
    return low


def main() -> None:
    """Print each client's residual, and its leg as a scenario has it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="DIRECTORY", help="where scenarios go")
    parser.add_argument("--growing", nargs="+", default=(), metavar="NAME", help="clients")
    parser.add_argument("--spread", nargs="+", default=(), metavar="NAME", help="clients")
    given = parser.parse_args()
    directory = given.write
    for client in clients():
        if client.name in given.spread:
            print(f"{client.name.lower()}: {spread_rates_mbps(client)}")  # noqa: T201
        if client.name in given.growing:
            mbps = grown_mbps(client)
            print(f"{client.name}: {mbps:.1f} of {client.tcp_mbps:g} Mbit/s", flush=True)  # noqa: T201
    for client in () if given.spread or given.growing else clients():
        print(f"# {client.name}: {client.hops} hops, RTT {client.rtt_ms:g} ms{_residual(client)}")  # noqa: T201
        print(f"{client.name.lower()}: {_flow(client.leg())}")  # noqa: T201
        if directory is not None:
            path = directory / f"{client.name.lower()}.yaml"
            path.write_text(client.scenario(), encoding="utf-8")


def _residual(client: Client) -> str:
    """Return the residual of TCP's throughput in words, by the arithmetic and by packets."""
    if client.wifi is None:
        return ""
    carried = carried_mbps(client.path)
    mbps = throughput_mbps(carried, client.rtt_ms)
    return (
        f", TCP {client.tcp_mbps:g} Mbit/s, fitted {client.fitted_mbps:.1f}, by packets "
        f"{mbps:.1f} ({100 * (mbps / client.tcp_mbps - 1):+.1f} %), of the arithmetic "
        f"{carried * 1e6 / tcp_bps(client.wifi):.3f}"
    )


def _flow(leg: dict[str, Any]) -> str:
    return yaml.safe_dump(leg, sort_keys=False, default_flow_style=True, width=1000).strip()


if __name__ == "__main__":
    main()
