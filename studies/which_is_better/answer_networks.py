"""The networks of `answer.py`: pairs of carriers in loaded cells, and the ways over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from campaign import fields_of
from networks import Point, nine
from ways import ALONE, MULTIPATH

import minitopo_dc as dc

STACKS, KERNEL = ("picoquic", "noq"), "Linux"
DUAL, TRANSPORT = PAIR = "dc", "multipath"
LIA = "multipath, LIA"
XN_MS = 5.0
"""Of the networks with random losses."""
CARRIERS: Mapping[str, tuple[dc.Leg, dc.Leg]] = {
    "n78 100 + LTE 20": (dc.nr("n78", 100), dc.lte(20)),
    "n78 100 + n258 400": (dc.nr("n78", 100), dc.nr("n258", 400)),
    "n78 100 + n1 20": (dc.nr("n78", 100), dc.nr("n1", 20)),
}
"""Pairs of one operator: Dual Connectivity needs a node that both legs lead to. Of legs with one
delay the first is the nearest: n78, as a captured network has its primary path."""
RADIO: dict[str, Any] = {
    "pair": list(CARRIERS),
    "load_1": (0, 0.8),  # of the cell's capacity, taken by others
    "load_2": (0, 0.8),
    "server_ms": (2.5, 40, "log"),  # one way
    "xn_ms": (0.5, 20, "log"),
    "queue_1_ms": (20, 320, "log"),
    "queue_2_ms": (20, 320, "log"),
    "size_mb": (0.1, 100, "log"),
    "control": ["cubic", "bbr"],
}
CONTROLS = {"picoquic": {"cubic": "cubic", "bbr": "bbr"}, "noq": {"cubic": "cubic", "bbr": "bbr3"}}
"""What each stack calls CUBIC (RFC 9438) and BBRv3."""


def network(point: Point, stack: str) -> dc.Scenario:
    """Return the scenario of a network, without a way."""
    control = CONTROLS[stack][point["control"]] if stack in CONTROLS else point["control"]
    if "pair" not in point:
        base = dc.Scenario(**fields_of({**point, "control": control}))
        return base.evolve(transport=f"quic-{stack}", primary_leg="nearest")
    return dc.Scenario(
        transport="tcp" if stack == KERNEL else f"quic-{stack}",
        mode="sc",
        clock="virtual",
        options={} if stack == KERNEL else {"receive_buffer_bytes": 33_554_432},
        congestion_control=control,
        primary_leg="nearest",
        legs=[leg(point, number) for number in (1, 2)],
        workload=dc.Download(size_mb=nine(point["size_mb"])),
        timeout_s=3600,
    )


def leg(point: Point, number: int) -> dc.Leg:
    """Return a carrier's leg in a loaded cell, with the way to the server and a queue in ms."""
    carrier = CARRIERS[point["pair"]][number - 1]
    left = 1 - point[f"load_{number}"]
    down, up = (nine((way.rate_mbps or 0) * left) for way in (carrier.downlink, carrier.uplink))
    queue = {"queue_packets": None, "queue_ms": nine(point[f"queue_{number}_ms"])}
    delay = {"delay_ms": nine(point["server_ms"])}
    return carrier.evolve(
        downlink={"rate_mbps": down, **queue, **delay}, uplink={"rate_mbps": up, **delay}
    )


def of_way(base: dc.Scenario, way: str, xn_ms: float) -> dc.Scenario:
    """Return the scenario of a way."""
    if way == DUAL:
        return base.with_dc("deployable", xn_ms=nine(xn_ms))
    if way == TRANSPORT:
        several = "mptcp" if base.transport == "tcp" else f"mp{base.transport}"
        return base.evolve(transport=several, **MULTIPATH)
    return base.evolve(**ALONE[way])
