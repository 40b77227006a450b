"""What is refused before a run begins, and that the error says what to write instead."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.kept_scenario import run_id
from minitopo_dc.runs.check import (
    TransportLimitError,
    check_fields,
    check_rows,
    check_scenario,
    obstacle_here,
)
from minitopo_dc.scenario import Clock, Scenario, resolve_scenario
from minitopo_dc.trace import TraceError

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
REQUESTS: dict[str, Any] = {"workload": "request-response"}
ICMP: dict[str, Any] = {"transport": "icmp", "workload": "ping"}
COMMAND: dict[str, Any] = {
    "transport": "command",
    "congestion_control": "reno",  # every kernel lets hosts have it by default
    "workload": {"kind": "command", "client": ["ping", "{server}"]},
}
MULTIPATH: dict[str, Any] = {"transport": "mptcp", "mode": "multipath"}
SC = {"mode": "sc"}
VEGAS = {"congestion_control": "vegas"}
NO_TRANSPORT = "ping is a workload: write transport: icmp, workload: ping"
NO_CONTROL = "vegas; allowed: reno, cubic, bbr"


def scenario(**fields: Any) -> Scenario:
    values: dict[str, Any] = {"transport": "quic", "mode": "sc", "legs": [LEG, LEG]}
    return Scenario.check(values | fields, "test")


def flows(*given: dict[str, Any]) -> dict[str, Any]:
    return {"mode": "flows", "flows": list(given)}


def command(*words: str) -> dict[str, Any]:
    return COMMAND | {"workload": {"kind": "command", "client": words}}


@pytest.mark.parametrize(
    ("fields", "transports"),
    [
        ({}, ["quic"]),
        (REQUESTS, ["quic"]),
        (REQUESTS | {"mode": "dc-duplicate", "transport": "tcp"}, ["tcp"]),
        (REQUESTS | MULTIPATH, ["mptcp"]),
        (ICMP, ["icmp"]),
        *((COMMAND | {"mode": mode}, ["command"]) for mode in ("sc", "dc", "dc-duplicate")),
        (COMMAND | {"mode": "multipath"}, ["command"]),
        (
            flows({"mode": "dc"}, {"mode": "sc", "transport": "tcp"} | REQUESTS),
            ["quic", "tcp"],
        ),
    ],
)
def test_what_can_be_run_is_accepted(fields: dict[str, Any], transports: list[str]) -> None:
    wanted = scenario(**fields)
    check_fields(wanted)
    assert [flow.transport for flow in wanted.resolved_flows] == transports


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"transport": "ping"}, f"transport: {NO_TRANSPORT}"),
        (flows(SC | {"transport": "ping"}), f"flows.0.transport: {NO_TRANSPORT}"),
        (
            {"workload": "ping"},
            "workload: transport quic does not carry workload ping; allowed: do",
        ),
        (
            {"transport": "icmp"},
            "workload: transport icmp does not carry workload download; allowed: ping",
        ),
        (
            REQUESTS | {"transport": "quic-ngtcp2"},
            "workload: transport quic-ngtcp2 does not carry workload request-response; allowed: do",
        ),
        (
            flows({"mode": "dc"}, SC | {"workload": "ping"}),
            "flows.1.workload: transport quic does not carry workload ping; allowed: download, ",
        ),
        (VEGAS, f"congestion_control: {NO_CONTROL}"),
        (
            flows(SC, SC | {"congestion_control": "vegas"}),
            f"flows.1.congestion_control: {NO_CONTROL}",
        ),
        (
            {"mode": "multipath"},
            "mode multipath: transport quic allows sc, dc, dc-duplicate, atsss, flows",
        ),
        (MULTIPATH | {"mode": "dc"}, "mode dc: transport mptcp allows multipath"),
        (command("x", "{leg_3}"), "workload: {leg_3}: no such leg; allowed: 1 to 2"),
        (
            COMMAND | flows(SC),
            "flows.0.transport: the programs of command choose their ports themselves; allowed: a "
            "scenario of its own, with mode sc or dc or dc-duplicate or atsss or multipath",
        ),
        (
            COMMAND | {"mode": "multipath", "paths": {"initial": [1]}},
            "paths: transport command has a path on every leg from the beginning to the end; ",
        ),
        ({"options": {"speed": 1}}, "options: runner quic: speed: unknown field; known: "),
        *(
            (
                ICMP | fields,
                f"{where}: transport icmp allows sc (it uses every leg), and no flows beside it",
            )
            for fields, where in (
                ({"mode": "dc"}, "mode dc"),
                ({"mode": "multipath"}, "mode multipath"),
                (flows({"mode": "sc"}), "flows.0.mode sc"),
            )
        ),
    ],
)
def test_what_a_transport_cannot_do_is_refused_with_what_is_allowed(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        check_fields(scenario(**fields))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (REQUESTS | {"clock": "virtual"}, None),
        ({"congestion_control": "bbr"}, "runner quic has no bbr (choose reno or cubic)"),
        (
            flows(SC, SC | {"congestion_control": "bbr"}),
            "runner quic has no bbr (choose reno or cubic)",
        ),
        (
            command("no-such-program"),
            "workload.client: no program no-such-program on this machine",
        ),
    ],
)
def test_what_only_others_have_makes_a_run_unsupported(
    fields: dict[str, Any], reason: str | None
) -> None:
    wanted = scenario(**fields)
    check_fields(wanted)
    assert obstacle_here(wanted) == reason


def test_a_transport_without_a_virtual_clock_makes_the_run_unsupported() -> None:
    wanted = scenario(clock="virtual", **ICMP)
    check_fields(wanted)
    reason = obstacle_here(wanted) or ""
    assert reason.startswith("transport icmp needs the real clock (Linux, root, Mininet); ")
    able = reason.rpartition("the virtual clock has ")[2].split(", ")
    assert {"tcp", "quic", "quic-ngtcp2", "mptcp", "mpquic-picoquic", "command"} <= set(able)
    assert "icmp" not in able


@pytest.mark.parametrize("fields", [REQUESTS | {"transport": "tcp"}, REQUESTS | MULTIPATH, COMMAND])
def test_without_a_guest_the_kernel_s_transports_are_unsupported_there(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.extension._existing", lambda *_: iter(()))
    wanted = scenario(clock="virtual", **fields)
    check_fields(wanted)
    assert obstacle_here(wanted) == (
        "the guest kernel is not built (get it: minitopo-dc build linux)"
    )


@pytest.mark.parametrize(
    ("clock", "fields"),
    [
        ("real", {"transport": "tcp"}),
        ("real", {"transport": "quic"}),
        ("virtual", {"transport": "quic"}),
        ("virtual", MULTIPATH | {"transport": "mpquic-picoquic"}),
    ],
)
def test_key_frames_that_cannot_be_marked_make_a_run_unsupported(
    clock: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.runners.sans_io.runner.StackRunner.obstacle", lambda _: None)
    call = {"kind": "realtime", "delivery": "stream", "key_frame_dscp": 46}
    wanted = scenario(clock=clock, workload=call, **fields)
    check_fields(wanted)
    assert obstacle_here(wanted) == (
        f"key_frame_dscp: transport {fields['transport']} has one connection for all frames of a "
        "call, and its packets do not tell which are key frames; a second one has quic-picoquic, "
        "quic-noq"
    )


def test_fields_of_the_other_clock_are_left_out_of_the_run_and_of_its_identity() -> None:
    own: dict[Clock, dict[str, Any]] = {
        "virtual": {"virtual": {"cpu_us_per_packet": 1}},
        "real": {"real": {"capture": ["client"], "sysctl": {"net.ipv4.tcp_rmem": "1"}}},
    }
    for clock, other in itertools.permutations(own):
        alone = scenario(clock=clock, **own[clock])
        file = alone.evolve(**own[other])
        check_fields(file)
        assert resolve_scenario(file) == alone
        assert run_id(file) == run_id(alone) != run_id(scenario(clock=clock))


@pytest.mark.parametrize("backend", ["user", "kernel"])
def test_the_virtual_clock_has_legs_of_its_own_whatever_the_backend(backend: str) -> None:
    check_fields(scenario(clock="virtual", real={"backend": backend}))


def test_mptcp_has_no_more_paths_than_the_kernel_lets_it_have() -> None:
    check_fields(scenario(**MULTIPATH | {"legs": [LEG] * 9}))
    with pytest.raises(SettingsError, match=r"paths: .* 10 .*mptcp.* 9"):
        check_fields(scenario(**MULTIPATH | {"legs": [LEG] * 10}))


def test_beside_other_runs_a_limit_of_one_transport_is_no_mistake() -> None:
    many = [LEG] * 10
    beyond, within = scenario(**MULTIPATH | {"legs": many}), scenario(mode="sc", legs=many)
    check_rows([beyond, within])
    assert obstacle_here(beyond) == (
        "paths: on 10 legs; transport mptcp allows 9 at most: leave legs out of the schedule"
    )
    with pytest.raises(TransportLimitError, match=r"mptcp.* 9"):
        check_rows([beyond, beyond])
    with pytest.raises(SettingsError, match="congestion_control: vegas"):
        check_rows([beyond, scenario(mode="sc", legs=many, congestion_control="vegas")])


def test_without_the_kernel_s_queues_its_legs_are_unsupported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from minitopo_dc.real import run as real

    leg = {"downlink": {"rate_mbps": 9}, "jitter_ms": 0}
    wanted = scenario(mode="sc", legs=[leg, leg], real={"backend": "kernel"})
    for why, reason in (("", None), ("No such file", "real.backend: kernel: sch_netem: No such")):
        found = {"sch_tbf": "", "sch_netem": why}
        monkeypatch.setattr(real, "probe_kernel", lambda found=found: found)
        assert (real.machine_obstacle(wanted) or "").startswith(reason or "")
        assert bool(real.machine_obstacle(wanted)) is bool(reason)


def test_traces_are_read_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time_s,rate_mbps\n0,fast\n")
    wanted = scenario(legs=[{"downlink": {"trace": str(tmp_path / "trace.csv")}}])
    check_fields(wanted)
    with pytest.raises(TraceError, match=r"trace\.csv:2"):
        check_scenario(wanted)
