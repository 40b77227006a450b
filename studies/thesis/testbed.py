"""The testbed of the thesis "QUIC over Dual Connectivity", and what its tables vary.

D. Hasselquist and C. Lindström, Linköping 2020; the journal paper has the same numbers.

* Where delays vary each has a standard deviation of a tenth of it, as the text gives a relative
  one: a coefficient of variation of 10 % in the journal (section 4.2), a standard deviation of 10 %
  in the thesis (section 4.4).
* aioquic's client is one program on one machine, whatever its receive buffer (section 4.1), so that
  on the virtual clock each datagram takes it the same CPU time; the server's machine is faster
  (table 4.1) and has none. How much is not published: 200 us fill the default buffer as in table
  5.3, and the 36.0 Mbit/s of table 5.5 leave no more than 275 us for a datagram of 1,238 bytes of
  content. On the real clock the CPU time is this machine's.
* aioquic is 0.8.7, whose protocol code is that of 0.8.6, the last release before the thesis' qlog
  (listing A.1, 16 March 2020). Its flow control begins with its own 1 MiB, as in that listing.
* TCP and ngtcp2 run on the virtual clock where `minitopo-dc build linux` was run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import minitopo_dc as dc

Case = tuple[dc.Scenario, dict[str, Any]]
Change = dict[str, Any]
"""Fields of a scenario that `evolve` takes."""
IP_SHARE = 1310 / 1324
"""netem's rate counts the Ethernet header, a leg's the IP packet."""
UPLINK = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 1, "queue_packets": 10_000, "reorder": True}


def leg(**downlink: Any) -> dict[str, Any]:
    """Return a leg of table 4.3, listings 4.1 and 4.2: netem's jitter reorders packets."""
    usual = {"delay_ms": 10, "jitter_ms": 1, "queue_packets": 100, "reorder": True}
    return {"downlink": {**usual, **downlink}, "uplink": UPLINK}


def ip_rate(mbps: float) -> float:
    """Return a leg's rate in Mbit/s for one of netem's."""
    return round(mbps * IP_SHARE, 3)


BASE = dc.Scenario(
    legs=[leg(rate_mbps=ip_rate(20))] * 2,
    mode="dc",
    transport="quic-aioquic-2020",
    congestion_control="reno",
    workload=dc.Download(size_mb=100),  # section 4.4
    timeout_s=1800,
    pdcp=dc.Pdcp(sn_bits=16),  # section 4.2; batch 100 and ratio 1:1 are the defaults
    clock="virtual",
    # Both proxies add 2.06 ms to the round trip (table 5.1); the client has Linux 4.15 (table 4.1).
    virtual={"processing_delay_ms": 1, "udp_memory": "linux-4.15"},
    real={"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}},  # table 4.4
)
CLIENT = {"client_cpu_us_per_packet": 200}
DEFAULT_BUFFER: Change = {"options": {"receive_buffer_bytes": 212_992}, "virtual": CLIENT}
LARGE_BUFFER: Change = {"options": {"receive_buffer_bytes": 32 << 20}, "virtual": CLIENT}
TCP: Change = {"transport": "tcp", "options": {"mss_bytes": 1280}}  # rule C1 of table 4.2
NGTCP2: Change = {
    "transport": "quic-ngtcp2",
    "options": {"max_datagram_bytes": 1280, "receive_buffer_bytes": 32 << 20},
}
WAYS = {"QUIC": DEFAULT_BUFFER, "QUIC, large buffer": LARGE_BUFFER, "TCP": TCP}
"""Table 4.4."""
RATIOS = (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)


def downlinks(*changes: Mapping[str, Any]) -> Change:
    """Return a change of both legs' downlinks; a single one is for both."""
    return {"legs": {place: {"downlink": change} for place, change in enumerate((changes * 2)[:2])}}


def rates(ratio: float) -> Change:
    """Return a change to rates with this ratio, 40 Mbit/s together."""
    first = round(40 * ratio / (1 + ratio), 1)
    return downlinks(*({"rate_mbps": ip_rate(mbps)} for mbps in (first, round(40 - first, 1))))


def delays(total_ms: float, ratio: float, digits: int) -> Change:
    """Return a change to one-way delays with this ratio."""
    first = round(total_ms * ratio / (1 + ratio), digits)
    parts = (first, round(total_ms - first, digits))
    return downlinks(*({"delay_ms": ms, "jitter_ms": round(ms / 10, 3)} for ms in parts))


def matching_ratio(ratio: float) -> list[int]:
    """Return the DC ratio in percent that matches a ratio of rates."""
    first = round(100 * ratio / (1 + ratio))
    return [first, 100 - first]


BATCHES = (2, 10, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500)
SPLIT_LOSSES = [round(0.01 * step, 2) for step in range(21)]
DUPLICATE_LOSSES = [round(0.2 * step, 1) for step in range(26)]
SWEEPS: dict[str, tuple[str, dict[Any, Change]]] = {
    "batch-size": ("batch", {batch: {"pdcp": {"batch": batch}} for batch in BATCHES}),
    "dc-ratio": (
        "link1_percent",
        {part: {"pdcp": {"ratio": [part, 100 - part]}} for part in range(0, 101, 10)},
    ),
    "bandwidth-ratio": ("bandwidth_ratio", {ratio: rates(ratio) for ratio in RATIOS}),
    "bandwidth-and-dc-ratio": (
        "bandwidth_ratio",
        {ratio: rates(ratio) | {"pdcp": {"ratio": matching_ratio(ratio)}} for ratio in RATIOS},
    ),
    "delay-ratio-low": ("delay_ratio", {ratio: delays(20, ratio, 1) for ratio in RATIOS}),
    "delay-ratio-high": ("delay_ratio", {ratio: delays(200, ratio, 0) for ratio in RATIOS}),
    "loss": ("loss_percent", {loss: downlinks({"loss_percent": loss}) for loss in SPLIT_LOSSES}),
    "loss-duplicate": (
        "loss_percent",
        {loss: downlinks({"loss_percent": loss}) for loss in DUPLICATE_LOSSES},
    ),
}
"""By experiment: the label of what varies, and the change for each of its values."""
SAMPLE = {
    "batch": (100, 500),
    "link1_percent": (50, 90),
    "bandwidth_ratio": (1, 3),
    "delay_ratio": (1, 3),
    "loss": (0, 0.1),
    "loss-duplicate": (0, 2),
}
"""Values of the sample, by the label or the experiment."""


def points(experiment: str, version: str) -> Iterator[tuple[dict[str, Any], Change]]:
    """Yield labels and change of each point of an experiment."""
    label, changes = SWEEPS[experiment]
    chosen: Iterable[Any] = SAMPLE.get(experiment, SAMPLE.get(label, ()))
    for value, change in changes.items():
        if version != "sample" or value in chosen:
            yield {"experiment": experiment, label: value}, change
