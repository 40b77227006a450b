"""Settings of a WiFi medium: what is refused, what they make, what files hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import Direction, SettingsError
from minitopo_dc.link import WifiLeg, WifiParameters
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Leg, LegDirection, WifiSettings
from minitopo_dc.scenario.element import ElementSettings, wifi_paths
from tests.virtual.scenarios import leg, scenario

MS = 1_000_000


def radio(**fields: Any) -> Leg:
    return Leg.check({"wifi": {}} | fields, "leg")


def test_every_field_reaches_the_core_whose_defaults_it_has() -> None:
    assert WifiSettings().parameters() == WifiParameters()
    settings = WifiSettings(
        rate_mbps=13,
        aggregation="a-msdu",
        max_mpdus=32,
        max_bytes=8191,
        ppdu_ms=4,
        amsdu_bytes=7935,
        amsdu_wait_ms=0.5,
        mpdu_error_percent=10,
        retries=3,
        load_percent=25,
        stations=4,
    )
    assert settings.parameters() == WifiParameters(
        rate_bps=13_000_000,
        aggregation="a-msdu",
        max_mpdus=32,
        max_bytes=8191,
        ppdu_ns=4 * MS,
        amsdu_bytes=7935,
        amsdu_wait_ns=MS // 2,
        mpdu_error=0.1,
        retries=3,
        load=0.25,
        stations=4,
    )


def test_both_directions_are_legs_on_one_medium() -> None:
    one = radio(wifi={"rate_mbps": 13}, downlink={"delay_ms": 3}, uplink={"queue_packets": 7})
    assert one.wifi is not None
    path = one.wifi.path("seed")
    ways: tuple[Direction, ...] = ("downlink", "uplink")
    legs = [one.direction(name).build(name, path, uplink=name == "uplink") for name in ways]
    assert all(isinstance(each, WifiLeg) for each in legs)
    assert legs[0].mean_delay_ns == 3 * MS
    plain = radio()
    assert plain.downlink == plain.uplink
    assert (plain.downlink.delay_ms, plain.downlink.queue_packets) == (10, 100)
    with pytest.raises(SettingsError, match="wifi: "):
        LegDirection(wifi=WifiSettings()).build("seed")


def test_a_path_carries_what_its_slowest_part_does() -> None:
    def rate(**wifi: Any) -> int:
        return radio(wifi=wifi).downlink.capacity().rate_at(0)

    assert rate() == pytest.approx(61.5e6, rel=0.01)
    assert rate(hops=[{}, {"rate_mbps": 13}]) == rate(rate_mbps=13)
    assert rate(hops=3) == rate()
    assert rate(wired={"rate_mbps": 5, "delay_ms": 1}) == 5_000_000
    hops = WifiSettings(rate_mbps=13, retries=3, hops=[{}, {"rate_mbps": 26}]).every_hop()
    assert [(hop.rate_mbps, hop.retries) for hop in hops] == [(13, 3), (26, 3)]


def test_what_an_element_is_told_of_its_wifi_legs_survives_a_file(tmp_path: Path) -> None:
    wanted = scenario(legs=[leg(), {"wifi": {"rate_mbps": 13, "hops": 2}}])
    ends = list(router_settings(wanted, tmp_path))
    assert list(wifi_paths(ends)) == [2]
    for made in ends:
        made.save(tmp_path / "element.yaml")
        assert ElementSettings.load(tmp_path / "element.yaml") == made
        assert made.leg(1).shared is None
        assert made.leg(2).radio.wifi == wanted.legs[1].wifi


def test_a_rule_that_follows_the_best_channel_needs_rates() -> None:
    wanted = scenario(
        transport="quic", mode="sc", legs=[{"wifi": {}}, leg()], handover={"case": "sp"}
    )
    with pytest.raises(SettingsError, match=r"handover: .*wifi"):
        check_scenario(wanted)
