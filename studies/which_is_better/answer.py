"""Over which radio legs is splitting below IP better than in the transport?

The protocol (protocol.md) is older than the first run, and says what is asked. Experiments:

- `radio`: the headline's networks, which have pairs of carriers of one operator;
- `losses`: the first networks of `campaign.py`, whose legs lose packets at random;
- `assumption`: the first networks of `radio` with one assumption changed;
- `partners`: the same with two of `STRONGEST` changed;
- `isolated`: the first networks of `losses` with what may cost Dual Connectivity its goodput there
  changed one by one;
- `others`: the same beside connections over leg 1 alone, for a time: what these get;
- `sobol`: a design for Sobol indices over the factors of `radio`;
- `workloads`: the first networks of `radio` with other things than downloads;
- `tcp`: the same with TCP over Dual Connectivity against MPTCP, and CUBIC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, product, repeat
from typing import Any, NamedTuple

from answer_networks import (
    DUAL,
    KERNEL,
    LIA,
    PAIR,
    RADIO,
    STACKS,
    TRANSPORT,
    XN_MS,
    network,
    of_way,
)
from answer_report import report
from campaign import DOWNLOADS
from networks import Fields, Point
from ways import ALONE

import minitopo_dc as dc
from minitopo_dc.workloads import UnderLoad
from minitopo_dc.workloads.download import Upload

__all__ = ["cases", "report"]
Case = tuple[dc.Scenario, dict[str, Any]]
Change = Callable[[dc.Scenario, str], dc.Scenario]
"""Returns a scenario of a way with one assumption changed."""
WORKLOADS: Mapping[str, Any] = {
    "upload": Upload(size_mb=5),
    "requests": dc.RequestResponse(request_bytes=750, response_bytes=20_000, count=50),
    "call": dc.Realtime(bitrate_mbps=1.5, duration_s=20),
    "video": dc.Video(),
    "under load": UnderLoad(),
}


DRX = {"on_ms": 10, "inactivity_ms": 100, "cycle_ms": 160}
"""Connected-mode DRX of a captured NR network (docs/carriers.md)."""


BESIDE_S = 10.0


class Points(NamedTuple):
    """The number of networks of each experiment in a version."""

    radio: int
    losses: int
    assumption: int
    isolated: int
    others: int
    sobol: int
    workloads: int
    tcp: int


POINTS = {
    "full": Points(256, 256, 128, 128, 32, 256, 32, 32),
    "quick": Points(8, 4, 4, 2, 1, 2, 2, 1),
    "sample": Points(40, 0, 0, 0, 0, 0, 0, 0),  # on the real clock
}


def cases(version: str) -> Iterator[Case]:
    """Yield all cases: whole networks one after the other, by experiment."""
    number = POINTS[version]
    networks = dc.campaign.sobol(256, RADIO)
    seeds = (1, 2, 3) if version != "quick" else (1,)
    for point, stack in product(networks[: number.radio], STACKS):
        yield from at("radio", point, stack, seeds)
    for point, stack, name in product(networks[: number.workloads], STACKS, WORKLOADS):
        labels = {"workload_kind": name}
        yield from at("workloads", point, stack, (1,), labels=labels, only=PAIR)
    for point in networks[: number.tcp]:
        yield from at("tcp", {**point, "control": "cubic"}, KERNEL, (1,), only=PAIR)
    some = networks[: number.assumption]
    for point, name in product(some, ASSUMPTIONS):
        yield from changed("assumption", point, [name])
    lossy = [{**point, "control": "cubic"} for point in dc.campaign.sobol(512, DOWNLOADS)]
    for point, stack in product(lossy[: number.losses], STACKS):
        yield from at("losses", point, stack, seeds)
    for point, names in product(some, PARTNERS):
        yield from changed("partners", point, names)
    for point, names in product(lossy[: number.isolated], ISOLATED):
        yield from changed("isolated", point, names)
    for point, count in product(lossy[: number.others], (1, 4)):
        yield from beside(point, count)
    for matrix, drawn in saltelli(number.sobol):
        yield from at("sobol", drawn, STACKS[0], (1,), labels={"matrix": matrix}, only=PAIR)


def at(
    experiment: str,
    point: Point,
    stack: str,
    seeds: Iterable[int],
    *,
    labels: Fields | None = None,
    only: Iterable[str] = (*PAIR, *ALONE),
) -> Iterator[Case]:
    """Yield the ways over a network with a stack; one leg alone has the first seed only."""
    base = network(point, stack)
    if labels and "workload_kind" in labels:
        base = base.evolve(workload=WORKLOADS[labels["workload_kind"]])
    own = {"experiment": experiment, "stack": stack, **point, **(labels or {})}
    for way, seed in product(only, seeds):
        if way not in ALONE or seed == 1:
            made = of_way(base, way, point.get("xn_ms", XN_MS))
            yield made.evolve(seed=seed), {**own, "way": way}


def beside(point: Point, count: int) -> Iterator[Case]:
    """Yield the ways at a network beside so many connections over leg 1 alone, for `BESIDE_S`.

    Of the ways, `leg-1` is one more such connection. Each connection over one leg has a bearer that
    puts nothing in order.
    """
    base = network(point, STACKS[0]).evolve(workload=dc.Download(duration_s=BESIDE_S))
    for way in (*PAIR, LIA, "leg-1"):
        made = of_way(base, TRANSPORT if way == LIA else way, XN_MS)
        alone: Fields = {"mode": "sc", "transport": base.transport, "pdcp": {"delivery": "off"}}
        mine: Fields = {"mode": made.mode, "transport": made.transport, "paths": made.paths}
        mine |= alone if way == "leg-1" else {}
        mine |= {"congestion_control": "lia"} if way == LIA else {}
        flows = [mine, *repeat(alone, count)]
        yield (
            made.evolve(mode="flows", paths=None, flows=flows),
            {"experiment": "others", "changed": str(count), **point, "way": way},
        )


def saltelli(points: int) -> Iterator[tuple[str, Point]]:
    """Yield the points of Saltelli's design with the name of their matrix: A, B, AB of a factor."""
    if not points:
        return
    both = {**RADIO, **{f"{name} of B": factor for name, factor in RADIO.items()}}
    for row in dc.campaign.sobol(points, both, seed=2):
        first = {name: row[name] for name in RADIO}
        second = {name: row[f"{name} of B"] for name in RADIO}
        yield "A", first
        yield "B", second
        for name in RADIO:
            yield f"AB {name}", first | {name: second[name]}


def changed(experiment: str, point: Point, names: Iterable[str]) -> Iterator[Case]:
    """Yield the ways at a network with assumptions changed, of which one may be the stack."""
    names = list(names)
    stack = STACKS[1] if "stack: noq" in names else STACKS[0]
    other = dict(point)
    for name in names:
        other |= OF_POINTS[name](point) if name in OF_POINTS else {}
    base = network(other, stack)
    labels = {"experiment": experiment, "changed": " and ".join(names), "stack": stack, **point}
    for way in PAIR:
        made = of_way(base, way, other.get("xn_ms", XN_MS))
        for name in names:
            made = CHANGES[name](made, way) if name in CHANGES else made
        yield made, {**labels, "way": way}


def _of_dual(**pdcp: Any) -> Change:
    """Return a change of the downlink's PDCP of Dual Connectivity."""
    return lambda made, way: made.evolve(pdcp=pdcp) if way == DUAL else made


def _of_transport(**fields: Any) -> Change:
    """Return a change of multipath alone."""
    return lambda made, way: made.evolve(**fields) if way == TRANSPORT else made


def _of_legs(**downlink: Any) -> Change:
    """Return a change of the downlinks of both legs, from which a named DC's timers follow."""
    return lambda made, _: made.evolve(legs=[leg.evolve(downlink=downlink) for leg in made.legs])


def _of_hosts(**virtual: int) -> Change:
    """Return a change of the machines at both ends."""
    return lambda made, _: made.evolve(virtual=virtual)


def _farther_first(made: dc.Scenario, _way: str) -> dc.Scenario:
    """Return a scenario whose primary leg and initial path are the other leg."""
    other = 2 if made.legs[0].downlink.delay_ms <= made.legs[1].downlink.delay_ms else 1
    return made.evolve(primary_leg=other)


def _second_grant(made: dc.Scenario, _way: str) -> dc.Scenario:
    """Return a scenario whose uplink needs a second grant after the buffer status report."""
    legs = [leg.evolve(uplink={"grant_ms": 2 * leg.uplink.grant_ms}) for leg in made.legs]
    return made.evolve(legs=legs)


def _queues(times: float) -> Callable[[Point], Fields]:
    """Return the queues of both legs, so many times as long."""
    return lambda point: {name: times * point[name] for name in ("queue_1_ms", "queue_2_ms")}


def _halves(made: dc.Scenario, way: str) -> dc.Scenario:
    """Return a scenario whose Dual Connectivity carries two connections of half the size."""
    if way != DUAL:
        return made
    half = dc.Download(size_mb=made.workload.size_bytes / 2e6)
    return made.evolve(mode="flows", flows=[{"mode": "dc", "workload": half}] * 2)


def _other_control(point: Point) -> Fields:
    """Return the congestion control that a point has not."""
    return {"control": "bbr" if point["control"] == "cubic" else "cubic"}


OF_POINTS: Mapping[str, Callable[[Point], Fields]] = {
    "congestion control: the other": _other_control,
    "server: 2.5 ms": lambda _: {"server_ms": 2.5},
    "server: 40 ms": lambda _: {"server_ms": 40.0},
    "queues: a quarter": _queues(0.25),
    "queues: four times": _queues(4),
    "Xn: 0 ms": lambda _: {"xn_ms": 0.0},
    "Xn: 20 ms": lambda _: {"xn_ms": 20.0},
    "size: 1 MB": lambda _: {"size_mb": 1.0},
    "size: 40 MB": lambda _: {"size_mb": 40.0},
    "cells: empty": lambda _: {"load_1": 0.0, "load_2": 0.0},
}
OF_WAYS: Mapping[str, Change] = {
    "stack: noq": lambda made, _: made,
    "coupling: LIA": _of_transport(congestion_control="lia"),
    "errors: random losses of 0.1 %": _of_legs(rlc=None, loss_percent=0.1),
    "statuses: every 1 ms": _of_dual(flow_control={"interval_ms": 1}),
    "statuses: every 20 ms": _of_dual(flow_control={"interval_ms": 20}),
    "split: credit": _of_dual(split="credit"),
    "split: proportional": _of_dual(split="proportional"),
    "t-Reordering: 200 ms": _of_dual(t_reordering_ms=200),
    "primary leg and initial path: the other": _farther_first,
    "t-Reordering: adaptive": _of_dual(t_reordering_ms="adaptive"),
    "information: at once": _of_dual(flow_control=None),
    "receiver: knows each leg's order": _of_dual(legs_keep_order=True),
    "DRX: on": _of_legs(rlc={"drx": DRX}),
    "uplink: two grants": _second_grant,
    "end hosts: 20 us a packet": _of_hosts(cpu_us_per_packet=20),
    "client: reads one datagram at a time": _of_hosts(client_datagrams_per_read=1),
}
OF_BEARERS: Mapping[str, Change] = {
    "two connections of half the size": _halves,
    "delivery: out of order": _of_dual(delivery="out-of-order"),
}
"""Of `isolated` alone."""
CHANGES = {**OF_WAYS, **OF_BEARERS}
ASSUMPTIONS = (*OF_WAYS, *OF_POINTS)
STRONGEST = (
    "DRX: on",
    "split: proportional",
    "errors: random losses of 0.1 %",
    "server: 40 ms",
)
"""The assumptions that move the shares most, by the first runs (protocol.md)."""
AT_ONCE, ORDER = "information: at once", "receiver: knows each leg's order"
PARTNERS = (
    *(pair for pair in combinations(STRONGEST, 2) if pair != (STRONGEST[0], STRONGEST[2])),
    (AT_ONCE, ORDER),
)
"""Assumptions changed together. Without RLC a leg has no DRX."""
ISOLATED = (
    *(["two connections of half the size"], ["congestion control: the other"]),
    *([AT_ONCE], [ORDER], [AT_ONCE, ORDER]),
    *(["t-Reordering: adaptive"], ["delivery: out of order"]),
)
