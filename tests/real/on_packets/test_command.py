"""Runner `command` on real packets: iperf3 over a bearer and with MPTCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real.machine import probe_kernel
from tests import long
from tests.real.registry import alive
from tests.real.testbed import ok

pytestmark = pytest.mark.root
LINK = {"rate_mbps": 20, "delay_ms": 5}
LEG = {"downlink": LINK, "uplink": LINK}
IPERF3 = "iperf3 --client {server} --reverse --json --bytes 2M"
LEAVING = "env -i setsid sleep 1000 & echo $! > $MINITOPO_DC_RUN/left; exec "
"""Leaves a process that shows by its namespace alone whose it is."""


@pytest.mark.parametrize(("mode", "prefix"), [("dc", ""), long("multipath", "mptcpize run")])
def test_iperf3_uses_both_legs_and_leaves_nothing(mode: str, prefix: str, tmp_path: Path) -> None:
    if prefix and (reason := probe_kernel()["MPTCP"]):
        pytest.skip(f"this kernel has no MPTCP: {reason}")
    workload: dict[str, Any] = {
        "kind": "command",
        "server": [*prefix.split(), "iperf3", "--server", "--one-off"],
        "server_ready": 5201,
        "client": ["sh", "-c", f"{LEAVING}{prefix} {IPERF3}"],
        "measures": {
            "mbps": {"json_path": "end.sum_received.bits_per_second", "scale": 1e-6},
            "bytes": {"json_path": "end.sum_received.bytes"},
        },
    }
    fields = {"transport": "command", "congestion_control": "reno", "mode": mode}
    result = ok(tmp_path, **fields, legs=[LEG, LEG], workload=workload)
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 100_000
    assert sum(result.leg_bytes) > result.details["bytes"] >= 1_000_000
    assert 0 < result.details["mbps"] < 40
    assert result.goodput_mbps is None
    assert not alive(int((tmp_path / "left").read_text()))
