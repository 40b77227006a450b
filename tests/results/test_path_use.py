"""Which paths and which congestion control a run used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.results.judge import blank_result, judge
from minitopo_dc.results.path_use import PathUse
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import get_runner
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement
from tests.linux_guest.guests import needs_guest

SHORT, LONG = 0.07, 4.0
"""Less than a path over the legs below needs to be opened, and far more (s)."""
LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}, "delay_ms": 10}


def scenario(**fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "mptcp", "mode": "multipath", "legs": [LEG, LEG]}
    return Scenario.check(values | fields, "test")


def judged(
    directory: Path, counts: list[int], seconds: float, *paths: dict[str, Any], **fields: Any
) -> RunResult:
    """Judge a download with reports of paths; without any the transport tells none."""
    planned = scenario(**fields)
    own = {"paths": [{"bytes_sent": 0} | path for path in paths]} if paths else {}
    measured = Measurement(sum(counts), seconds, own)
    return judge(blank_result(planned, directory), planned, [measured], counts)


LOSSY = {"rate_mbps": 20, "loss_percent": 5}
FIRST = {"leg": 1, "opened_s": 0.02}
SECOND = {"leg": 2, "opened_s": 0.05}


@pytest.mark.parametrize(
    ("legs", "seconds", "paths", "use"),
    [
        ([12_724, 1_311], SHORT, [FIRST, SECOND], "over first"),
        ([12_724, 1_311], SHORT, [], "over first"),
        ([1_055_158, 0], 0.05, [FIRST], "over first"),
        ([23_156, 11_987], SHORT, [FIRST, SECOND], "used"),
        ([9_000_000, 4_000], LONG, [FIRST, SECOND], "unused by scheduler"),
        ([9_000_000, 4_000], LONG, [FIRST], "not validated"),
        ([9_000_000, 4_000], LONG, [], "unused by scheduler"),
        ([9_000_000, 1_100], LONG, [], "not validated"),
        ([9_000_000, 4_000], LONG, [FIRST, {"leg": 2, "opened_s": 3.9}], "over first"),
        ([9_000_000, 4_000], LONG, [FIRST, SECOND | {"closed_s": 1.5}], "given up"),
        ([9_000_000, 4_000], LONG, [FIRST, SECOND | {"closed_s": 3.9}], "unused by scheduler"),
        (
            [9_000_000, 4_000],
            LONG,
            [FIRST, SECOND | {"closed_s": 1.5}, {"leg": 2, "opened_s": 2.5}],
            "unused by scheduler",
        ),
    ],
)
def test_a_run_fails_only_where_its_transport_could_not_use_a_path(
    legs: list[int], seconds: float, paths: list[dict[str, Any]], use: PathUse, tmp_path: Path
) -> None:
    result = judged(tmp_path, legs, seconds, *paths)
    assert result.details["path_use"] == {"1": "used", "2": use}
    assert result.status == ("failed" if use in ("not validated", "given up") else "ok")


@pytest.mark.parametrize(
    ("leg", "seconds", "use"),
    [
        ({"delay_ms": 10}, 0.5, "not validated"),
        ({"delay_ms": 300}, 0.5, "over first"),
        ({"downlink": LOSSY}, 0.5, "over first"),  # a handshake may have to be sent again
        ({"downlink": LOSSY}, 2.0, "not validated"),
    ],
)
def test_the_time_that_a_path_needs_follows_from_its_round_trip_and_losses(
    leg: dict[str, Any], seconds: float, use: PathUse, tmp_path: Path
) -> None:
    result = judged(tmp_path, [1_055_158, 0], seconds, FIRST, legs=[LEG, LEG | leg])
    assert result.details["path_use"]["2"] == use


def test_a_delay_that_follows_a_looping_trace_is_read_to_the_flow_s_end(tmp_path: Path) -> None:
    trace = tmp_path / "drive.csv"
    trace.write_text("0,20\n1,5\n2,20\n", encoding="utf-8")
    down = {"trace": str(trace), "delay_curve": "power"}
    legs = [LEG, {"downlink": down, "uplink": {"rate_mbps": 20, "delay_ms": 10}}]
    result = judged(tmp_path, [9_000_000, 0], LONG, FIRST, legs=legs)
    assert result.details["path_use"]["2"] == "not validated"


def test_a_backup_is_none_that_was_left_unused(tmp_path: Path) -> None:
    paths = {"schedule": [{"at_s": 0.5, "backup": 2}]}
    result = judged(tmp_path, [9_000_000, 0], LONG, FIRST, paths=paths)
    assert (result.status, result.details["path_use"]["2"]) == ("ok", "not available")


def test_of_small_answers_a_path_that_was_never_there_fails_the_run(tmp_path: Path) -> None:
    asking = {"kind": "request-response", "count": 10}
    for paths, status in (([FIRST], "failed"), ([FIRST, SECOND], "ok")):
        assert judged(tmp_path, [9_000, 40], LONG, *paths, workload=asking).status == status


def run(directory: Path, transport: str, legs: list[dict[str, Any]], size_mb: float) -> RunResult:
    if reason := get_runner(transport).obstacle():
        pytest.skip(reason)
    fields = {"transport": transport, "mode": "multipath", "legs": legs, "clock": "virtual"}
    planned = Scenario.check(fields | {"workload": {"size_mb": size_mb}}, "test")
    return run_scenario(planned, directory / "run")


def legs_of(rates: tuple[float, float], delays: tuple[float, float]) -> list[dict[str, Any]]:
    return [
        {"downlink": {"rate_mbps": rate}, "delay_ms": delay, "jitter_ms": 0}
        for rate, delay in zip(rates, delays, strict=True)
    ]


ALIKE, UNLIKE = legs_of((20, 20), (10, 10)), legs_of((100, 2), (10, 300))


@pytest.mark.parametrize(
    ("legs", "size_mb", "goodput_mbps", "use"),
    [
        (ALIKE, 0.01, 1.52, "over first"),
        (ALIKE, 0.06, 5.44, "used"),
        (UNLIKE, 1, 36.2, "over first"),
    ],
)
def test_a_transfer_that_is_over_before_its_second_path_is_right(
    legs: list[dict[str, Any]], size_mb: float, goodput_mbps: float, use: PathUse, tmp_path: Path
) -> None:
    result = run(tmp_path, "mpquic-picoquic", legs, size_mb)
    assert result.goodput_mbps == pytest.approx(goodput_mbps, rel=0.03)
    assert result.details["path_use"] == {"1": "used", "2": use}


@pytest.mark.parametrize("transport", ["mpquic-picoquic", pytest.param("mptcp", marks=needs_guest)])
def test_a_transport_that_falls_back_to_one_path_has_failed(transport: str, tmp_path: Path) -> None:
    mute = LEG | {"uplink": {"rate_mbps": 20, "loss_percent": 100}}
    result = run(tmp_path, transport, [LEG, mute], 5)
    assert (result.status, result.goodput_mbps) == ("failed", None)
    assert result.reason.startswith("the path on leg 2 was never validated")
