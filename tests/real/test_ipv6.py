"""Downloads over IPv6, from a scenario to its result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.real import elements
from minitopo_dc.real import run as real
from minitopo_dc.real.run import run_real
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from tests import long
from tests.real.testbed import ok

LEG = {"downlink": {"rate_mbps": 20, "delay_ms": 5, "jitter_ms": 0}}


def fields(transport: str, mode: str) -> dict[str, Any]:
    values = {"transport": transport, "mode": mode, "legs": [LEG, LEG], "workload": {"size_mb": 2}}
    return values | {"congestion_control": "cubic", "ip_version": 6}  # which every transport has


@pytest.mark.root
@pytest.mark.parametrize(
    ("transport", "mode"),
    [
        ("quic", "dc"),
        *(long("quic", "sc"), long("tcp", "dc"), long("tcp", "dc-duplicate")),
    ],
)
def test_a_download_takes_the_legs_of_its_mode(transport: str, mode: str, tmp_path: Path) -> None:
    result = ok(tmp_path, **fields(transport, mode))
    assert result.leg_bytes is not None
    first, second = result.leg_bytes
    whole = {"sc": (True, False), "dc": (False, False), "dc-duplicate": (True, True)}[mode]
    assert (first > 2_000_000, second > 2_000_000) == whole
    assert (second == 0) == (mode == "sc")
    assert first + second > 2_000_000
    receive = json.loads((tmp_path / "ue-summary.json").read_text())["receive"]
    assert [each["malformed"] for each in receive.values()] == ([] if mode == "sc" else [0])


@pytest.mark.root
@pytest.mark.parametrize("transport", ["mptcp", long("mpquic-picoquic"), long("mpquic-noq")])
def test_a_multipath_transport_uses_both_legs(transport: str, tmp_path: Path) -> None:
    if reason := get_runner(transport).run_obstacle("cubic"):
        pytest.skip(reason)
    result = ok(tmp_path, **fields(transport, "multipath"))
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 400_000
    if transport == "mptcp":
        remotes = {path["remote"] for path in result.details["paths"]}
        assert remotes == {"fd00:10:2:1::2", "fd00:10:2:2::2"}


def test_a_machine_without_ipv6_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "probe_kernel", lambda: {"IPv6": "Address family not supported"})
    monkeypatch.setattr(real, "facts", dict)
    result = run_real(Scenario.check(fields("quic", "dc"), "test"), tmp_path)
    assert result.status == "unsupported"
    assert "IPv6 does not work here: Address family not supported" in result.reason
