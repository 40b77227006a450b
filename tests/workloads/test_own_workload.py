"""A workload of one file, with both its ends, on every transport and both clocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitopo_dc
from minitopo_dc.clocks import run_scenario

PLUGIN = Path(minitopo_dc.__file__).parents[1] / "examples" / "polling.py"
TRANSPORTS = ("quic-picoquic", "mpquic-picoquic", "quic", "tcp", "mptcp")
COUNT, SIZE = 10, 30_000


def polled(transport: str, clock: str, directory: Path) -> minitopo_dc.results.RunResult:
    """The result of a run; a test is skipped where the transport is not."""
    values: dict[str, Any] = {
        "legs": 2 * [{"rate_mbps": 20, "delay_ms": 10}],
        "transport": transport,
        "mode": "multipath" if transport.startswith("mp") else "dc",
        "workload": {"kind": "polling", "count": COUNT, "message_bytes": SIZE},
        "clock": clock,
        "plugins": [str(PLUGIN)],
    }
    result = run_scenario(minitopo_dc.Scenario.check(values, "test"), directory)
    if result.status == "unsupported":
        pytest.skip(result.reason)
    return result


@pytest.mark.parametrize("clock", ["virtual", pytest.param("real", marks=pytest.mark.root)])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_transport_carries_it_on_both_clocks(
    transport: str, clock: str, tmp_path: Path
) -> None:
    result = polled(transport, clock, tmp_path / "run")
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["bytes_received"] == COUNT * SIZE
    # A round trip takes 20 ms; slow start takes two for the first messages.
    assert 20 < result.details["wait_ms"] < (200 if clock == "virtual" else 2000)
