"""Element files: what is refused, and with which words; and the rules that settings become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.element import ElementSettings
from minitopo_dc.element.rules import incoming, outgoing
from minitopo_dc.settings import Match, SettingsError

LEG: dict[str, Any] = {"leg": 1, "interface": "gnb-leg1", "seed": "1", "radio": {"rate_mbps": 20}}
GOOD: dict[str, Any] = {"host": "gnb", "legs": [LEG], "directory": "."}
BEARER: dict[str, Any] = {"bearer": 1, "interface": "gnb-core", "legs": [1]}


def test_settings_come_back_from_their_file(tmp_path: Path) -> None:
    settings = ElementSettings.check(GOOD | {"transmit": [BEARER]}, "test")
    settings.save(tmp_path / "element.yaml")
    assert ElementSettings.load(tmp_path / "element.yaml") == settings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"legs": [LEG, LEG]}, "each leg may be given once"),
        ({"transmit": [BEARER | {"legs": [1, 2]}]}, r"bearer 1: unknown leg 2; known: \[1\]"),
        ({"transmit": [BEARER | {"legs": [1, 1]}]}, "bearer 1: names a leg twice"),
        ({"legs": [LEG | {"interface": "a b"}]}, "legs.0.interface"),
        ({"legs": [LEG | {"leg": 256}]}, "legs.0.leg: .*less than or equal to 255"),
        ({"legs": [LEG | {"radio": {}}]}, "exactly one of rate_mbps and trace"),
        ({"legs": [LEG | {"radio": {"rate_mbps": -1}}]}, "legs.0.radio.rate_mbps"),
        ({"transmit": [BEARER | {"pdcp": {"t_reordering_ms": 7}}]}, "t_reordering_ms"),
        ({"transmit": [BEARER | {"pdcp": {"sn_bits": 13}}]}, "12, 16 or 18"),
        ({"transmit": [BEARER | {"match": {"source_port": 80}}]}, "needs protocol: tcp or udp"),
        ({"queue": 1}, "queue: unknown field; known: host, legs"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        ElementSettings.check(GOOD | change, "gnb.yaml")


def test_a_bearer_s_match_becomes_arguments_not_a_shell_string() -> None:
    match = Match.check(
        {"source": "10.0.0.2", "destination": "10.2.0.0/16", "protocol": "udp", "source_port": 443},
        "test",
    )
    assert incoming("gnb-core", match, 3) == (
        *("PREROUTING", "-i", "gnb-core", "-s", "10.0.0.2/32", "-d", "10.2.0.0/16"),
        *("-p", "udp", "--sport", "443", "-j", "NFQUEUE", "--queue-num", "3"),
    )


def test_no_rule_lets_packets_pass_when_no_element_listens() -> None:
    for rule in (incoming("a", Match(), 0), outgoing("a", 0)):
        assert "--queue-bypass" not in rule
