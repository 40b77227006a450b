"""Several flows at once: what a scenario says of them, and what the elements are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.judge import blank_result, judge, ok_result
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.check import check_fields, check_real, runners_of, unsupported_reason
from minitopo_dc.runs.routers import client_legs, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
STEADY: dict[str, Any] = {"rate_mbps": 20, "jitter_ms": 0}
STILL: dict[str, Any] = {"downlink": STEADY, "uplink": STEADY}
BURSTY = STILL | {"downlink": STEADY | {"burst_loss": {"p": 0.1, "r": 0.1}}}
JITTERY = {"downlink": STEADY, "uplink": {"rate_mbps": 20, "jitter_ms": 1}}
KERNEL: dict[str, Any] = {"real": {"backend": "kernel"}, "legs": [JITTERY] * 2}
OPTIONS = {"max_datagram_bytes": 1280}


def scenario(*flows: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "flows", "legs": [LEG, LEG], "flows": list(flows)}
    return Scenario.check(values | fields, "test")


def test_what_a_flow_leaves_out_is_the_scenarios() -> None:
    wanted = scenario({"mode": "dc"}, options=OPTIONS, congestion_control="cubic")
    (flow,) = wanted.resolved_flows
    assert (flow.transport, flow.congestion_control, flow.options) == ("quic", "cubic", OPTIONS)


def test_a_flow_may_have_a_transport_of_its_own() -> None:
    own = {"mode": "sc", "transport": "tcp", "congestion_control": "bbr"}
    (flow,) = scenario(own, options=OPTIONS).resolved_flows
    assert (flow.transport, flow.congestion_control, flow.options) == ("tcp", "bbr", {})


def test_a_scenario_without_flows_is_one() -> None:
    alone = scenario(mode="sc", leg=2, options=OPTIONS)
    (flow,) = alone.resolved_flows
    assert (flow.mode, flow.leg, flow.transport, flow.options) == ("sc", 2, "quic", OPTIONS)


@pytest.mark.parametrize(
    ("flow", "fields", "words"),
    [
        ({"mode": "sc", "leg": 3}, {}, "flows.1.leg: 3 does not exist; allowed: 1 to 2"),
        (
            {"mode": "flows"},
            {},
            "flows.1.mode: .*'sc', 'dc', 'dc-duplicate', 'atsss' or 'multipath'",
        ),
        ({"mode": "sc", "transport": "sctp"}, {}, "flows.1.transport: sctp; allowed: tcp, quic"),
        ({"mode": "dc", "transport": "mptcp"}, {}, "flows.1.mode dc: .*mptcp allows multipath"),
        (
            {"mode": "multipath"},
            {},
            "flows.1.mode multipath: .*quic allows sc, dc, dc-duplicate, atsss$",
        ),
        ({"mode": "sc", "options": {"x": 1}}, {}, "flows.1.options: runner quic: x: unknown field"),
        (
            {"mode": "multipath", "transport": "mpquic"},
            {},
            "flows.1.transport: mpquic does not tell .*; allowed .*: mptcp, mpquic-picoquic$",
        ),
        ({"mode": "sc"}, {"transport": "sctp"}, "test: transport|^transport: sctp; allowed"),
        (
            {"mode": "sc"},
            KERNEL,
            "^legs.0.uplink: backend kernel has no jitter_ms without 'jitter: ",
        ),
        (
            {"mode": "sc"},
            KERNEL | {"legs": [STILL] * 2, "real": {"backend": "kernel", "capture": ["legs"]}},
            "real.capture: legs needs",
        ),
        (
            {"mode": "sc"},
            KERNEL | {"legs": [STILL] * 2, "real": {"backend": "kernel", "backhaul": [BURSTY]}},
            "^real.backhaul.0.downlink: backend kernel has no burst_loss; use backend: user",
        ),
    ],
)
def test_a_wrong_flow_is_named(flow: dict[str, Any], fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        wanted = scenario({"mode": "dc"}, flow, **fields)
        check_fields(wanted)


def test_opportunities_are_no_legs_of_the_kernel_s(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("1\n2\n")
    leg = STILL | {"downlink": {"trace": str(tmp_path / "trace"), "jitter_ms": 0}}
    alone = scenario(mode="sc", real={"backend": "kernel"}, legs=[STILL, leg])
    with pytest.raises(SettingsError, match=r"^legs.1.downlink: trace .*: backend kernel has rate"):
        check_real(alone)


def test_the_kernel_s_own_jitter_is_no_reason_to_refuse() -> None:
    own = STEADY | {"jitter_ms": 1, "jitter": "uniform", "reorder": True}
    check_real(
        scenario(mode="sc", real={"backend": "kernel"}, legs=[{"downlink": own, "uplink": own}])
    )


@pytest.fixture
def one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a transport need the same client address for all of its transfers."""
    kind = type(get_runner("quic-ngtcp2"))
    monkeypatch.setattr(kind, "one_client_address", True)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            {"mode": "dc"},
            {"mode": "sc", "leg": 2},
            "flows.1: transport quic-ngtcp2 .* flows.0 uses that of leg 1; "
            "allowed: mode sc with leg: 1, dc or dc-duplicate$",
        ),
        (
            {"mode": "sc", "leg": 2},
            {"mode": "dc"},
            r"flows.1: .*mode sc with leg: 2, dc or dc-duplicate with pdcp.legs: \[2, ...\]$",
        ),
    ],
)
@pytest.mark.usefixtures("one_address")
def test_a_transport_of_one_client_address_is_refused_on_two_legs(
    first: dict[str, Any], second: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        check_fields(scenario(first, second, transport="quic-ngtcp2", clock="real"))


def test_an_ok_run_of_a_size_has_the_size_that_a_failed_one_has(tmp_path: Path) -> None:
    wanted = scenario({"mode": "dc"}, {"mode": "sc"}, workload={"size_mb": 1})
    blank = blank_result(wanted, tmp_path)
    measured = [Measurement(1_000_000, 4.0), Measurement(1_000_000, 5.0)]
    assert ok_result(blank, wanted, measured, [1, 1]).size_bytes == blank.size_bytes


def test_the_share_is_of_what_the_legs_had_while_the_clients_ran(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,100\n1,8\n3,100\n4,100\n")
    wanted = scenario(
        {"mode": "sc"},
        {"mode": "sc"},
        legs=[{"downlink": {"trace": str(trace)}}],
        workload={"size_mb": 1},
    )
    # The first one from 1.0 to 2.5 s, the second one from 1.5 to 3.0 s: 16 Mbit.
    measured = [
        Measurement(500_000, 1.5, {"started_s": 1.0}),
        Measurement(500_000, 1.5, {"started_s": 1.5}),
    ]
    blank = blank_result(wanted, tmp_path)
    assert ok_result(blank, wanted, measured, [1]).capacity_share == pytest.approx(0.5)


def test_the_real_clock_takes_flows_of_several_transports_for_a_time() -> None:
    flows = ({"mode": "dc"}, {"mode": "sc", "transport": "tcp"})
    wanted = scenario(
        *flows,
        {"mode": "multipath", "transport": "mptcp"},
        workload={"duration_s": 3},
    )
    assert [runner.name for runner in runners_of(check_fields(wanted))] == ["quic", "tcp", "mptcp"]


def test_a_client_that_cannot_stop_at_a_time_is_refused() -> None:
    alone = scenario(mode="multipath", transport="mpquic", workload={"duration_s": 3})
    with pytest.raises(SettingsError, match=r"duration_s: .*mpquic .*allowed: tcp, quic, quic-"):
        check_fields(alone)


def test_what_one_flow_lacks_makes_the_run_unsupported() -> None:
    wanted = scenario({"mode": "sc"}, {"mode": "sc", "congestion_control": "bbr"})
    reason = unsupported_reason(wanted, runners_of(wanted))
    assert reason == "runner quic has no bbr (choose reno or cubic)"


def test_a_bearer_takes_the_protocol_and_the_port_of_its_flow(tmp_path: Path) -> None:
    wanted = scenario(
        {"mode": "dc"}, {"mode": "sc", "leg": 2, "transport": "tcp"}, split_uplink=True
    )
    gnb, ue = gnb_settings(wanted, tmp_path), ue_settings(wanted, tmp_path)
    down = [(each.bearer, each.match.protocol, each.match.source_port) for each in gnb.transmit]
    up = [(each.bearer, each.match.protocol, each.match.destination_port) for each in ue.transmit]
    assert down == [(1, "udp", 4433), (3, "tcp", 4434)]
    assert up == [(2, "udp", 4433), (4, "tcp", 4434)]
    assert [each.legs for each in gnb.transmit] == [(1, 2), (2,)]


def test_a_flow_s_uplink_enters_by_the_interface_of_its_client_address(tmp_path: Path) -> None:
    flows = ({"mode": "dc"}, {"mode": "sc", "leg": 2}, {"mode": "sc", "leg": 1})
    wanted = scenario(*flows, split_uplink=True)
    gnb, ue = gnb_settings(wanted, tmp_path), ue_settings(wanted, tmp_path)
    assert [each.interface for each in ue.transmit] == ["ue-lan1", "ue-lan2", "ue-lan1"]
    assert {each.interface for each in gnb.transmit} == {"gnb-core"}


def test_a_flow_that_its_transport_splits_has_no_bearer(tmp_path: Path) -> None:
    multipath = {"mode": "multipath", "transport": "mptcp"}
    wanted = scenario(multipath, {"mode": "dc"})
    assert [each.bearer for each in ue_settings(wanted, tmp_path).receive] == [3]
    assert client_legs(wanted, wanted.resolved_flows[0]) == (1, 2)


def test_a_result_has_each_flow_s_goodput_over_its_own_time(tmp_path: Path) -> None:
    wanted = scenario({"mode": "dc"}, {"mode": "sc", "leg": 2, "transport": "tcp"})
    measured = [
        Measurement(1_000_000, 4.0, {"handshake_s": 0.1, "completion_s": None}),
        Measurement(500_000, 1.0, {"retransmissions": 3}),
    ]
    blank = blank_result(wanted, tmp_path)
    result = ok_result(blank, wanted, measured, leg_bytes=[900_000, 700_000])
    assert (result.size_bytes, result.completion_s, result.goodput_mbps) == (1_500_000, 4.0, 3.0)
    first, second = result.details["flows"]
    assert (first["mode"], first["goodput_mbps"], first["completion_s"]) == ("dc", 2.0, 4.0)
    assert (second["transport"], second["goodput_mbps"], second["leg"]) == ("tcp", 4.0, 2)
    assert second["retransmissions"] == 3
    assert result.details["jain_index"] == pytest.approx(36 / 40)


@pytest.mark.parametrize(
    ("sent", "use"),
    [
        ((900_000,), "not validated"),
        ((900_000, 1_448), "unused by scheduler"),
        ((900_000, 8_000, 8_000), "used"),
    ],
)
def test_a_multipath_flow_needs_a_path_on_each_leg_and_may_leave_it_unused(
    sent: tuple[int, ...], use: str, tmp_path: Path
) -> None:
    wanted = scenario({"mode": "multipath", "transport": "mptcp"}, {"mode": "sc"})
    paths = [{"leg": leg, "bytes_sent": n} for leg, n in zip((1, 2, 2), sent, strict=False)]
    measured = [Measurement(1_000_000, 1.0, {"paths": paths}), Measurement(1_000_000, 1.0)]
    result = judge(blank_result(wanted, tmp_path), wanted, measured, [10**6, 10**6])
    if use == "not validated":
        assert result.reason.startswith("flow-1: the path on leg 2 was never validated")
    else:
        assert result.details["flows"][0]["path_use"] == {"1": "used", "2": use}
