"""Reading what ping(8) prints, and what the client that runs it reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.base import Transfer, TransferFailed, get_runner
from minitopo_dc.runners.icmp import Pair, read
from minitopo_dc.workloads import Download, Measurement, Ping
from tests.runners.hosts import told, transfer_in

# As iputils 20221126 prints it (`ping -n -D -s 16`); times made up, the second answer missing.
PRINTED = """\
PING 127.0.0.1 (127.0.0.1) 16(44) bytes of data.
[1795302000.250000] 24 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms
[1795302000.660000] 24 bytes from 127.0.0.1: icmp_seq=3 ttl=64 time=30.0 ms

--- 127.0.0.1 ping statistics ---
3 packets transmitted, 2 received, 33.3333% packet loss, time 408ms
rtt min/avg/max/mdev = 20.500/25.250/30.000/4.750 ms
"""
SILENT = """\
PING 10.0.0.9 (10.0.0.9) 16(44) bytes of data.

--- 10.0.0.9 ping statistics ---
3 packets transmitted, 0 received, 100% packet loss, time 409ms
"""
START = 1795302000.0
PAIR = Pair(leg=2, backhaul=1, client="10.2.2.2", server="10.0.0.2")
TRIP = {"leg": 1, "backhaul": 1, "sent": 2, "received": 2}
ROWS = [{"leg": 1, "backhaul": 1, "time_s": at, "rtt_ms": 20.0} for at in (0.0, 0.1)]
REPORT: dict[str, Any] = {
    "round_trips": [TRIP],
    "rows": ROWS,
    "error": None,
    "ended_s": 0.3,
    "started_ns": 71_000_000_000,
}


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    workload = Ping(count=2, interval_s=0.1)
    return transfer_in(tmp_path, workload, more_server_addresses=("10.83.0.2",))


def reported(transfer: Transfer, printed: str) -> Measurement:
    transfer.client_output.write_text(printed, encoding="utf-8")
    return get_runner("icmp").read(transfer)


def test_each_echo_that_came_back_is_a_row_and_the_totals_of_a_pair_are_ping_s() -> None:
    summary, rows = read(PAIR, PRINTED, START)
    place = {"leg": 2, "backhaul": 1}
    assert rows == [
        {**place, "time_s": 0.2295, "rtt_ms": 20.5},
        {**place, "time_s": 0.63, "rtt_ms": 30.0},
    ]
    assert summary == {
        **{**place, "sent": 3, "received": 2},
        **{"minimum_ms": 20.5, "mean_ms": 25.25, "maximum_ms": 30.0},
    }


def test_a_pair_without_an_answer_has_no_times() -> None:
    summary, rows = read(PAIR, SILENT, START)
    assert (summary["sent"], summary["received"], rows) == (3, 0, [])
    assert (summary["minimum_ms"], summary["mean_ms"], summary["maximum_ms"]) == (None,) * 3


def test_a_ping_without_totals_is_an_error_with_its_last_words() -> None:
    with pytest.raises(TransferFailed, match=r"Network is unreachable$"):
        read(PAIR, "ping: connect: Network is unreachable\n", START)


def test_the_client_is_told_of_all_addresses_and_of_the_echoes(transfer: Transfer) -> None:
    assert told(get_runner("icmp").client_command(transfer)) == transfer


def test_the_client_s_report_is_what_was_measured(transfer: Transfer) -> None:
    assert reported(transfer, json.dumps(REPORT)) == Measurement(
        0, 0.3, {"round_trips": [TRIP]}, 71_000_000_000, ROWS
    )


def test_an_error_in_the_report_is_a_failure_with_its_words(transfer: Transfer) -> None:
    with pytest.raises(TransferFailed, match=r"^client: ping failed: no$"):
        reported(transfer, json.dumps(REPORT | {"error": "ping failed: no"}))


def test_echoes_have_no_server_and_no_other_workload(transfer: Transfer) -> None:
    runner = get_runner("icmp")
    with pytest.raises(TypeError, match=r"icmp .*10\.83\.0\.1"):
        runner.server_command(transfer)
    assert runner.workload_obstacle(Download()) == (
        "transport icmp does not carry workload download; allowed: ping"
    )
