"""The testbed of the thesis "QUIC over Dual Connectivity", and what it varies.

D. Hasselquist and C. Lindström, Linköping University, 2020; its sections and tables are named here.

- aioquic is 0.8.7, whose protocol code is that of 0.8.6, the last release before the thesis' qlog
  (listing A.1, 16 March 2020). Its flow control begins with its own 1 MiB, as in that listing, and
  asyncio drives it. It has NewReno only.
- Its client is one program on one machine, whatever its receive buffer (section 4.1), so that on
  the virtual clock each datagram takes it the same CPU time with both; the server's machine is
  faster (table 4.1) and has none. How much is not published: 200 us fill the default buffer as in
  table 5.3, and the 36.0 Mbit/s of table 5.5 leave no more than 275 us for a datagram of 1,238
  bytes of content. On the real clock the CPU time is this machine's.
- Where delays vary each has a standard deviation of a tenth of it, as the text gives a relative
  one: a coefficient of variation of 10 % in the journal (section 4.2), a standard deviation of 10 %
  in the thesis (section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import minitopo_dc as dc

Change = dict[str, Any]
"""Arguments of `Scenario.evolve`."""
Case = tuple[dc.Scenario, dict[str, Any]]
IP_SHARE = 1310 / 1324
"""netem's rate counts the Ethernet header, a leg's the IP packet."""
DEFAULT_BUFFER, LARGE_BUFFER = 212992, 33554432  # bytes; table 4.4
LEG = dc.Leg(  # table 4.3, listings 4.1 and 4.2: netem's jitter reorders packets
    rate_mbps=round(20 * IP_SHARE, 3),
    delay_ms=10,
    jitter_ms=1,
    queue_packets=100,
    reorder=True,
    uplink={
        **{"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 1},
        **{"queue_packets": 10_000, "reorder": True},
    },
)
BASE = dc.Scenario(
    transport="quic-aioquic-2020",
    mode="dc",
    legs=[LEG, LEG],
    pdcp={"sn_bits": 16},  # section 4.2; batch 100 and ratio 1:1 are the defaults
    workload=dc.Download(size_mb=100),  # section 4.4
    congestion_control="reno",
    timeout_s=1800,
    clock="virtual",
    # Both proxies add 2.06 ms to the round trip (table 5.1). The client has Linux 4.15 (table 4.1).
    virtual={"processing_delay_ms": 1, "udp_memory": "linux-4.15"},
    real={"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}},  # table 4.4
)


def quic(receive_buffer_bytes: int) -> Change:
    """Return aioquic of 2020 with a receive buffer."""
    return {
        "options": {"receive_buffer_bytes": receive_buffer_bytes},
        "virtual": {"client_cpu_us_per_packet": 200, "client_datagrams_per_read": 1},  # see above
    }


TCP: Change = {"transport": "tcp", "options": {"mss_bytes": 1280}}  # rule C1 of table 4.2
NGTCP2: Change = {
    "transport": "quic-ngtcp2",
    "options": {"max_datagram_bytes": 1280, "receive_buffer_bytes": LARGE_BUFFER},
}
CUBIC: Change = {"congestion_control": "cubic"}
WAYS: dict[str, Change] = {  # table 4.4
    "quic": quic(DEFAULT_BUFFER),
    "quic_bm": quic(LARGE_BUFFER),
    "tcp": TCP,
}
APPENDIX: dict[str, Change] = {  # appendices E to H
    "tcp_cubic": TCP | CUBIC,
    "ngtcp2": NGTCP2,
    "ngtcp2_cubic": NGTCP2 | CUBIC,
}


class Sweep(NamedTuple):
    """What one table varies: a label, and for each of its values what a scenario has."""

    label: str
    points: Mapping[Any, Change]

    def only(self, kept: Mapping[str, Any], name: str) -> Sweep:
        """Return the sweep with the points that are kept of it; all where its name is not there."""
        chosen = kept.get(name, self.points)
        return Sweep(self.label, {value: self.points[value] for value in chosen})


RATIOS = (1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5)


def shared(total: float, ratio: float, digits: int = 0) -> tuple[float, float]:
    """Return both parts of a total, of which the first is `ratio` times the second."""
    first = round(total * ratio / (1 + ratio), digits)
    return first, round(total - first, digits)


def downlinks(*legs: Change) -> Change:
    """Return a change of each leg's downlink."""
    return {"legs": dict(enumerate(legs))}


def rates(ratio: float) -> Change:
    """Return downlinks of 40 Mbit/s together, of which the first has `ratio` times the second's."""
    return downlinks(*({"rate_mbps": round(m * IP_SHARE, 3)} for m in shared(40, ratio, 1)))


def delayed(*delays_ms: float) -> Change:
    """Return downlinks with these delays, and a jitter of a tenth of each."""
    return downlinks(*({"delay_ms": d, "jitter_ms": round(d / 10, 3)} for d in delays_ms))


def loss(percent: float) -> Change:
    """Return downlinks with a loss."""
    return downlinks(*[{"loss_percent": percent}] * 2)


def split(first: float, second: float) -> Change:
    """Return the change to a DC ratio."""
    return {"pdcp": {"ratio": (first, second)}}


def duplicated(change: Change) -> Change:
    """Return a change with which each packet takes both legs."""
    return change | {"mode": "dc-duplicate"}


SWEEPS: dict[str, Sweep] = {
    "batch-size": Sweep(
        "batch", {batch: {"pdcp": {"batch": batch}} for batch in (2, 10, *range(50, 501, 50))}
    ),
    "dc-ratio": Sweep(
        "link1_percent", {percent: split(percent, 100 - percent) for percent in range(0, 101, 10)}
    ),
    "bandwidth-ratio": Sweep("bandwidth_ratio", {ratio: rates(ratio) for ratio in RATIOS}),
    "bandwidth-and-dc-ratio": Sweep(
        "bandwidth_ratio", {ratio: rates(ratio) | split(*shared(100, ratio)) for ratio in RATIOS}
    ),
    "delay-ratio-low": Sweep(
        "delay_ratio", {ratio: delayed(*shared(20, ratio, 1)) for ratio in RATIOS}
    ),
    "delay-ratio-high": Sweep(
        "delay_ratio", {ratio: delayed(*shared(200, ratio)) for ratio in RATIOS}
    ),
    "loss": Sweep("loss_percent", {step / 100: loss(step / 100) for step in range(21)}),
    "loss-duplicate": Sweep(
        "loss_percent", {step / 5: duplicated(loss(step / 5)) for step in range(26)}
    ),
}
SAMPLE: dict[str, Any] = {
    "batch-size": (100, 500),
    "dc-ratio": (50, 90),
    **dict.fromkeys(("bandwidth-ratio", "bandwidth-and-dc-ratio"), (1, 3)),
    **dict.fromkeys(("delay-ratio-low", "delay-ratio-high"), (1, 3)),
    "loss": (0, 0.1),
    "loss-duplicate": (0, 2),
}
"""The default point and one more of each table: what the real clock takes half an hour for."""


def swept(
    base: dc.Scenario,
    ways: Mapping[str, Change],
    sweeps: Mapping[str, Sweep],
    kept: Mapping[str, Any],
) -> Iterator[Case]:
    """Yield each point of each sweep with each way; of a sweep in `kept` those points only."""
    scenarios = {way: base.evolve(**change) for way, change in ways.items()}
    for experiment, sweep in sweeps.items():
        for way, scenario in scenarios.items():
            for value, change in sweep.only(kept, experiment).points.items():
                labels = {"experiment": experiment, "way": way, sweep.label: value}
                yield scenario.evolve(**change), labels
