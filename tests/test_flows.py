"""Several flows at once: what a scenario says of them, and what the elements are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.outcome import (
    blank_result,
    check_real,
    chosen_runners,
    ok_result,
    why_unsupported,
)
from minitopo_dc.plan import client_legs, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from runners.base import Measurement

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
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
        ({"mode": "flows"}, {}, "flows.1.mode: .*'sc', 'dc', 'dc-duplicate' or 'multipath'"),
        ({"mode": "sc", "transport": "sctp"}, {}, "flows.1.transport: sctp; allowed: tcp, quic"),
        ({"mode": "dc", "transport": "mptcp"}, {}, "flows.1.mode dc: .*mptcp allows multipath"),
        ({"mode": "multipath"}, {}, "flows.1.mode multipath: .*quic allows sc, dc, dc-duplicate$"),
        ({"mode": "sc", "options": {"x": 1}}, {}, "flows.1.options: runner quic: no option 'x'"),
        (
            {"mode": "multipath", "transport": "mpquic"},
            {},
            "flows.1.transport: mpquic does not tell .*; allowed with mode multipath: mptcp$",
        ),
        ({"mode": "sc"}, {"transport": "sctp"}, "test: transport|^transport: sctp; allowed"),
        ({"mode": "sc"}, {"virtual": {"cpu_us_per_packet": 1}}, "virtual: needs clock: virtual"),
    ],
)
def test_a_wrong_flow_is_named(flow: dict[str, Any], fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        wanted = scenario({"mode": "dc"}, flow, **fields)
        chosen_runners(wanted)
        check_real(wanted)


def test_the_real_clock_takes_flows_of_several_transports_for_a_time() -> None:
    flows = ({"mode": "dc"}, {"mode": "sc", "transport": "tcp"})
    wanted = scenario(*flows, {"mode": "multipath", "transport": "mptcp"}, duration_s=3)
    check_real(wanted)
    assert [runner.name for runner in chosen_runners(wanted)] == ["quic", "tcp", "mptcp"]


@pytest.mark.parametrize("transport", ["mpquic", "mpquic-picoquic"])
def test_a_client_that_cannot_stop_at_a_time_is_refused(transport: str) -> None:
    alone = scenario(mode="multipath", transport=transport, duration_s=3)
    with pytest.raises(SettingsError, match=rf"duration_s: .*{transport} .*allowed: tcp, quic, m"):
        check_real(alone)


def test_what_one_flow_lacks_makes_the_run_unsupported() -> None:
    wanted = scenario({"mode": "sc"}, {"mode": "sc", "congestion_control": "bbr"})
    reason = why_unsupported(wanted, chosen_runners(wanted))
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
    blank = blank_result(wanted, tmp_path, "real")
    result = ok_result(blank, wanted, measured, leg_bytes=[900_000, 700_000])
    assert (result.size_bytes, result.completion_s, result.goodput_mbps) == (1_500_000, 4.0, 3.0)
    first, second = result.details["flows"]
    assert (first["mode"], first["goodput_mbps"], first["completion_s"]) == ("dc", 2.0, 4.0)
    assert (second["transport"], second["goodput_mbps"], second["leg"]) == ("tcp", 4.0, 2)
    assert second["retransmissions"] == 3
    assert result.details["jain_index"] == pytest.approx(36 / 40)
