"""QUIC over WiFi meshes.

"QUIC in wireless mesh networks": tables 2, 3, 5, 6 and 7, figures 5, 6, 9, 10, 12 and 13, a sweep
of the knobs that its authors turned, TCP beside QUIC, frame aggregation off and on, and hops in
series.

The clients' legs are fitted to TCP's throughput and to round-trip times only: what QUIC makes of
them is a prediction. So the order of the clients is that of the study before QUIC sends a packet.
Their gains are not fitted.

modern is aioquic as it is installed; v43 is aioquic with the slow start exit, the loss threshold,
the acknowledgements and the pacing of gQUIC v43; bquic has the authors' changes, with thresholds of
ours, as they give none. aioquic's own CUBIC is in all.

Goodput has the handshake in it, the study's throughput has not: two round trips here. The
experiment with hops has a leg of plain numbers in place of a fitted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clients import CLIENTS, SPREAD_MBPS
from report import report

import minitopo_dc as dc

__all__ = ["cases", "report"]
Case = tuple[dc.Scenario, dict[str, Any]]
Fields = dict[str, Any]
PLAIN: Any = {"delay_ms": 18, "jitter_ms": 0, "queue_packets": 1000}
"""Of a leg that is no client's: one hop, and 18 ms each way to the server."""
BASE = dc.Scenario(
    transport="quic",
    mode="sc",
    congestion_control="cubic",  # the study's server, section 3.1
    workload=dc.Download(size_mb=10),  # section 3.3
    timeout_s=300,
    legs=[dc.Leg(wifi={"rate_mbps": 65}, downlink=PLAIN, uplink=PLAIN)],
    clock="virtual",
)
BYTES = {"max_datagram_bytes": 1350, "receive_buffer_bytes": 33_554_432}  # gQUIC's over IPv4
TCP: Fields = {"transport": "tcp", "options": {}}


def quic(preset: str, **options: Any) -> Fields:
    """Return a way with options of aioquic."""
    return {"options": {**BYTES, "preset": preset, **options}}


def busy(us: float) -> Fields:
    """Return a client whose CPU takes so many microseconds for a packet."""
    return {"virtual": {"client_cpu_us_per_packet": us, "client_datagrams_per_read": 1}}


def logged(ways: Mapping[str, Fields]) -> dict[str, Fields]:
    """Return ways that write qlogs."""
    return {name: way | {"options": way["options"] | {"qlog": True}} for name, way in ways.items()}


QUIC = {preset: quic(preset) for preset in ("modern", "v43", "bquic")}
V43 = {"v43": QUIC["v43"]}
ALL = {"tcp": TCP, **QUIC}
BUSY = {
    # What RP2 has under stress (table 3). With QUIC these are 17.7 Mbit/s: 1,640 packets/s of
    # 1,350 bytes, and half as many acknowledgements: 407 us each. With TCP 53.47: 4,616
    # segments/s of 1,448: 144 us.
    "v43": QUIC["v43"],
    "v43 busy": QUIC["v43"] | busy(407),
    "modern": QUIC["modern"],
    "modern busy": QUIC["modern"] | busy(407),
    "tcp": TCP,
    "tcp busy": TCP | busy(144),
}
MACHINES = {
    "v43": QUIC["v43"],  # a PC, whose CPU takes no time
    # A Raspberry Pi, whose CPU the study does not give: at most what its 76.3 Mbit/s on the wire
    # allow (RP1, table 2), 7,065 packets/s of 1,350 bytes and half as many acknowledgements: 94 us
    # each. An assumption, and its upper end.
    "v43 pi": QUIC["v43"] | busy(94),
    "v43 busy": QUIC["v43"] | busy(407),
}
RENO = {"tcp": TCP, "tcp reno": TCP | {"congestion_control": "reno"}}
"""Linux' Reno leaves slow start at a loss only."""
BESIDE_TCP: Fields = {
    "mode": "flows",
    "flows": [{"mode": "sc", "leg": 1}, {"mode": "sc", "leg": 1, **TCP}],
}
CAPTURED = TCP | {"options": {"tcp_info": True}, "virtual": {"capture": ["client", "server"]}}
TREES: dict[str, Any] = {
    # The clients' legs, and what is between and about them: ours.
    "preset": ["modern", "v43", "bquic"],
    "rate_mbps": [13, 19.5, 39, 52, 78, 104],
    "mpdu_error_percent": (0, 30),
    "load_percent": (0, 40),
    "loss_percent": (0.001, 0.1, "log"),
    "delay_ms": (18, 45),  # one way: RP1, RP4
    "queue_packets": (30, 1000, "log"),
}


def cases(version: str) -> Iterator[Case]:
    """Yield all experiments, each case with its seeds; files are smaller unless it is `full`."""
    size_mb, most = {"full": (10, 200), "quick": (5, 2), "sample": (2, 1)}[version]
    base = BASE.evolve(workload={"size_mb": size_mb})
    shapes = [
        (200, over(base, "clients", ALL)),  # as many connections as the study's, section 4.1
        (5, over(base, "path", logged(QUIC))),
        (5, queues(base, "queues", logged(V43 | {"bquic": QUIC["bquic"]}), ("RP3", "RP6"),
                   *((50, 100, 200, 400, 1000) if version != "sample" else (50,)))),
        (10, reordering(base, (0, 0.1, 0.3, 1) if version == "full" else (0, 0.1))),
        (30, over(base, "states", logged(MACHINES), ("RP1", "RP3"))),
        (30, aggregation(base)),
        (30, over(base, "stress", BUSY, ("RP2", "RP7", "RP5"))),
        (5, knobs(base, version)),
        (30, queues(base, "loss-queues", {"tcp": TCP, **V43}, CLIENTS,
                    *((50, 200, 1000) if version != "sample" else (50,)))),
        (10, over(base, "slow-start", RENO, ("RP3", "RP4", "RP7"))),
        (20, spread(base, SPREAD_MBPS if version != "sample" else (98.3,))),
        (10, fairness(base)),
        (10, table_6(base)),
        (10, hops(base, (1, 2, 3, 5) if version != "sample" else (3,))),
    ]  # fmt: skip
    for seeds, made in shapes:
        yield from seeded(made, range(1, 1 + min(seeds, most)))
    connections = {"full": 20, "quick": 4, "sample": 1}[version]
    yield from seeded(over(base, "behaviour", logged(QUIC), ["RP3"]), range(1, 1 + connections))
    yield from figures(base)
    yield from trees(base, {"full": 256, "quick": 128, "sample": 2}[version])


def seeded(made: Iterable[Case], seeds: Iterable[int]) -> Iterator[Case]:
    """Yield each case with each seed."""
    kept = list(seeds)
    for scenario, labels in made:
        for seed in kept:
            yield scenario.evolve(seed=seed), labels


def over(
    base: dc.Scenario,
    experiment: str,
    ways: Mapping[str, Fields],
    clients: Iterable[str] = CLIENTS,
    **change: Any,
) -> Iterator[Case]:
    """Yield each way over the leg of each client, or a change of it."""
    for client in clients:
        made = base.evolve(legs=[CLIENTS[client]]).evolve(legs={0: change})
        for way, fields in ways.items():
            labels = {"experiment": experiment, "client": client, "way": way}
            yield made.evolve(**fields), labels


def both(**fields: Any) -> Fields:
    """Return a change of both directions of a leg."""
    return {"downlink": fields, "uplink": fields}


def queues(
    base: dc.Scenario,
    name: str,
    ways: Mapping[str, Fields],
    clients: Iterable[str],
    *packets: int,
) -> Iterator[Case]:
    """Yield clients with queues of another length: the study does not say how long they are."""
    for number in packets:
        for scenario, labels in over(base, name, ways, clients, **both(queue_packets=number)):
            yield scenario, labels | {"queue_packets": number}


def reordering(base: dc.Scenario, jitters_ms: Iterable[float]) -> Iterator[Case]:
    """Yield RP3 with jitter that reorders packets: ours, the study does not say what does."""
    for jitter_ms in jitters_ms:
        for case in over(base, "reordering", logged(QUIC), ["RP3"], **disorder(jitter_ms)):
            yield case[0], case[1] | {"jitter_ms": jitter_ms}


def disorder(jitter_ms: float) -> Fields:
    """Return the change of a leg to one whose jitter reorders packets."""
    return both(jitter="uniform", reorder=True, jitter_ms=jitter_ms)


def aggregation(base: dc.Scenario) -> Iterator[Case]:
    """Yield RP6 without and with frame aggregation (table 6)."""
    for kind in ("none", "a-mpdu"):
        medium = {"aggregation": kind}
        for scenario, labels in over(base, "aggregation", QUIC, ["RP6"], wifi=medium):
            yield scenario, labels | {"frames": kind}


def knobs(base: dc.Scenario, version: str) -> Iterator[Case]:
    """Yield v43, and bquic with all combinations of its knobs (section 6.1, and a sweep)."""
    exits: list[float | None] = [0.125, 0.5] if version == "quick" else [0.5]
    if version == "full":
        exits = [0.125, 0.25, 0.5, 1, None]
    lost = {"full": [1.125, 1.25, 1.5, 2], "quick": [1.125, 1.5]}.get(version, [1.5])
    some = ("RP1", "RP3", "RP4")
    yield from over(base, "knobs", V43, some)
    for point in dc.campaign.grid(exit=exits, lost=lost, acks=[None, 10]):
        options = quic(
            "bquic",
            slow_start_exit="off" if point["exit"] is None else point["exit"],
            loss_time_threshold=point["lost"],
            ack_decimation="off" if point["acks"] is None else point["acks"],
        )
        for scenario, labels in over(base, "knobs", {"swept": options}, some):
            yield scenario, labels | point


def spread(base: dc.Scenario, rates_mbps: Iterable[float]) -> Iterator[Case]:
    """Yield RP3 with rates over which TCP varies as in the study (figure 5)."""
    for rate_mbps in rates_mbps:
        medium = {"rate_mbps": rate_mbps}
        for scenario, labels in over(base, "spread", ALL, ["RP3"], wifi=medium):
            yield scenario, labels | {"rate_mbps": rate_mbps}


def fairness(base: dc.Scenario) -> Iterator[Case]:
    """Yield QUIC beside TCP on a wire and on a WiFi link: the study does not say on which one."""
    beside = {name: way | BESIDE_TCP for name, way in QUIC.items()}
    return over(base, "fairness", beside, ("RP1", "RP3"))


def table_6(base: dc.Scenario) -> Iterator[Case]:
    """Yield TCP and QUIC without and with frame aggregation over a leg like RP6's."""
    way: Any = {"delay_ms": 19.8, "jitter_ms": 0, "queue_packets": 1000}
    medium = {"rate_mbps": 78, "mpdu_error_percent": 10, "load_percent": 0.1, "stations": 3}
    made = base.evolve(legs=[dc.Leg(wifi=medium, downlink=way, uplink=way)])
    for transport, fields in {"tcp": TCP, "quic": {"options": SYSTEM}}.items():
        yield from framed(made.evolve(**fields), "tcp-aggregation", way=transport)


def hops(base: dc.Scenario, numbers: Iterable[int]) -> Iterator[Case]:
    """Yield QUIC over several hops, each on a channel of its own."""
    for number in numbers:
        made = base.evolve(options=SYSTEM, legs={0: {"wifi": {"hops": number}}})
        yield from framed(made, "hops", hops=number)


SYSTEM = {"max_datagram_bytes": 1350, "receive_buffer_bytes": None}
"""Options with the system's own receive buffer: 212,992 bytes on Linux."""


def framed(scenario: dc.Scenario, experiment: str, **labels: Any) -> Iterator[Case]:
    """Yield a scenario with one packet a TXOP, and with A-MPDUs."""
    for kind in ("none", "a-mpdu"):
        made = scenario.evolve(legs={0: {"wifi": {"aggregation": kind}}})
        yield made, {"experiment": experiment, **labels, "frames": kind}


def figures(base: dc.Scenario) -> Iterator[Case]:
    """Yield the connections of figures 9 and 10, of which the report draws rate and window."""
    shown = base.evolve(statistics_ms=20)
    ways = {**V43, "tcp": TCP}
    # The first seed with which both transports leave slow start below the optimum, the first with
    # which neither does, and that one with packets out of order.
    yield from seeded(over(shown, "figure-9", ways, ["RP3"]), [5])
    yield from seeded(over(shown, "figure-10", ways, ["RP3"]), [7])
    yield from seeded(over(shown, "figure-10a", ways, ["RP3"], **disorder(0.1)), [7])


def trees(base: dc.Scenario, number: int) -> Iterator[Case]:
    """Yield connections of which the report learns what tells slow ones from fast ones."""
    for point in dc.campaign.sobol(256, TREES)[:number]:
        point["queue_packets"] = round(point["queue_packets"])
        way: Any = {"delay_ms": point["delay_ms"], "jitter_ms": 0, "queue_packets": 1000}
        names = ("rate_mbps", "mpdu_error_percent", "load_percent")
        medium = {"stations": 3, **{name: point[name] for name in names}}
        lossy: Any = way | {name: point[name] for name in ("loss_percent", "queue_packets")}
        leg = dc.Leg(wifi=medium, downlink=lossy, uplink=way)
        made = base.evolve(legs=[leg])
        yield made.evolve(**quic(point["preset"], qlog=True)), {"experiment": "trees", **point}
        yield made.evolve(**CAPTURED), {"experiment": "trees-tcp", **point, "preset": "tcp"}
