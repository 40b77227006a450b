"""Several flows at once: what a scenario says of them, and what the elements are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.results.judge import blank_result, judge, ok_result
from minitopo_dc.runners.base import get_runner
from minitopo_dc.runs.check import check_fields
from minitopo_dc.runs.element_settings import client_legs, router_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Measurement

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
OPTIONS = {"max_datagram_bytes": 1280}


def scenario(*flows: dict[str, Any], **fields: Any) -> Scenario:
    values = {"transport": "quic", "mode": "flows", "legs": [LEG, LEG], "flows": list(flows)}
    return Scenario.check(values | fields, "test")


def test_what_a_flow_leaves_out_is_the_scenarios_but_options_of_another_transport() -> None:
    own = {"mode": "sc", "transport": "tcp", "congestion_control": "bbr"}
    wanted = scenario({"mode": "dc"}, own, options=OPTIONS, congestion_control="cubic")
    first, second = wanted.resolved_flows
    assert (first.transport, first.congestion_control, first.options) == ("quic", "cubic", OPTIONS)
    assert (second.transport, second.congestion_control, second.options) == ("tcp", "bbr", {})
    (alone,) = scenario(mode="sc", leg=2, options=OPTIONS).resolved_flows
    assert (alone.mode, alone.leg, alone.transport, alone.options) == ("sc", 2, "quic", OPTIONS)


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ({"mode": "sc", "leg": 3}, "flows.1.leg: 3 does not exist; allowed: 1 to 2"),
        ({"mode": "flows"}, "flows.1.mode: .*'sc', 'dc', 'dc-duplicate', 'atsss' or 'multipath'"),
        ({"mode": "sc", "transport": "sctp"}, "flows.1.transport: sctp; allowed: tcp, quic"),
        ({"mode": "dc", "transport": "mptcp"}, "flows.1.mode dc: .*mptcp allows multipath"),
        ({"mode": "multipath"}, "flows.1.mode .*quic allows sc, dc, dc-duplicate, atsss$"),
        ({"mode": "sc", "options": {"x": 1}}, "flows.1.options: runner quic: x: unknown field"),
    ],
)
def test_a_wrong_flow_is_named(flow: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        check_fields(scenario({"mode": "dc"}, flow))


def test_a_transport_of_one_client_address_is_refused_on_two_legs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(get_runner("quic-ngtcp2")), "one_client_address", True)
    first, second = {"mode": "dc"}, {"mode": "sc", "leg": 2}
    fields = {"transport": "quic-ngtcp2", "clock": "real"}
    words = "uses that of leg 1; allowed: mode sc with leg: 1, dc or dc-duplicate$"
    with pytest.raises(SettingsError, match=f"flows.1: transport quic-ngtcp2 .* flows.0 {words}"):
        check_fields(scenario(first, second, **fields))
    words = r"mode sc with leg: 2, dc or dc-duplicate with pdcp.legs: \[2, ...\]$"
    with pytest.raises(SettingsError, match=f"flows.1: .*{words}"):
        check_fields(scenario(second, first, **fields))


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


def test_a_bearer_takes_protocol_port_and_interface_of_its_flow_if_that_has_one(
    tmp_path: Path,
) -> None:
    second = {"mode": "sc", "leg": 2, "transport": "tcp"}
    third = {"mode": "multipath", "transport": "mptcp"}
    fields: dict[str, Any] = {"split_uplink": True, "workload": {"duration_s": 3}}
    wanted = scenario({"mode": "dc"}, second, third, **fields)
    assert [flow.transport for flow in check_fields(wanted).resolved_flows] == [
        "quic",
        "tcp",
        "mptcp",
    ]
    assert client_legs(wanted.resolved_flows[2], len(wanted.legs)) == (1, 2)
    down, up = (host.transmit for host in router_settings(wanted, tmp_path))
    assert [(it.bearer, it.match.protocol, it.match.source_port, it.interface) for it in down] == [
        (1, "udp", 4433, "gnb-core"),
        (3, "tcp", 4434, "gnb-core"),
    ]
    assert [
        (it.bearer, it.match.protocol, it.match.destination_port, it.interface) for it in up
    ] == [(2, "udp", 4433, "ue-lan1"), (4, "tcp", 4434, "ue-lan2")]
    assert [bearer.legs for bearer in down] == [(1, 2), (2,)]


def test_a_result_has_each_flow_s_goodput_over_its_own_time(tmp_path: Path) -> None:
    wanted = scenario({"mode": "dc"}, {"mode": "sc", "leg": 2, "transport": "tcp"})
    measured = [
        Measurement(1_000_000, 4.0, {"handshake_s": 0.1, "completion_s": None}),
        Measurement(500_000, 1.0, {"retransmissions": 3}),
    ]
    blank = blank_result(wanted, tmp_path)
    result = ok_result(blank, wanted, measured, leg_bytes=[900_000, 700_000])
    assert (result.size_bytes, result.completion_s, result.goodput_mbps) == (1_500_000, 4.0, 3.0)
    sized = scenario({"mode": "dc"}, {"mode": "sc"}, workload={"size_mb": 1})
    blank = blank_result(sized, tmp_path)
    both = [Measurement(1_000_000, 4.0), Measurement(1_000_000, 5.0)]
    assert ok_result(blank, sized, both, [1, 1]).size_bytes == blank.size_bytes
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
