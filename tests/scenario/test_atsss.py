"""Mode `atsss`: what it makes of PDCP, of both directions and of its transport."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.runs.check import check_fields
from minitopo_dc.scenario import Scenario
from tests.virtual.scenarios import scenario


def steered(**fields: Any) -> Scenario:
    return scenario(mode="atsss", **fields)


def test_it_steers_by_smallest_delay_and_puts_nothing_in_order_both_ways() -> None:
    (flow,) = steered().resolved_flows
    assert flow.splits_uplink
    for pdcp in (flow.pdcp, flow.uplink_pdcp):
        assert (pdcp.split, pdcp.delivery, pdcp.echo_ms) == ("smallest-delay", "off", 100)
    assert steered().evolve(mode="dc").pdcp.split == "batch"  # as it was


def test_steering_modes_and_intervals_of_either_direction_are_kept() -> None:
    (flow,) = steered(pdcp={"split": "active-standby", "echo_ms": 20}).resolved_flows
    assert (flow.pdcp.split, flow.pdcp.echo_ms) == ("active-standby", 20)
    (flow,) = steered(uplink_pdcp={"split": "redundant"}).resolved_flows
    assert (flow.pdcp.split, flow.uplink_pdcp.split) == ("smallest-delay", "redundant")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"options": {"scheduler": "redundant"}}, "allowed: picoquic, minrtt, roundrobin, weigh"),
        ({"options": {"max_datagram_bytes": 1430}}, "is 1430; allowed: 1200 to 1425"),
        ({"options": {"tunnel_congestion_control": "vegas"}}, "'vegas'; allowed: reno, newreno, "),
        ({"mode": "multipath", "options": {"tunnel_queue": 5}}, "tunnel_queue: needs mode: atsss"),
        ({"clock": "real"}, "which only the virtual clock has"),
        ({"transport": "mptcp", "workload": {"kind": "video"}}, "allowed: download, request-resp"),
    ],
)
def test_what_a_tunnel_or_a_proxy_cannot_have_is_refused(
    fields: dict[str, Any], words: str
) -> None:
    values = {"mode": "atsss", "transport": "mpquic-picoquic", "options": {}}
    with pytest.raises(SettingsError, match=words):
        check_fields(scenario(**values | fields))


@pytest.mark.parametrize("transport", ["mptcp", "mpquic-picoquic"])
def test_multipath_ends_at_a_proxy_and_is_multipath_up_to_there(transport: str) -> None:
    (flow,) = steered(transport=transport, options={}, paths={"initial": [2, 1]}).resolved_flows
    assert (flow.mode, flow.proxied, flow.legs) == ("multipath", True, (2, 1))


@pytest.mark.parametrize(
    ("fields", "delay_ms"),
    [({"transport": "mptcp", "options": {}}, 0), ({"server_delay_ms": 5}, 5)],
)
def test_on_the_real_clock_the_wire_behind_a_proxy_or_with_a_delay_is_a_backhaul(
    fields: dict[str, Any], delay_ms: float
) -> None:
    (wire,) = check_fields(steered(clock="real", **fields)).real.backhaul
    assert (wire.downlink.delay_ms, wire.uplink.delay_ms) == (delay_ms, delay_ms)
