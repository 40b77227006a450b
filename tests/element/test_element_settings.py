"""Element files: what is refused, and with which words; and the rules that settings become."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.addresses import IpVersion
from minitopo_dc.element import ElementSettings, rules
from minitopo_dc.element.rules import incoming, installed, outgoing
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
        (
            {"transmit": [BEARER | {"match": {"source": "fd00:10::2"}}]},
            "bearer 1: matches IPv6, which needs ip_version: 6",
        ),
        ({"ip_version": 5}, "ip_version: Input should be 4 or 6"),
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
    assert incoming("gnb-core", match, 3, 4).arguments == (
        *("PREROUTING", "-i", "gnb-core", "-s", "10.0.0.2/32", "-d", "10.2.0.0/16"),
        *("-p", "udp", "--sport", "443", "-j", "NFQUEUE", "--queue-num", "3"),
    )


def test_icmp_has_a_protocol_number_of_its_own_with_ipv6() -> None:
    match = Match(protocol="icmp")
    assert incoming("a", match, 0, 4).arguments[3:5] == ("-p", "icmp")
    assert incoming("a", match, 0, 6).arguments[3:5] == ("-p", "icmpv6")


def test_no_rule_lets_packets_pass_when_no_element_listens() -> None:
    versions: tuple[IpVersion, ...] = (4, 6)
    for version in versions:
        for rule in (incoming("a", Match(), 0, version), outgoing("a", 0, version)):
            assert "--queue-bypass" not in rule.arguments


@pytest.mark.parametrize(
    ("match", "version"),
    [
        ({}, None),
        ({"protocol": "udp"}, None),
        ({"source": "10.0.0.0/16"}, 4),
        ({"destination": "fd00:10:2::/48"}, 6),
        ({"source": "fd00:10::2", "destination": "fd00:10:2:1::2"}, 6),
    ],
)
def test_a_match_is_of_the_version_of_its_networks(
    match: dict[str, Any], version: int | None
) -> None:
    assert Match.check(match, "test").ip_version == version


@pytest.mark.parametrize(
    ("match", "words"),
    [
        (
            {"source": "10.0.0.2", "destination": "fd00:10:2:1::2"},
            r"source 10.0.0.2/32 and destination fd00:10:2:1::2/128: allowed are two IPv4",
        ),
        ({"source": "server"}, "source: value is not a valid IPv4 or IPv6 network"),
        ({"destination": "10.0.0.2/16"}, "destination: value is not a valid IPv4 or IPv6 network"),
    ],
)
def test_a_wrong_network_is_named(match: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Match.check(match, "test")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would be run; those with the word ``refused`` fail."""
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
        return subprocess.CompletedProcess(command, int("refused" in command), "", "no such thing")

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_without_ipv6_no_rule_is_of_ip6tables(commands: list[list[str]]) -> None:
    with installed([outgoing("gnb-leg1", 0, 4)]):
        pass
    assert {command[0] for command in commands} == {"iptables"}
    assert len(commands) == 2


def test_with_ipv6_what_finds_neighbours_is_let_pass_before_anything_is_queued(
    commands: list[list[str]],
) -> None:
    with installed([incoming("gnb-core", Match(), 0, 6), outgoing("gnb-leg1", 1, 6)]):
        added = [command for command in commands if command[0] == "ip6tables"]
    targets = [command[command.index("-j") + 1] for command in added]
    assert targets == sorted(targets)  # ACCEPT, then NFQUEUE
    for chain in ("PREROUTING", "POSTROUTING"):
        accepted = [each for each in added if chain in each and "ACCEPT" in each]
        types = {each[each.index("--icmpv6-type") + 1] for each in accepted if "icmpv6" in each}
        assert types == {*map(str, range(130, 138)), "143"}
        words = {word for each in accepted for word in each}
        assert {"fe80::/10", "ff02::/16"} <= words


def test_a_refused_rule_takes_back_those_of_both_versions_before_it(
    commands: list[list[str]],
) -> None:
    wanted = [outgoing("gnb-leg1", 0, 4), outgoing("gnb-leg1", 0, 6), outgoing("refused", 1, 6)]
    with pytest.raises(rules.RuleError, match=r"ip6tables .* refused .*: no such thing"):
        installed(wanted).__enter__()
    added = [command for command in commands if "-A" in command and "refused" not in command]
    taken_back = [command for command in commands if "-D" in command]
    changed = [[word.replace("-D", "-A") for word in command] for command in taken_back]
    assert changed == added[::-1]
