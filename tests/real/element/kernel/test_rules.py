"""The rules that hand packets to an element: their arguments, their order, their end."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.element.kernel import rules
from minitopo_dc.real.element.kernel.rules import (
    Rule,
    accepts_local,
    forwarded,
    incoming,
    installed,
    leg_mark,
    outgoing,
)
from minitopo_dc.scenario.element import Match


def test_icmp_has_a_protocol_number_of_its_own_with_ipv6() -> None:
    match = Match(protocol="icmp")
    assert incoming("a", match, 0, 4).arguments[3:5] == ("-p", "icmp")
    assert incoming("a", match, 0, 6).arguments[3:5] == ("-p", "icmpv6")


@pytest.mark.parametrize(
    ("match", "version", "arguments"),
    [
        ({}, 4, ""),
        ({}, 6, ""),
        ({"source": "10.0.0.0/16"}, 4, "-s 10.0.0.0/16"),
        ({"source": "fd00:10::2"}, 6, "-s fd00:10::2/128"),
        ({"destination": "10.2.1.2"}, 4, "-d 10.2.1.2/32"),
        ({"destination": "fd00:10:2::/48"}, 6, "-d fd00:10:2::/48"),
        ({"protocol": "tcp"}, 4, "-p tcp"),
        ({"protocol": "udp"}, 6, "-p udp"),
        ({"protocol": "udp", "source_port": 1}, 4, "-p udp --sport 1"),
        ({"protocol": "tcp", "destination_port": 65535}, 6, "-p tcp --dport 65535"),
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
    assert rule == Rule(
        version,
        (
            *("PREROUTING", "-i", "ue-leg1", *arguments.split()),
            *("-j", "NFQUEUE", "--queue-num", "3"),
        ),
    )


CHECKS = (
    "-m pkttype --pkt-type unicast -m addrtype --src-type {} --dst-type UNICAST"
    " -m addrtype ! --dst-type LOCAL"
)


@pytest.mark.parametrize(
    ("version", "own", "sources"),
    [
        (4, False, "UNICAST"),
        (4, True, "UNICAST,LOCAL"),
        (6, False, "UNICAST"),
        (6, True, "UNICAST"),
    ],
)
def test_an_sdu_is_what_the_kernel_forwards(version: IpVersion, own: bool, sources: str) -> None:
    rule = forwarded("gnb-core", Match(protocol="udp"), 3, version, own=own)
    words = f"PREROUTING -i gnb-core -p udp {CHECKS.format(sources)} -j NFQUEUE --queue-num 3"
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


@pytest.mark.parametrize("version", [4, 6])
def test_what_has_been_through_a_leg_is_not_queued_again(version: IpVersion) -> None:
    assert outgoing("gnb-leg1", 2, version) == Rule(
        version,
        (
            *("POSTROUTING", "-o", "gnb-leg1", "-m", "mark", "!", "--mark", "0x100/0x100"),
            *("-j", "NFQUEUE", "--queue-num", "2"),
        ),
    )


@given(st.integers(1, 255))
def test_a_mark_says_that_it_is_a_leg_s_and_which(leg: int) -> None:
    assert [leg_mark(leg) & 0x100, leg_mark(leg) & 0xFF] == [0x100, leg]


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would be run; those with the word `refused` fail."""
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        ran.append(command)
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


def test_rules_hold_meanwhile_and_are_taken_back_in_the_reverse_order(
    commands: list[list[str]],
) -> None:
    wanted = [incoming("gnb-core", Match(), 0, 4), outgoing("gnb-leg1", 1, 4)]
    with installed(wanted):
        assert [command[4:] for command in commands] == [["-A", *each.arguments] for each in wanted]
        commands.clear()
    taken_back = [["-D", *each.arguments] for each in reversed(wanted)]
    assert [command[4:] for command in commands] == taken_back


def test_rules_are_taken_back_also_when_something_goes_wrong(commands: list[list[str]]) -> None:
    with pytest.raises(ZeroDivisionError), installed([outgoing("gnb-leg1", 0, 6)]):
        raise ZeroDivisionError
    actions = [command[4] for command in commands]
    assert actions.count("-A") == actions.count("-D") == len(list(rules.unshaped())) + 1
