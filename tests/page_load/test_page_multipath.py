"""Whether MPTCP was used, and over all legs; by what the kernel counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.page_load.timing import Counters, PageError, check_multipath, host_counters

DEV = """Inter-|   Receive                            |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo:     999      10    0    0    0     0          0         0      999      10    0
client-lan1: 1487460    1009    0    0    0     0          0         0    40000     300    0
client-lan2:  723081     500    0    0    0     0          0         0    20000     200    0
"""
NETSTAT = """TcpExt: SyncookiesSent SyncookiesRecv
TcpExt: 0 0
MPTcpExt: MPCapableSYNRX MPCapableSYNACKRX MPCapableFallbackSYNACK MPJoinSynAckRx
MPTcpExt: 0 2 1 3
"""
BOTH = {"client-lan1": 700_000, "client-lan2": 700_000}
MPTCP = {"connections": 1, "fallbacks": 0, "joined": 1}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    (tmp_path / "dev").write_text(DEV)
    (tmp_path / "netstat").write_text(NETSTAT)
    return tmp_path


def test_counters_are_those_of_the_kernel(network: Path) -> None:
    found = host_counters(network)
    assert found.received_bytes == {"client-lan1": 1_487_460, "client-lan2": 723_081}
    assert found.mptcp == {"connections": 2, "fallbacks": 1, "joined": 3}


def test_a_kernel_without_mptcp_counts_none(network: Path) -> None:
    (network / "netstat").write_text("".join(NETSTAT.splitlines(keepends=True)[:2]))
    assert host_counters(network).mptcp == {"connections": 0, "fallbacks": 0, "joined": 0}


def test_a_difference_is_what_came_since(network: Path) -> None:
    later = Counters({"client-lan1": 1_487_470, "client-lan2": 723_081}, {"connections": 5})
    since = later.since(host_counters(network))
    assert since == Counters({"client-lan1": 10, "client-lan2": 0}, {"connections": 3})


def test_bytes_on_both_legs_are_what_was_asked_for() -> None:
    check_multipath(Counters(BOTH, MPTCP), 1_000_000)


@pytest.mark.parametrize(
    ("received", "mptcp", "reason"),
    [
        (BOTH, {**MPTCP, "connections": 0}, "no MPTCP connection"),
        (BOTH, {**MPTCP, "fallbacks": 1}, "1 connections fell back to TCP"),
        ({**BOTH, "client-lan2": 9_999}, MPTCP, "client-lan2 carried 9999 of the page's 1000000"),
    ],
)
def test_one_leg_or_plain_tcp_is_an_error(
    received: dict[str, int], mptcp: dict[str, int], reason: str
) -> None:
    with pytest.raises(PageError, match=reason):
        check_multipath(Counters(received, mptcp), 1_000_000)
