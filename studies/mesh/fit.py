"""Print legs that give TCP what clients of a mesh had: `python studies/mesh/fit.py`.

The clients RP1 to RP7 of "QUIC in wireless mesh networks". Used are TCP's throughput (table 2) and
the round-trip times that the study tells, no number of QUIC's: what QUIC makes of the legs is a
prediction. studies/mesh/measured.md#the-fit-of-the-legs has method and residuals; `clients.py` has
the legs.

`CARRIED` is what 1,000 segments under way carried in 20 s over the client's hops (`WifiPath`, an
acknowledgement for every two), of what the arithmetic says of one hop. The rates of
`clients.SPREAD_MBPS` solve the same equation for ten equally likely throughputs of RP3, normal with
the standard deviation of table 2.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
from scipy.optimize import brentq

from minitopo_dc.link import WifiParameters, exchange_ns, saturated_bps
from minitopo_dc.units import NS_PER_S

TABLE = Path(__file__).with_name("reference") / "wmn_table_2_throughput.csv"
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
"""Acknowledgements collide with data, and hops in series are not always busy."""


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


def goodput_bps(
    parameters: WifiParameters,
    mpdus: int,
    *,
    data: int,
    payload: int,
    acknowledgement: int,
    packets_per_acknowledgement: int = 2,
) -> float:
    """Return a download's goodput (bit/s) without errors, collisions and other stations.

    Data and acknowledgements have as many MPDUs in a TXOP as fit each other: `mpdus` packets of
    data, then the acknowledgements of them all; with fewer packets than one acknowledges, several
    TXOPs of data and one acknowledgement.

    Args:
        parameters: the medium's.
        mpdus: packets of data in a TXOP.
        data: bytes of an IP packet with data.
        payload: bytes of it that count.
        acknowledgement: bytes of an IP packet that acknowledges.
        packets_per_acknowledgement: how many it acknowledges.
    """
    txops = max(1, -(-packets_per_acknowledgement // mpdus))
    packets = txops * mpdus
    acknowledgements = max(1, packets // packets_per_acknowledgement)
    duration = txops * exchange_ns(parameters, mpdus, data)
    duration += exchange_ns(parameters, acknowledgements, acknowledgement)
    return packets * payload * 8 * NS_PER_S / duration


def tcp_mbps(wifi: WifiParameters) -> float:
    """Return TCP's goodput on a medium when its queue is never empty, with full TXOPs."""
    clean = replace(wifi, load=0.0, mpdu_error=0.0)
    packets = min(wifi.max_mpdus, wifi.max_bytes // (DATA + 42))
    alone = goodput_bps(clean, packets, data=DATA, payload=PAYLOAD, acknowledgement=ACKNOWLEDGEMENT)
    return alone * saturated_bps(wifi) / saturated_bps(clean) / 1e6


def medium(capacity_mbps: float, mpdu_error: float) -> WifiParameters:
    """Return the slowest rate with which TCP would have the capacity, and others' load on top."""
    for rate in RATES_MBPS:
        free = WifiParameters(rate_bps=round(rate * 1e6), mpdu_error=mpdu_error, stations=STATIONS)
        if tcp_mbps(free) >= capacity_mbps:
            break
    load = brentq(lambda part: tcp_mbps(replace(free, load=part)) - capacity_mbps, 0.0, 0.95)
    return replace(free, load=load)


def fitted(name: str, hops: int, tcp: float) -> dict[str, float]:
    """Return a client's leg: Mbit/s, share of others, one-way ms behind the hops; and TCP over it.

    The delay is that of all but the hops' own time for a ping.
    """
    rtt_ms = MEASURED_RTT_MS.get(name, WIRED_RTT_MS + hops * HOP_RTT_MS)
    capacity = brentq(lambda mbps: throughput_mbps(mbps, rtt_ms) - tcp, 1.0, 1000.0)
    if not hops:
        rate = capacity * DATA / PAYLOAD
        return {"rate_mbps": round(rate, 1), "delay_ms": rtt_ms / 2, "fitted_mbps": tcp}
    wifi = medium(capacity / CARRIED[name], ERROR.get(name, GOOD_ERROR))
    path = [*[replace(wifi, mpdu_error=GOOD_ERROR)] * (hops - 1), wifi]
    pings_ms = sum(exchange_ns(hop, 1, PING) / (1 - hop.mpdu_error) for hop in path) / 1e6
    return {
        "rate_mbps": wifi.rate_bps / 1e6,
        "load_percent": round(wifi.load * 100, 1),
        "delay_ms": round(rtt_ms / 2 - pings_ms, 1),
        "fitted_mbps": throughput_mbps(CARRIED[name] * tcp_mbps(wifi), rtt_ms),
    }


def fits() -> pd.DataFrame:
    """Return all seven clients: hops, TCP's throughput in the study, and the fitted leg."""
    table = pd.read_csv(TABLE, index_col="client")[["wireless_hops", "tcp_mbps"]]
    rows = table.reset_index().to_numpy().tolist()
    legs = {name: fitted(name, hops, tcp) for name, hops, tcp in rows}
    return table.join(pd.DataFrame.from_dict(legs, orient="index"))


if __name__ == "__main__":
    print(fits().to_string())  # noqa: T201
