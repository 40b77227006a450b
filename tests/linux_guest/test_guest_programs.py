"""Programs of this machine's file system in a guest: transport `command` on the virtual clock."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.linux_guest import guest
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from tests.linux_guest.guests import needs_guest, run, scenario

pytestmark = needs_guest
IPERF3 = [*("iperf3", "--client", "{server}", "--reverse", "--json", "--bytes", "500K")]
SHORT = {way: {"rate_mbps": 20, "delay_ms": 2} for way in ("downlink", "uplink")}
"""A leg of small delay: iperf3 waits busily for its first answers."""
RECEIVED = {"json_path": "end.sum_received.bits_per_second", "scale": 1.0e-6, "unit": "Mbit/s"}


def programs(
    *client: str, legs: int | list[Any] = 1, fields: dict[str, Any] | None = None, **workload: Any
) -> Scenario:
    """A client's program, and what else the workload has."""
    return scenario(
        legs,
        transport="command",
        workload={"kind": "command", "client": list(client), **workload},
        **(fields or {}),
    )


def shell(script: str, **more: Any) -> Scenario:
    """The same of a client that is a shell."""
    return programs("sh", "-c", script, **more)


def refused(wanted: Scenario, directory: Path) -> str:
    """The reason of a run that fails."""
    result = run_scenario(wanted, directory)
    assert result.status == "failed"
    return result.reason


def output(directory: Path) -> list[str]:
    return (directory / "client.out").read_text().splitlines()


def iperf3(**fields: Any) -> Scenario:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    server = {"server": ["iperf3", "--server", "--one-off"], "server_ready": 5201}
    measures = {"received_mbps": RECEIVED}
    return programs(*IPERF3, legs=[SHORT, SHORT], fields=fields, measures=measures, **server)


def test_iperf3_of_this_machine_fills_both_legs_of_a_bearer(tmp_path: Path) -> None:
    bearer = {"mode": "dc", "pdcp": {"batch": 10, "ratio": [1, 1]}, "congestion_control": "reno"}
    result = run(iperf3(**bearer), tmp_path)
    assert 10 < result.details["received_mbps"] < 40
    assert result.details["units"] == {"received_mbps": "Mbit/s"}
    assert leg_bytes(result)[0] == pytest.approx(leg_bytes(result)[1], rel=0.1)
    assert '"sender_tcp_congestion":"reno"' in (tmp_path / "client.out").read_text().replace(
        "\t", ""
    )


def test_programs_have_the_virtual_time(tmp_path: Path) -> None:
    begun = time.monotonic()
    result = run(shell("sleep 100; date +%s.%N; sleep 100"), tmp_path)
    assert time.monotonic() - begun < 100
    assert output(tmp_path)[0].startswith("1700000101.0")
    assert result.completion_s == pytest.approx(200, abs=0.01)


def test_any_protocol_takes_the_leg_of_the_address_that_a_program_binds(tmp_path: Path) -> None:
    ping = "ping -c 3 -i 0.2 -q -I $MINITOPO_DC_LEG_2 {server}"
    measures = {"rtt_ms_mean": {"regex": "= [^/]+/([^/]+)/", "unit": "ms"}}
    result = run(shell(ping, legs=2, fields={"mode": "dc"}, measures=measures), tmp_path)
    assert result.details["rtt_ms_mean"] == pytest.approx(20, abs=2)
    assert leg_bytes(result) == [0, 3 * 84]


def test_a_program_may_write_to_the_run_s_directory_only(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    tries = f"echo 7 > {{run}}/mine; echo 8 > {elsewhere} || echo no; echo 9 > $TMPDIR/x && id -u"
    run(shell(tries), tmp_path / "run")
    assert (tmp_path / "run/mine").read_text() == "7\n"
    assert not elsewhere.exists()
    assert output(tmp_path / "run") == ["no", "0"]
    assert "Read-only file system" in (tmp_path / "run/client.log").read_text()


@pytest.mark.parametrize(
    ("server", "port", "reason"),
    [
        ("sleep 2; exit 4", None, "server ended with exit code 4 during the transfer"),
        ("exit 4", None, "server ended with exit code 4 before it listened"),
        ("sleep 100", 80, "server did not listen within 30 s"),
    ],
)
def test_a_server_that_fails_ends_the_run(
    tmp_path: Path, server: str, port: int | None, reason: str
) -> None:
    wanted = shell("sleep 9; exit 5", server=["sh", "-c", server], server_ready=port)
    assert refused(wanted, tmp_path).startswith(reason)


NO_SETTING = {"virtual": {"sysctl": {"net.ipv4.no_such_setting": "1"}}}


@pytest.mark.parametrize(
    ("script", "fields", "reason"),
    [
        ("echo how sad >&2; exit 3", {}, "client ended with exit code 3: how sad"),
        ("kill -9 $$", {}, "client was ended by SIGKILL"),
        ("true", NO_SETTING, "net/ipv4/no_such_setting: No such file"),
    ],
)
def test_a_client_or_a_setting_that_fails_says_why(
    tmp_path: Path, script: str, fields: dict[str, Any], reason: str
) -> None:
    assert reason in refused(shell(script, fields=fields), tmp_path)


def test_kernel_settings_are_those_of_the_scenario(tmp_path: Path) -> None:
    settings = {"net.ipv4.tcp_rmem": "4096 87380 300000"}
    show = "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/mptcp/available_schedulers"
    run(shell(show, fields={"virtual": {"sysctl": settings}}), tmp_path)
    assert output(tmp_path) == ["4096\t87380\t300000", "default"]


def test_a_server_that_does_not_end_is_killed(tmp_path: Path) -> None:
    server = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
    result = run(shell("sleep 1", server=server), tmp_path)
    assert result.completion_s == pytest.approx(1, abs=0.01)


def test_a_program_that_computes_for_ever_ends_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "PATIENCE_S", 2.0)
    reason = refused(shell("while :; do :; done"), tmp_path)
    assert "the guest kernel hangs: its programs have computed for 2 s at one moment" in reason


def test_who_looks_at_the_clock_until_it_has_changed_lets_time_pass(tmp_path: Path) -> None:
    waits = "import time\nend = time.monotonic() + 0.003\nwhile time.monotonic() < end: pass"
    result = run(programs("{python}", "-Sc", waits), tmp_path)
    assert result.completion_s == pytest.approx(0.003, abs=0.001)


def leg_bytes(result: RunResult) -> list[int]:
    assert result.leg_bytes is not None
    return result.leg_bytes
