"""A client of MP-QUIC that tries one leg after the other, and opens other paths later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.content import content_sha256
from tests.linux_guest.guests import needs_guest
from tests.picoquic.extension import needs_picoquic

pytestmark = needs_picoquic
NEAR = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 0}
FAR = {"rate_mbps": 20, "delay_ms": 300, "jitter_ms": 0}
DEAD = NEAR | {"outages": [[0, 1000]]}


def run(directory: Path, *legs: dict[str, Any], size_mb: float = 1, **paths: Any) -> RunResult:
    values = {
        "transport": "mpquic-picoquic",
        "mode": "multipath",
        "clock": "virtual",
        "legs": legs,
        "workload": {"size_mb": size_mb},
        "paths": paths or None,
    }
    return run_virtual(Scenario.check(values, "test"), directory)


def opened(result: RunResult) -> dict[int, float]:
    return {path["leg"]: path["opened_s"] for path in result.details["paths"]}


def test_a_dead_first_leg_costs_the_delay_of_the_next_attempt(tmp_path: Path) -> None:
    result = run(tmp_path, DEAD, NEAR, attempt_delay_ms=250)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["sha256"] == content_sha256(1_000_000)
    # Two round trips of 20 ms, and what waits in front of 10 Mbit/s.
    assert 0.27 < result.details["handshake_s"] < 0.31
    assert [*opened(result)] == [2]


def test_legs_are_tried_in_order(tmp_path: Path) -> None:
    result = run(tmp_path, DEAD, DEAD, NEAR, attempt_delay_ms=100)
    assert 0.22 < result.details["handshake_s"] < 0.26
    assert [*opened(result)] == [3]


def test_without_attempts_a_dead_first_leg_is_the_end(tmp_path: Path) -> None:
    result = run(tmp_path, DEAD, NEAR)
    assert (result.status, result.completion_s) == ("failed", None)
    assert "idle timeout" in result.reason


def test_the_server_answers_on_the_attempt_that_the_client_keeps(tmp_path: Path) -> None:
    # The server has seen the first attempt, after 300 ms, when the second one is ready.
    result = run(tmp_path, FAR, NEAR, attempt_delay_ms=250)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["sha256"] == content_sha256(1_000_000)
    assert result.details["handshake_s"] < 0.31
    assert result.details["quic_version"] == 1


def test_a_leg_that_answers_in_time_gets_no_rival(tmp_path: Path) -> None:
    patient, plain = (
        run(tmp_path / name, NEAR, FAR, **paths)
        for name, paths in (("patient", {"attempt_delay_ms": 250}), ("plain", {}))
    )
    assert patient.completion_s == plain.completion_s
    assert patient.leg_bytes == plain.leg_bytes


def test_another_path_is_opened_after_so_many_bytes(tmp_path: Path) -> None:
    at_once, late, never = (
        run(tmp_path / str(after_kb), NEAR, NEAR, others_after_kb=after_kb)
        for after_kb in (0, 500, 5000)
    )
    # 500 kB take 0.2 s of one leg, and slow start.
    assert opened(at_once)[2] < 0.2 < opened(late)[2] < 0.5
    assert opened(never).keys() == {1}
    assert [late.status, never.status] == ["ok", "ok"]
    assert never.details["path_use"] == {"1": "used", "2": "over first"}


MULTIPATH = {"mode": "multipath", "clock": "real"}


@pytest.mark.parametrize(
    ("fields", "paths", "words"),
    [
        ({"transport": "mptcp"} | MULTIPATH, {"others_after_kb": 9}, "allowed: mpquic-picoquic"),
        (
            {"transport": "mpquic"} | MULTIPATH,
            {"others_after_kb": 9},
            "from the beginning to the end; with a schedule allowed",
        ),
        (
            {"transport": "mptcp"} | MULTIPATH,
            {"attempt_delay_ms": 9, "schedule": [{"at_s": 1, "abandon": 1}]},
            "attempt_delay_ms: transport mptcp has no schedule beside it",
        ),
        ({}, {"initial": [2, 1]}, "mode sc has one path"),
        (
            {"transport": "quic"},
            {"attempt_delay_ms": 250},
            "transport quic has no such start; allowed: tcp, mptcp, mpquic-picoquic",
        ),
        ({"mode": "dc"}, {"attempt_delay_ms": 250}, "mode dc has no paths"),
        (
            {"transport": "mpquic-picoquic", "mode": "multipath"},
            {"attempt_delay_ms": -1},
            r"paths\.attempt_delay_ms",
        ),
    ],
)
def test_a_start_that_a_transport_or_mode_lacks_is_refused(
    fields: dict[str, Any], paths: dict[str, Any], words: str
) -> None:
    values = {"transport": "tcp", "mode": "sc", "legs": [NEAR, NEAR], "clock": "virtual"}
    with pytest.raises(SettingsError, match=words):
        check_scenario(Scenario.check(values | fields | {"paths": paths}, "test"))


@needs_guest
@pytest.mark.parametrize(("transport", "mode"), [("tcp", "sc"), ("mptcp", "atsss")])
def test_kernels_connect_over_the_leg_that_answers(
    transport: str, mode: str, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"transport": transport, "mode": mode, "clock": "virtual"}
    values |= {"legs": [DEAD, NEAR], "workload": {"size_mb": 0.1}}
    values |= {"paths": {"attempt_delay_ms": 250}}
    result = run_virtual(Scenario.check(values, "test"), tmp_path)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["connect_s"] == pytest.approx(0.27, abs=0.001)  # one round trip behind
    assert result.leg_bytes is not None
    assert (result.leg_bytes[0], result.leg_bytes[1] > 100_000) == (0, True)
