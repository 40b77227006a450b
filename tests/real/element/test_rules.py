"""The rules that hand packets to an element: their arguments, their order, their end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.element import rules
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.real.element.rules import (
    Rule,
    accepts_local,
    forwarded,
    incoming,
    installed,
    leg_mark,
    outgoing,
)
from minitopo_dc.scenario.element import Match


@pytest.mark.parametrize(
    ("match", "version", "arguments"),
    [
        ({}, 6, ""),
        ({"source": "10.0.0.0/16"}, 4, "-s 10.0.0.0/16"),
        ({"destination": "fd00:10:2::/48"}, 6, "-d fd00:10:2::/48"),
        ({"protocol": "icmp"}, 4, "-p icmp"),
        ({"protocol": "icmp"}, 6, "-p icmpv6"),
        ({"protocol": "udp", "source_port": 1}, 4, "-p udp --sport 1"),
        (
            {"protocol": "tcp", "source_port": 443, "destination_port": 5},
            4,
            "-p tcp --sport 443 --dport 5",
        ),
    ],
)
def test_each_field_of_a_match_is_an_argument_behind_its_protocol(
    match: dict[str, Any], version: IpVersion, arguments: str
) -> None:
    rule = incoming("ue-leg1", Match.check(match, "test"), 3, version)
    words = f"PREROUTING -i ue-leg1 {arguments} -j NFQUEUE --queue-num 3"
    assert rule == Rule(version, tuple(words.split()))


@pytest.mark.parametrize(
    ("version", "own", "sources"),
    [(4, False, "UNICAST"), (4, True, "UNICAST,LOCAL"), (6, True, "UNICAST")],
)
def test_an_sdu_is_what_the_kernel_forwards(version: IpVersion, own: bool, sources: str) -> None:
    rule = forwarded("gnb-core", Match(protocol="udp"), 3, version, own=own)
    words = (
        "PREROUTING -i gnb-core -p udp -m pkttype --pkt-type unicast "
        f"-m addrtype --src-type {sources} --dst-type UNICAST -m addrtype ! --dst-type LOCAL "
        "-j NFQUEUE --queue-num 3"
    )
    assert rule == Rule(version, tuple(words.split()))


@pytest.mark.parametrize(
    ("everywhere", "here", "expected"),
    [("0", "0", False), ("1", "0", True), ("0", "1", True), (None, None, False)],
)
def test_a_host_s_own_addresses_may_enter_where_the_kernel_is_told_so(
    everywhere: str | None,
    here: str | None,
    expected: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rules, "CONFIGURATION", tmp_path)
    for name, value in (("all", everywhere), ("loop", here)):
        if value is not None:
            (tmp_path / name).mkdir()
            (tmp_path / name / "accept_local").write_text(f"{value}\n")
    assert accepts_local("loop") is expected


def test_what_has_been_through_a_leg_is_not_queued_again() -> None:
    words = "POSTROUTING -o gnb-leg1 -m mark ! --mark 0x100/0x100 -j NFQUEUE --queue-num 2"
    assert outgoing("gnb-leg1", 2, 6) == Rule(6, tuple(words.split()))
    assert leg_mark(7) == 0x107


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would be run; those with the word `refused` fail."""
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append([*command])
        return subprocess.CompletedProcess(command, int("refused" in command), "", "no such thing")

    monkeypatch.setattr(subprocess, "run", run)
    return ran


def test_with_ipv6_what_finds_neighbours_is_let_pass_before_anything_is_queued(
    commands: list[list[str]],
) -> None:
    with installed([incoming("gnb-core", Match(), 0, 6), outgoing("gnb-leg1", 1, 6)]):
        added = [command for command in commands if command[0] == "ip6tables"]
    targets = [command[command.index("-j") + 1] for command in added]
    assert targets == sorted(targets)  # ACCEPT, then NFQUEUE
    for chain in ("PREROUTING", "POSTROUTING"):
        accepted = [rule for rule in added if chain in rule and "ACCEPT" in rule]
        types = {rule[rule.index("--icmpv6-type") + 1] for rule in accepted if "icmpv6" in rule}
        assert types == {*map(str, range(130, 138)), "143"}
        assert {"fe80::/10", "ff02::/16"} <= {word for rule in accepted for word in rule}


def taken_back(commands: list[list[str]]) -> list[list[str]]:
    removed = [command for command in commands if "-D" in command]
    return [[word.replace("-D", "-A") for word in command] for command in removed]


def test_a_refused_rule_takes_back_those_of_both_versions_before_it(
    commands: list[list[str]],
) -> None:
    wanted = [outgoing("gnb-leg1", 0, 4), outgoing("gnb-leg1", 0, 6), outgoing("refused", 1, 6)]
    with pytest.raises(ElementError, match=r"ip6tables .* refused .*: no such thing"):
        installed(wanted).__enter__()
    added = [command for command in commands if "-A" in command and "refused" not in command]
    assert taken_back(commands) == added[::-1]


def test_rules_are_taken_back_in_the_reverse_order_also_when_something_goes_wrong(
    commands: list[list[str]],
) -> None:
    wanted = [incoming("gnb-core", Match(), 0, 4), outgoing("gnb-leg1", 1, 4)]
    with pytest.raises(ZeroDivisionError), installed(wanted):
        assert [command[4:] for command in commands] == [["-A", *rule.arguments] for rule in wanted]
        added = list(commands)
        raise ZeroDivisionError
    assert taken_back(commands) == added[::-1]
