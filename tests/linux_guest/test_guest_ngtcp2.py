"""ngtcp2's programs in a guest: transport `quic-ngtcp2` on the virtual clock."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from tests import long
from tests.linux_guest.guests import needs_guest, run, scenario

NO_TOOLS = get_runner("quic-ngtcp2").obstacle() or ""
pytestmark = [
    needs_guest,
    pytest.mark.skipif(bool(NO_TOOLS) and not os.environ.get("CI"), reason=NO_TOOLS),
]
DUAL: dict[str, Any] = {"mode": "dc", "pdcp": {"batch": 10, "ratio": [1, 1]}}


def ngtcp2(legs: int = 1, **fields: Any) -> Scenario:
    return scenario(legs, transport="quic-ngtcp2", **fields)


@pytest.mark.parametrize(("ip_version", "control"), [long(4, "reno"), (6, "cubic"), long(4, "bbr")])
def test_a_download_over_a_bearer_is_measured_by_the_client_s_qlog(
    tmp_path: Path, ip_version: int, control: str
) -> None:
    fields = {"ip_version": ip_version, "congestion_control": control, "workload": {"size_mb": 1}}
    result = run(ngtcp2(2, **DUAL, **fields), tmp_path)
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 450_000
    assert result.completion_s is not None
    assert 0.2 < result.completion_s < 1
    assert result.details["first_byte_s"] == pytest.approx(0.044, abs=0.004)
    assert result.details["receive_buffer_bytes"] == 33_554_432
    assert not {"www", "download", "qlog"} & {path.name for path in tmp_path.iterdir()}


def test_a_download_for_a_time_ends_then(tmp_path: Path) -> None:
    result = run(ngtcp2(workload={"duration_s": 2}), tmp_path)
    assert result.completion_s == pytest.approx(2, abs=1e-4)
    assert 15 < (result.goodput_mbps or 0) < 20
