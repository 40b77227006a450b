"""QUIC stacks on the virtual clock: paths, how they start, come and go; determinism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.quic.noq import NOQ
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.exchange import content_sha256
from tests.linux_guest.guests import needs_guest
from tests.quic.extension import each_stack, needs_noq, needs_picoquic
from tests.virtual.path_scripts import random_scenario, run_script
from tests.virtual.scenarios import leg, rows, scenario

CONTROLS = ("newreno", "cubic", "bbr1", "fast")


def mp(stack: str) -> dict[str, Any]:
    return {"transport": f"mpquic-{stack}", "mode": "multipath"}


def sp(stack: str) -> dict[str, Any]:
    return {"transport": f"quic-{stack}", "mode": "sc"}


def attempt(directory: Path, stack: str = "picoquic", **fields: Any) -> RunResult:
    """Run a scenario of multipath unless another mode is given."""
    wanted = scenario(**{**mp(stack), **fields})
    check_scenario(wanted)
    return run_virtual(wanted, directory / "run")


def run(directory: Path, stack: str = "picoquic", **fields: Any) -> RunResult:
    """Run one that must succeed."""
    result = attempt(directory, stack, **fields)
    assert result.status == "ok", result.reason
    return result


def goodput(directory: Path, stack: str, **fields: Any) -> float:
    """In Mbit/s."""
    found = run(directory, stack, **fields).goodput_mbps
    assert found is not None
    return found


def carried(directory: Path, leg: int, begin_s: float, end_s: float) -> int:
    """Bytes that the paths of a leg sent within a time."""
    counts: dict[str, list[int]] = {}
    for row in rows(directory / "run/paths.csv"):
        if int(row["leg"]) == leg and begin_s <= float(row["time_s"]) <= end_s:
            counts.setdefault(row["path"], []).append(int(row["bytes_sent"]))
    return sum(each[-1] - each[0] for each in counts.values())


@each_stack
def test_two_paths_have_nearly_the_goodput_of_both_legs(tmp_path: Path, stack: str) -> None:
    one = goodput(tmp_path / "1", stack, **sp(stack), workload={"size_mb": 10})
    both = goodput(tmp_path / "2", stack, workload={"size_mb": 10})
    assert 17 < one < 20
    assert 1.85 * one < both < 40


def test_more_legs_than_picoquic_has_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"paths: .*9 .*mpquic-picoquic .*8"):
        attempt(tmp_path, legs=[leg()] * 9)


@each_stack
def test_small_answers_are_not_the_bandwidth_of_a_path(tmp_path: Path, stack: str) -> None:
    workload = {"kind": "under-load", "idle_s": 1, "warm_up_s": 0.5, "duration_s": 2.5}
    fields = {"congestion_control": "bbr3" if stack == "noq" else "bbr", "workload": workload}
    result = run(tmp_path, stack, **sp(stack), **fields)
    assert result.details["load_mbps"] > 15  # of 20


@each_stack
def test_over_ipv6_a_path_a_leg_carries_data(tmp_path: Path, stack: str) -> None:
    result = run(tmp_path, stack, ip_version=6)
    assert min(path["bytes_sent"] for path in result.details["paths"]) > 100_000


@pytest.mark.parametrize(
    ("stack", "control"),
    [
        *(pytest.param("picoquic", control, marks=needs_picoquic) for control in CONTROLS),
        *(pytest.param("noq", control, marks=needs_noq) for control in NOQ.congestion_controls),
    ],
)
def test_each_congestion_control_fills_both_legs(stack: str, control: str, tmp_path: Path) -> None:
    found = goodput(tmp_path, stack, congestion_control=control, workload={"size_mb": 10})
    assert found > 30


@each_stack
def test_paths_open_and_close_as_scheduled(tmp_path: Path, stack: str) -> None:
    changes = [{"at_s": 1, "open": 2}, {"at_s": 2, "abandon": 1}, {"at_s": 3, "open": 1}]
    paths = {"initial": [1], "schedule": changes}
    result = run(tmp_path, stack, workload={"duration_s": 4}, paths=paths)
    second_leg = [carried(tmp_path, 2, begin, begin + 0.8) for begin in (0.1, 1.1, 2.1, 3.1)]
    first_leg = [carried(tmp_path, 1, begin, begin + 0.8) for begin in (0.1, 1.1, 2.1, 3.2)]
    full = 0.8 * 20e6 / 8
    assert second_leg[0] == 0
    assert min(second_leg[2:]) > 0.8 * full
    assert first_leg[2] < 0.05 * full
    assert min(first_leg[1], first_leg[3]) > 0.4 * full
    (last,) = [row for row in rows(tmp_path / "run/paths.csv") if row["state"] == "closed"]
    assert last["leg"] == "1"
    assert 2.0 < float(last["time_s"]) <= 2.2
    closed = [path["leg"] for path in result.details["paths"] if path["closed_s"] is not None]
    assert closed == [1]


@each_stack
def test_a_backup_waits_for_the_other_path_to_fail(tmp_path: Path, stack: str) -> None:
    down = leg(outages=[[1.5, 10]])
    paths = {"schedule": [{"at_s": 0, "backup": 2}]}
    run(tmp_path, stack, legs=[down, leg()], workload={"duration_s": 4}, paths=paths)
    full = 20e6 / 8
    assert carried(tmp_path, 2, 0.4, 1.4) < 0.05 * full
    assert carried(tmp_path, 2, 3, 4) > 0.8 * full


@each_stack
@pytest.mark.parametrize("seconds", [2, 5])
def test_a_leg_that_was_down_is_used_again(seconds: int, tmp_path: Path, stack: str) -> None:
    down = leg(outages=[[1, 1 + seconds]])
    result = run(tmp_path, stack, legs=[down, leg()], workload={"duration_s": 5 + seconds})
    assert result.goodput_mbps is not None
    assert carried(tmp_path, 1, 2.5 + seconds, 5 + seconds) > 0.5 * 2.5 * 20e6 / 8


@each_stack
def test_a_connection_that_stalls_has_failed_and_says_why(tmp_path: Path, stack: str) -> None:
    down = leg(outages=[[0.5, 1000]])
    result = attempt(tmp_path, stack, legs=[down, down], workload={"size_mb": 10})
    assert result.status == "failed"
    assert result.goodput_mbps is None
    assert "closed by this end" in result.reason


@each_stack
def test_requests_are_answered_over_two_paths(tmp_path: Path, stack: str) -> None:
    workload = {"kind": "request-response", "duration_s": 2, "interval_s": 0.1}
    result = run(tmp_path, stack, workload=workload)
    answered = rows(tmp_path / "run/request-response.csv")
    assert len(answered) == 20
    assert all(15 < float(row["delay_ms"]) < 40 for row in answered)
    assert result.goodput_mbps is None


@each_stack
def test_dc_sc_and_multipath_share_the_legs(tmp_path: Path, stack: str) -> None:
    flows = [
        {"mode": "dc", "transport": f"quic-{stack}"},
        {"mode": "multipath"},
        {"mode": "sc", "leg": 1, "transport": "quic"},
    ]
    result = run(tmp_path, stack, mode="flows", flows=flows, workload={"duration_s": 2})
    each = [flow["goodput_mbps"] for flow in result.details["flows"]]
    assert min(each) > 1
    assert 25 < sum(each) < 40
    assert {row["flow"] for row in rows(tmp_path / "run/paths.csv")} == {"2"}
    bearers = {row["bearer"] for row in rows(tmp_path / "run/ue-receive.csv")}
    assert bearers == {"1", "5"}


@each_stack
def test_two_paths_are_recorded_at_each_interval(tmp_path: Path, stack: str) -> None:
    run(tmp_path, stack, statistics_ms=50, workload={"size_mb": 2})
    series = rows(tmp_path / "run/paths.csv")
    assert {row["leg"] for row in series} == {"1", "2"}
    assert {"0.1000", "0.1500", "0.2000"} <= {row["time_s"] for row in series}
    for path in ("0", "1"):
        sent = [int(row["bytes_sent"]) for row in series if row["path"] == path]
        assert sent == sorted(sent)


@each_stack
def test_a_busy_host_has_a_receive_buffer_a_path(tmp_path: Path, stack: str) -> None:
    fields = {"virtual": {"cpu_us_per_packet": 150}, "options": {"receive_buffer_bytes": 20_000}}
    result = run(tmp_path, stack, **fields, workload={"size_mb": 2})
    assert result.details["socket_drops"] > 0
    assert result.details["receive_buffer_bytes"] == 20_000


@each_stack
def test_without_the_extension_it_is_unsupported_and_says_what_to_do(
    tmp_path: Path, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("minitopo_dc.extension.checkout", lambda: None)
    monkeypatch.setattr("minitopo_dc.extension._LOADED", {})
    result = attempt(tmp_path, stack)
    assert result.status == "unsupported"
    assert f"minitopo-dc build {stack}" in result.reason


@needs_picoquic
@pytest.mark.parametrize("seed", [5585, 6228])
def test_acknowledgements_are_not_left_to_a_path_that_is_not_used(seed: int) -> None:
    """Scripts that stalled, with a backup or a failed path beside the one that was used."""
    assert run_script(seed).status == "ok"


@each_stack
@given(seed=st.integers(min_value=1, max_value=10**6))
@example(seed=153)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_scripts_of_paths_end_with_every_byte_or_a_reason(stack: str, seed: int) -> None:
    result = run_script(seed, stack)
    if result.status == "ok":
        assert result.details["bytes_received"] == random_scenario(seed).workload.size_bytes
    else:
        assert result.status == "failed"
        assert result.reason


NEAR = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 0}
FAR = NEAR | {"delay_ms": 300}
DEAD = NEAR | {"outages": [[0, 1000]]}
ATTEMPTS = {"attempt_delay_ms": 250}
ABANDON = [{"at_s": 1, "abandon": 1}]


def start(directory: Path, stack: str, *legs: dict[str, Any], **paths: Any) -> RunResult:
    return attempt(directory, stack, legs=legs, paths=paths or None)


def opened(result: RunResult) -> dict[int, float]:
    return {path["leg"]: path["opened_s"] for path in result.details["paths"]}


@each_stack
def test_a_dead_first_leg_costs_the_delay_of_the_next_attempt(tmp_path: Path, stack: str) -> None:
    result = start(tmp_path, stack, DEAD, NEAR, attempt_delay_ms=250)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["sha256"] == content_sha256(1_000_000)
    # Two round trips of 20 ms, and what waits in front of 10 Mbit/s.
    assert 0.27 < result.details["handshake_s"] < 0.31
    assert [*opened(result)] == [2]


@each_stack
def test_legs_are_tried_in_order(tmp_path: Path, stack: str) -> None:
    result = start(tmp_path, stack, DEAD, DEAD, NEAR, attempt_delay_ms=100)
    assert 0.22 < result.details["handshake_s"] < 0.26
    assert [*opened(result)] == [3]


@each_stack
def test_without_attempts_a_dead_first_leg_is_the_end(tmp_path: Path, stack: str) -> None:
    result = start(tmp_path, stack, DEAD, NEAR)
    assert (result.status, result.completion_s) == ("failed", None)
    assert "idle timeout" in result.reason


@each_stack
def test_the_server_answers_on_the_attempt_that_the_client_keeps(
    tmp_path: Path, stack: str
) -> None:
    # The server has seen the first attempt, after 300 ms, when the second one is ready.
    result = start(tmp_path, stack, FAR, NEAR, attempt_delay_ms=250)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["sha256"] == content_sha256(1_000_000)
    assert result.details["handshake_s"] < 0.31
    assert result.details["quic_version"] == 1


@each_stack
def test_a_leg_that_answers_in_time_gets_no_rival(tmp_path: Path, stack: str) -> None:
    patient, plain = (
        start(tmp_path / name, stack, NEAR, FAR, **paths)
        for name, paths in (("patient", {"attempt_delay_ms": 250}), ("plain", {}))
    )
    assert patient.completion_s == plain.completion_s
    assert patient.leg_bytes == plain.leg_bytes


@each_stack
def test_another_path_is_opened_after_so_many_bytes(tmp_path: Path, stack: str) -> None:
    at_once, late, never = (
        start(tmp_path / str(after_kb), stack, NEAR, NEAR, others_after_kb=after_kb)
        for after_kb in (0, 500, 5000)
    )
    # 500 kB take 0.2 s of one leg, and slow start.
    assert opened(at_once)[2] < 0.2 < opened(late)[2] < 0.5
    assert opened(never).keys() == {1}
    assert [late.status, never.status] == ["ok", "ok"]
    assert never.details["path_use"] == {"1": "used", "2": "over first"}


@pytest.mark.parametrize(
    ("transport", "mode", "paths", "words"),
    [
        ("mptcp", "multipath", {"others_after_kb": 9}, "allowed: mpquic-picoquic, mpquic-noq"),
        (
            *("mptcp", "multipath", {"attempt_delay_ms": 9, "schedule": ABANDON}),
            "attempt_delay_ms: transport mptcp has no schedule beside it",
        ),
        ("tcp", "sc", {"initial": [2, 1]}, "mode sc has one path"),
        (
            *("quic", "sc", ATTEMPTS),
            "transport quic has no such start; allowed: tcp, mptcp, mpquic-picoquic, mpquic-noq",
        ),
        ("tcp", "dc", ATTEMPTS, "mode dc has no paths"),
        ("mpquic-picoquic", "multipath", {"attempt_delay_ms": -1}, r"paths\.attempt_delay_ms"),
    ],
)
def test_a_start_that_a_transport_or_mode_lacks_is_refused(
    transport: str, mode: str, paths: dict[str, Any], words: str
) -> None:
    values = {"transport": transport, "mode": mode, "legs": [NEAR, NEAR], "paths": paths}
    clock = "real" if mode == "multipath" else "virtual"
    with pytest.raises(SettingsError, match=words):
        check_scenario(Scenario.check(values | {"clock": clock}, "test"))


@needs_guest
@pytest.mark.parametrize(("transport", "mode"), [("tcp", "sc"), ("mptcp", "atsss")])
def test_kernels_connect_over_the_leg_that_answers(
    transport: str, mode: str, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"transport": transport, "mode": mode, "legs": [DEAD, NEAR]}
    values |= {"clock": "virtual", "workload": {"size_mb": 0.1}, "paths": ATTEMPTS}
    result = run_virtual(Scenario.check(values, "test"), tmp_path)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["connect_s"] == pytest.approx(0.27, abs=0.001)  # one round trip behind
    assert result.leg_bytes is not None
    assert (result.leg_bytes[0], result.leg_bytes[1] > 100_000) == (0, True)


@each_stack
@pytest.mark.parametrize("several", [True, False])
def test_the_first_byte_is_counted_when_it_comes(
    tmp_path: Path, stack: str, *, several: bool
) -> None:
    way = mp(stack) if several else sp(stack) | {"mode": "dc"}
    fields = {**way, "workload": {"size_mb": 0.25}}
    result = run(tmp_path, **fields, legs=[leg(rate_mbps=20, delay_ms=50)] * 2)
    assert 0.2 < result.details["first_byte_s"] < 0.204


@each_stack
def test_runs_of_one_seed_are_the_same_to_the_byte(tmp_path: Path, stack: str) -> None:
    series = []
    for number, seed in enumerate((1, 1, 2)):
        jittery = leg(jitter_ms=5, loss_percent=1)
        run(tmp_path / str(number), stack, legs=[jittery] * 2, seed=seed)
        series.append((tmp_path / str(number) / "run/paths.csv").read_bytes())
    assert series[0] == series[1]
    assert series[0] != series[2]
