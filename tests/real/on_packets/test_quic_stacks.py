"""The runners of QUIC stacks on real packets, from a scenario to its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc.results.run_result import RunResult
from tests import long
from tests.quic.extension import each_stack
from tests.real.testbed import ok

pytestmark = [pytest.mark.root, each_stack]


def leg(rate_mbps: float = 10, **more: Any) -> dict[str, Any]:
    one = {"rate_mbps": rate_mbps, "delay_ms": 5} | more
    return {"downlink": one, "uplink": one}


def run(directory: Path, stack: str, **fields: Any) -> RunResult:
    values = {"transport": f"mpquic-{stack}", "mode": "multipath", "legs": [leg(), leg()]}
    more = {"congestion_control": "cubic", "workload": {"duration_s": 3}}
    return ok(directory, **(values | more | fields))


def sent_between(directory: Path, which: int, begin_s: float, end_s: float) -> int:
    """Bytes that the paths on a leg sent, by paths.csv."""
    table = pd.read_csv(directory / "paths.csv")
    part = table[(table["leg"] == which) & table["time_s"].between(begin_s, end_s)]
    sent = part.groupby("path")["bytes_sent"]
    return int((sent.max() - sent.min()).sum())


@pytest.mark.long
@pytest.mark.alone
def test_three_legs_are_all_used_and_told(tmp_path: Path, stack: str) -> None:
    result = run(tmp_path, stack, legs=[leg(), leg(), leg()])
    assert result.goodput_mbps is not None
    assert result.goodput_mbps > 22
    assert sorted(path["leg"] for path in result.details["paths"]) == [1, 2, 3]
    assert result.leg_bytes is not None
    for path in result.details["paths"]:  # UDP payload of paths, IP packets of legs
        carried = result.leg_bytes[path["leg"] - 1]
        assert 0.93 * carried < path["bytes_sent"] <= 1.05 * carried


@pytest.mark.long
@pytest.mark.alone
def test_a_schedule_says_when_a_leg_carries_data(tmp_path: Path, stack: str) -> None:
    schedule = [{"at_s": 1, "open": 2}, {"at_s": 2, "abandon": 1}, {"at_s": 3, "open": 1}]
    paths = {"initial": [1], "schedule": schedule}
    run(tmp_path, stack, paths=paths, workload={"duration_s": 4})
    full = 10e6 / 8
    for which, begin_s, end_s, share in (
        (1, 0.3, 1.0, 1),
        (2, 0.0, 1.0, 0),
        (2, 1.4, 2.0, 1),
        (1, 2.5, 3.0, 0),
        (2, 2.2, 3.0, 1),
        (1, 3.4, 4.0, 1),
    ):
        sent = sent_between(tmp_path, which, begin_s, end_s)
        if share:
            assert sent > 0.6 * full * (end_s - begin_s), (which, begin_s)
        else:
            assert sent == 0, (which, begin_s)


@pytest.mark.long
@pytest.mark.alone
def test_an_outage_of_a_leg_is_survived_and_its_path_used_again(tmp_path: Path, stack: str) -> None:
    down = leg(outages=[[1.5, 3]])
    run(tmp_path, stack, legs=[leg(), down], workload={"duration_s": 6})
    assert sent_between(tmp_path, 1, 1.8, 3.0) > 1_000_000
    assert sent_between(tmp_path, 2, 1.9, 2.9) < 50_000
    assert sent_between(tmp_path, 2, 4.5, 6.0) > 1_000_000


@pytest.mark.alone
@pytest.mark.parametrize("mode", [long("sc"), "dc"])
def test_one_path_over_one_leg_or_over_dual_connectivity(
    mode: str, tmp_path: Path, stack: str
) -> None:
    result = run(tmp_path, stack, transport=f"quic-{stack}", mode=mode)
    assert result.goodput_mbps is not None
    assert result.leg_bytes is not None
    # noq's slow start loses many packets; the virtual clock has 12.8 and 18.6 Mbit/s.
    over_both = {"noq": 11, "picoquic": 14}[stack]
    assert result.goodput_mbps > (8 if mode == "sc" else over_both)
    assert (result.leg_bytes[1] > 1_000_000) == (mode == "dc")


@pytest.mark.long
def test_multipath_beside_dual_connectivity_and_single_connections(
    tmp_path: Path, stack: str
) -> None:
    flows = [
        {"mode": "dc", "transport": f"quic-{stack}"},
        {"mode": "multipath", "transport": f"mpquic-{stack}"},
        {"mode": "sc", "leg": 2, "transport": f"quic-{stack}"},
    ]
    result = run(tmp_path, stack, mode="flows", flows=flows, workload={"duration_s": 5})
    told = result.details["flows"]
    assert [flow["mode"] for flow in told] == ["dc", "multipath", "sc"]
    assert all(flow["bytes_received"] > 200_000 for flow in told)
    assert {path["leg"] for path in told[1]["paths"]} == {1, 2}
    assert set(pd.read_csv(tmp_path / "paths.csv")["flow"]) == {2}


def test_requests_are_answered_through_a_handover(tmp_path: Path, stack: str) -> None:
    schedule = [{"at_s": 0.5, "open": 2}, {"at_s": 1, "abandon": 1}]
    requests = {"kind": "request-response", "interval_s": 0.05, "count": 30}
    run(tmp_path, stack, paths={"initial": [1], "schedule": schedule}, workload=requests)
    table = pd.read_csv(tmp_path / "request-response.csv")
    assert len(table) == 30
    assert table["delay_ms"].notna().all()
    assert table["delay_ms"].median() < 60
    assert table["sent_s"].is_monotonic_increasing  # two have one time after a pause of the client
