"""The settings of an element, and both directions of a bearer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import LegDirection
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.scenario.radio import Leg

LEG: dict[str, Any] = {"leg": 1, "interface": "gnb-leg1", "seed": "1", "radio": {"rate_mbps": 20}}
GOOD: dict[str, Any] = {"host": "gnb", "legs": [LEG], "directory": "."}
BEARER: dict[str, Any] = {"bearer": 1, "interface": "gnb-core", "legs": [1]}
WAY = {"leg": 1, "source": "10.1.1.2", "destination": "10.1.1.1"}
REPORT = {"legs": [WAY], "port": 49153}
REPORTED = BEARER | {"pdcp": {"report_ms": 20}, "report": REPORT}


def bearer(**fields: Any) -> dict[str, Any]:
    return {"transmit": [BEARER | fields]}


def reports(*ways: dict[str, Any]) -> dict[str, Any]:
    return {"transmit": [REPORTED | {"report": REPORT | {"legs": ways}}]}


def test_settings_come_back_from_their_file(tmp_path: Path) -> None:
    settings = ElementSettings.check(GOOD | {"transmit": [BEARER, REPORTED]}, "test")
    settings.save(tmp_path / "element.yaml")
    assert ElementSettings.load(tmp_path / "element.yaml") == settings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"legs": [LEG, LEG]}, "each leg may be given once"),
        (bearer(legs=[1, 2]), r"bearer 1: unknown leg 2; known: \[1\]"),
        (bearer(legs=[1, 1]), "bearer 1: names a leg twice"),
        ({"legs": [LEG | {"interface": "a b"}]}, "legs.0.interface"),
        ({"legs": [LEG | {"leg": 256}]}, "legs.0.leg: 256; allowed: 255"),
        ({"legs": [LEG | {"radio": {"rate_mbps": -1}}]}, "legs.0.radio.rate_mbps"),
        (bearer(pdcp={"sn_bits": 13}), "12, 16 or 18"),
        (bearer(match={"source_port": 80}), "needs protocol: tcp or udp"),
        (bearer(match={"source": "server"}), "source: server is no IP network"),
        (bearer(match={"destination": "10.0.0.2/16"}), "10.0.0.2/16 is no IP network"),
        (
            bearer(match={"source": "10.0.0.2", "destination": "fd00:10:2:1::2"}),
            "source 10.0.0.2/32 and destination fd00:10:2:1::2/128: allowed are two IPv4",
        ),
        (bearer(match={"source": "fd00:10::2"}), "bearer 1: matches IPv6, which needs ip_version"),
        (bearer(pdcp={"report_ms": 20}), "report: pdcp.report_ms needs the"),
        (bearer(pdcp={"data_recovery": True}), "report: pdcp.report_ms needs"),
        (reports(WAY, WAY | {"leg": 2}), r"bearer 1: unknown leg 2; known: \[1\]"),
        (reports(WAY | {"source": "fd00::2"}), "source and destination must be of one IP version"),
        (reports(), "transmit.0.report.legs: has 0 items; allowed: 1"),
        ({"ip_version": 5}, "ip_version: 5; allowed: 4 or 6"),
        ({"queue": 1}, "queue: unknown field; known: host, legs"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        ElementSettings.check(GOOD | change, "gnb.yaml")


def leg(**fields: Any) -> Leg:
    return Leg.check(fields, "leg")


@pytest.mark.parametrize(
    ("both", "own"),
    [
        ({"rate_mbps": 20}, {"trace": "a.csv", "trace_column": "down_mbps"}),
        ({"trace": "a.csv", "offset_s": 3}, {"rate_mbps": 5}),
        ({"rate_mbps": 20, "loss_percent": 1}, {"burst_loss": {"p": 0.1, "r": 0.5}}),
        ({"rate_mbps": 20, "delay_ms": 8}, {"delay_curve": "power"}),
        ({"rate_mbps": 20, "queue_ms": 30}, {"queue_packets": 10}),
    ],
)
def test_another_way_to_say_the_same_takes_its_place(
    both: dict[str, Any], own: dict[str, Any]
) -> None:
    made = leg(**both, uplink=own)
    assert set(own) <= made.uplink.model_fields_set
    assert made.downlink == LegDirection.check(both, "both")


def test_an_uplink_with_a_column_alone_has_the_downlink_s_trace() -> None:
    down = {"trace": "drive.csv", "trace_column": "down_mbps", "end": "hold", "offset_s": 3}
    made = leg(downlink=down, uplink={"trace_column": "up_mbps"})
    assert made.uplink == LegDirection.check(down | {"trace_column": "up_mbps"}, "up")
