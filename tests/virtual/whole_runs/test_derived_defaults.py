"""Each derived default (docs/scenarios.md) is what one would have written: the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.installation import shipped
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Leg, Scenario
from minitopo_dc.scenario.pdcp import DuplicationSettings, Pdcp
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic

pytestmark = needs_picoquic
NEAR: dict[str, Any] = {"rate_mbps": 20, "delay_ms": 10}
FAR: dict[str, Any] = {"rate_mbps": 10, "delay_ms": 30, "jitter_ms": 2}
LTE: dict[str, Any] = {"trace": shipped("traces") / "lte_a.csv", "delay_ms": 10}
MULTIPATH: dict[str, Any] = {"transport": "mpquic-picoquic", "mode": "multipath"}
SLOWER: dict[str, Any] = NEAR | {"changes": [{"at_s": 0.1, "rate_mbps": 2}]}
LATE: dict[str, Any] = {"split": "least-delay", "numbering": "late"}
UPLINK = {"rate_mbps": 20, "delay_ms": 30, "jitter_ms": 2}
LOSSY: dict[str, Any] = {"split": "proportional", "duplication": {"loss_percent": 2}}


def made(*legs: dict[str, Any] | Leg, **fields: Any) -> Scenario:
    """A small download, over two legs unless others are given."""
    given = {"transport": "quic-picoquic", "mode": "dc", "workload": {"size_mb": 1}}
    return Scenario(legs=legs or (NEAR, FAR), clock="virtual", **{**given, **fields})


def pdcp(**fields: Any) -> Scenario:
    return made(pdcp=fields)


def alone(leg: dict[str, Any], **fields: Any) -> Scenario:
    return made(leg, mode="sc", **fields)


def flows(*given: dict[str, Any], **fields: Any) -> Scenario:
    return made(mode="flows", flows=given, **fields)


PAIRS: dict[str, tuple[Scenario | Callable[[], Scenario], Scenario | Callable[[], Scenario]]] = {
    # Legs.
    "an uplink's propagation": (made(NEAR, FAR), made(NEAR, FAR | {"uplink": UPLINK})),
    "both directions": (
        lambda: Scenario.check(yaml.safe_load(yaml.safe_dump(plain(made(NEAR, FAR)))), "file"),
        made(NEAR, Leg(downlink=FAR, uplink=UPLINK)),
    ),
    "queue_ms and queue_bytes": (
        alone(FAR | {"queue_ms": 20}),
        alone(FAR | {"queue_bytes": 25_000}),
    ),
    "queue_ms before its rate": (
        lambda: alone(NEAR | {"queue_ms": 20}).evolve(legs={0: FAR}),
        alone(FAR | {"queue_ms": 20}),
    ),
    "queue_ms of a rate that changes": (
        alone(FAR | {"queue_ms": 20, "changes": [{"at_s": 0.1, "rate_mbps": 5}]}),
        alone(FAR | {"queue_bytes": 25_000, "changes": [{"at_s": 0.1, "rate_mbps": 5}]}),
    ),
    "queue_ms of a trace": (
        alone(LTE | {"trace_mean_mbps": 12, "queue_ms": 20}),
        alone(LTE | {"trace_mean_mbps": 12, "queue_bytes": 30_000}),
    ),
    "queue_ms of the best of legs": (
        made(FAR | {"queue_ms": 20}, NEAR, handover={"case": "sp"}, mode="sc"),
        made(FAR | {"queue_bytes": 25_000}, NEAR, handover={"case": "sp"}, mode="sc"),
    ),
    "the queue of packets": (alone(NEAR), alone(NEAR | {"queue_packets": 100})),
    "trace_offset_s": (
        alone(LTE, trace_offset_s=30),
        alone(LTE | {"offset_s": 30}),
    ),
    "a wire behind the legs": (alone(NEAR, server_delay_ms=20), alone(NEAR | {"delay_ms": 30})),
    # PDCP.
    "reports of a split": (pdcp(split="proportional"), pdcp(split="proportional", report_ms=20)),
    "reports of a rule": (
        pdcp(**LOSSY | {"split": "batch"}),
        pdcp(**LOSSY | {"split": "batch", "report_ms": 20}),
    ),
    "reports of a rule as an object": (
        made(pdcp=Pdcp(duplication=DuplicationSettings(loss_percent=2)).evolve(batch=10)),
        pdcp(duplication={"loss_percent": 2}, batch=10, report_ms=20),
    ),
    "reports of data recovery": (
        pdcp(data_recovery=True),
        pdcp(data_recovery=True, report_ms=20),
    ),
    "reports of failures": (pdcp(leg_failure_ms=100), pdcp(leg_failure_ms=100, report_ms=20)),
    "echoes": (
        made(mode="atsss"),
        made(mode="atsss", pdcp={"split": "smallest-delay", "delivery": "off", "echo_ms": 100}),
    ),
    "flow control": (pdcp(split="credit"), pdcp(split="credit", flow_control={})),
    "what a node desires": (
        pdcp(**LATE, flow_control={"backhaul_ms": 5, "jitter_ms": 1}),
        pdcp(**LATE, flow_control={"backhaul_ms": 5, "jitter_ms": 1, "desired_ms": 19}),
    ),
    "the waiting buffer": (pdcp(**LATE), pdcp(**LATE, buffer_packets=200)),
    "ratio": (pdcp(), pdcp(ratio=[1, 1])),
    "small_bytes": (
        pdcp(duplication={"packets": ["ack"]}),
        pdcp(duplication={"packets": ["ack"], "small_bytes": 100}),
    ),
    "a bearer's legs": (pdcp(), pdcp(legs=[1, 2])),
    "an uplink's bearer": (
        made(pdcp=LATE, split_uplink=True),
        made(pdcp=LATE, split_uplink=True, uplink_pdcp=LATE),
    ),
    # A named Dual Connectivity.
    "a name before its legs": (
        lambda: made().with_dc("deployable").evolve(legs={1: {"delay_ms": 90, "queue_ms": 50}}),
        lambda: made(NEAR, FAR | {"delay_ms": 90, "queue_ms": 50}).with_dc("deployable"),
    ),
    "a name before its bearer's legs": (
        lambda: made(NEAR, FAR, NEAR).with_dc("deployable").evolve(pdcp={"legs": [2, 3]}),
        lambda: made(NEAR, FAR, NEAR, pdcp={"legs": [2, 3]}).with_dc("deployable"),
    ),
    "a name of several flows": (
        lambda: flows({"mode": "dc"}).with_dc("deployable").evolve(legs={1: {"delay_ms": 90}}),
        lambda: flows({"mode": "dc"}).evolve(legs={1: {"delay_ms": 90}}).with_dc("deployable"),
    ),
    # Paths, changes, flows, workloads, windows.
    "paths": (made(**MULTIPATH), made(**MULTIPATH, paths={"initial": [1, 2]})),
    "who makes handovers": (
        made(FAR, SLOWER, **MULTIPATH, handover={"case": 1}),
        made(FAR, SLOWER, **MULTIPATH, handover={"case": 1, "by": "paths"}),
    ),
    "times of mobility": (
        made(mobility=[{"at_s": 0.1, "scg_failure": 2}]),
        made(
            mobility=[{"at_s": 0.1, "scg_failure": 2, "detection_ms": 1000, "interruption_ms": 100}]
        ),
    ),
    "fields of a flow": (
        flows({"mode": "dc"}, {"mode": "dc"}, pdcp=LATE, congestion_control="reno"),
        flows(
            {"mode": "dc"},
            {
                **{"mode": "dc", "transport": "quic-picoquic", "congestion_control": "reno"},
                **{"workload": {"size_mb": 1}, "pdcp": LATE, "options": {}},
            },
            pdcp=LATE,
            congestion_control="reno",
        ),
    ),
    "the number of requests": (
        made(workload={"kind": "request-response", "duration_s": 1, "interval_s": 0.3}),
        made(workload={"kind": "request-response", "count": 4, "interval_s": 0.3}),
    ),
    "an upload beside a download": (
        made(workload={"kind": "both", "size_mb": 0.2}),
        made(workload={"kind": "both", "size_mb": 0.2, "up_mb": 0.2}),
    ),
    "the least of both windows": (
        made(options={"max_data": 60_000}),
        made(options={"max_stream_data": 60_000}),
    ),
    "CPU time of clients": (
        made(virtual={"cpu_us_per_packet": 50}),
        made(virtual={"cpu_us_per_packet": 50, "client_cpu_us_per_packet": 50}),
    ),
}
"""One way to say it, and another."""


def plain(scenario: Scenario) -> dict[str, Any]:
    """A scenario as a file has it, with what both directions of the legs have beside them."""
    values = scenario.model_dump(mode="json")
    for leg in values["legs"]:
        for name in leg["downlink"].keys() & leg["uplink"].keys() - {"outages"}:
            if leg["downlink"][name] == leg["uplink"][name]:
                leg[name] = leg["downlink"].pop(name)
                del leg["uplink"][name]
    return values


def run(directory: Path, way: Scenario | Callable[[], Scenario]) -> RunResult:
    """The result of a run of a scenario, which its file gives back."""
    scenario = way if isinstance(way, Scenario) else way()
    again = Scenario.check(yaml.safe_load(yaml.safe_dump(scenario.model_dump(mode="json"))), "file")
    assert again == scenario
    result = run_virtual(again, directory)
    assert (result.status, result.reason) == ("ok", "")
    return result


@pytest.mark.parametrize("name", PAIRS)
def test_a_derived_default_is_what_one_would_have_written(name: str, tmp_path: Path) -> None:
    one, other = (run(tmp_path / str(n), way) for n, way in enumerate(PAIRS[name]))
    assert one.completion_s == other.completion_s
    assert one.leg_bytes == other.leg_bytes
