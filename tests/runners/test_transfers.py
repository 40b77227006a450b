"""Each transport between two namespaces that two links join."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, get_runner
from minitopo_dc.runners.mptcp.runner import MptcpRunner
from minitopo_dc.runners.processes.session import Job, run_transfers
from minitopo_dc.runners.tcp.runner import TcpRunner
from minitopo_dc.workloads import Download, Measurement, RequestResponse
from tests import long
from tests.runners.hosts import (
    CLIENT_ADDRESSES,
    PORT,
    TwoHosts,
    large_files,
    nothing,
    processes_in,
    run_transfer,
    transfer_between,
)
from tests.runners.test_requests import asking, report_of, reports, serving, unanswered
from tests.studies.digests import module

pytestmark = pytest.mark.root

SIZE = 2_000_000
SINGLE = ("tcp", "quic", "quic-ngtcp2", "quic-picoquic")
MULTIPATH = ("mptcp", "mpquic-picoquic", "mpquic-noq")


FAILING = ("tcp", "mpquic-picoquic", *map(long, (*SINGLE[1:], *MULTIPATH[:2])))
"""First a transport of others' programs, and one of this project's."""
QUIC = ("quic", *map(long, SINGLE[2:]))


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return transfer_between(tmp_path, Download(size_mb=SIZE / 1e6))


def supported(name: str) -> Runner:
    runner = get_runner(name)
    if reason := runner.run_obstacle("cubic"):
        pytest.skip(reason)
    return runner


def carried(name: str, transfer: Transfer, hosts: TwoHosts) -> tuple[Measurement, tuple[int, int]]:
    """What was measured, and the bytes that the client received over each link."""
    before = hosts.received_bytes()
    measured = run_transfer(supported(name), transfer, hosts.server, hosts.client)
    first, second = (now - then for then, now in zip(before, hosts.received_bytes(), strict=True))
    return measured, (first, second)


@pytest.mark.parametrize(
    ("name", "leg"),
    [*((name, 1) for name in SINGLE), *(long(name, 0) for name in SINGLE)],
)
def test_over_one_path_every_byte_takes_the_link_of_the_address(
    name: str, leg: int, hosts: TwoHosts, transfer: Transfer
) -> None:
    one = replace(transfer, client_addresses=(CLIENT_ADDRESSES[leg],))
    measured, received = carried(name, one, hosts)
    assert measured.bytes_received == SIZE
    assert 0 < measured.completion_s < transfer.timeout_s
    assert received[leg] > SIZE
    assert received[1 - leg] < 10_000
    assert large_files(transfer.directory) == []


@pytest.mark.parametrize("name", MULTIPATH)
def test_over_several_paths_every_byte_arrives_by_both_links(
    name: str, hosts: TwoHosts, transfer: Transfer
) -> None:
    # With no limit the transfer may be over before an MPTCP subflow is up on the second link.
    with hosts.limited("20mbit"):
        measured, received = carried(name, transfer, hosts)
    assert measured.bytes_received == SIZE
    assert min(received) > SIZE / 5
    assert sum(received) > SIZE
    assert large_files(transfer.directory) == []


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [("tcp", "cubic"), ("mptcp", "reno"), long("tcp", "reno"), long("mptcp", "cubic")],
)
def test_the_kernel_uses_the_congestion_control_on_every_subflow(
    name: str, algorithm: str, hosts: TwoHosts, transfer: Transfer
) -> None:
    runner = supported(name)
    chosen = replace(transfer, congestion_control=algorithm)
    lines: list[str] = []
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.05):
            shown = hosts.server.run("ss", "--tcp", "--info", "--no-header", "--oneline")
            lines.extend(line for line in shown.splitlines() if line.startswith("ESTAB"))

    sampling = threading.Thread(target=sample)
    try:
        with hosts.limited("20mbit"):
            run_transfer(runner, chosen, hosts.server, hosts.client, on_start=sampling.start)
    finally:
        ended.set()
        sampling.join()
    peers = {address for address in CLIENT_ADDRESSES if any(f"{address}:" in x for x in lines)}
    assert len(peers) == (2 if runner.multipath else 1)
    assert [line for line in lines if f" {algorithm} " not in line] == []


@pytest.mark.parametrize("name", FAILING)
def test_a_killed_server_is_a_failure(name: str, hosts: TwoHosts, transfer: Transfer) -> None:
    def kill() -> None:
        for pid in processes_in(hosts.server):
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(TransferFailed, match=r"server .*SIGKILL"):
        run_transfer(supported(name), transfer, hosts.server, hosts.client, on_start=kill)
    assert large_files(transfer.directory) == []


def test_mptcp_leaves_no_endpoint_and_the_old_limits(hosts: TwoHosts, transfer: Transfer) -> None:
    hosts.client.run("ip", "mptcp", "limits", "set", "subflows", "0")
    # Long enough for the second subflow on a busy machine: nothing limits these hosts' rate.
    longer = replace(transfer, workload=Download(size_mb=40.0))
    run_transfer(supported("mptcp"), longer, hosts.server, hosts.client)
    assert hosts.client.run("ip", "mptcp", "endpoint", "show") == ""
    assert "subflows 0" in hosts.client.run("ip", "mptcp", "limits", "show")


class _PlainClient(MptcpRunner):
    """A client that speaks TCP, as behind a middlebox that removes MPTCP's options."""

    def curl_command(self, transfer: Transfer) -> list[str]:
        return TcpRunner.curl_command(self, transfer)


def test_mptcp_that_falls_back_to_tcp_is_a_failure(hosts: TwoHosts, transfer: Transfer) -> None:
    supported("mptcp")
    with pytest.raises(TransferFailed, match="fell back to TCP"):
        run_transfer(_PlainClient(), transfer, hosts.server, hosts.client)


def test_mptcp_reports_no_path_on_a_leg_that_is_blocked(
    hosts: TwoHosts, transfer: Transfer
) -> None:
    runner = supported("mptcp")
    with hosts.second_path_blocked():
        measured = run_transfer(runner, transfer, hosts.server, hosts.client)
    assert {path["leg"] for path in measured.details["paths"]} == {1}


@pytest.mark.parametrize("name", QUIC)
def test_quic_gets_the_receive_buffer_asked_for_and_counts_what_a_small_one_drops(
    name: str, hosts: TwoHosts, transfer: Transfer
) -> None:
    for size in (33_554_432, 8192):
        sized = replace(transfer, options={"receive_buffer_bytes": size})
        details = run_transfer(supported(name), sized, hosts.server, hosts.client).details
        assert details["receive_buffer_bytes"] == size
        assert (details["socket_drops"] > 0) == (size == 8192)


@pytest.mark.parametrize(("algorithm", "kept"), [("reno", 0.5), long("cubic", 0.7)])
def test_ngtcp2s_server_uses_the_congestion_control_asked_for(
    algorithm: str, kept: float, hosts: TwoHosts, transfer: Transfer
) -> None:
    # RFC 9002, section 7.3.2, and RFC 9438, section 4.6: what is left of the window after a loss.
    logged = replace(transfer, congestion_control=algorithm, options={"qlog": True})
    with hosts.limited("20mbit", queue_bytes=15_000):
        run_transfer(supported("quic-ngtcp2"), logged, hosts.server, hosts.client)
    window = module("thesis", "recovery").server_recovery(logged.directory).window["cwnd_bytes"]
    cuts = (window / window.shift())[window.diff() < 0]
    assert len(cuts) > 3
    assert cuts.median() == pytest.approx(kept, abs=0.05)


def test_ngtcp2_leaves_no_route_and_no_rule(hosts: TwoHosts, transfer: Transfer) -> None:
    def routing() -> str:
        ip = ("ip", "route", "show", "table")
        return hosts.client.run("ip", "rule") + hosts.client.run(*ip, "all")

    before = routing()
    second = replace(transfer, client_addresses=(CLIENT_ADDRESSES[1],))
    run_transfer(supported("quic-ngtcp2"), second, hosts.server, hosts.client)
    assert routing() == before


def test_ngtcp2_sends_from_two_addresses_at_once(hosts: TwoHosts, transfer: Transfer) -> None:
    runner = supported("quic-ngtcp2")
    jobs = []
    for leg, address in enumerate(CLIENT_ADDRESSES):
        own = replace(transfer, port=PORT + leg, directory=transfer.directory / str(leg))
        jobs.append(Job(runner, replace(own, client_addresses=(address,))))
    measured = run_transfers(jobs, hosts.server, hosts.client, on_start=nothing)
    assert [each.details["local_address"] for each in measured] == list(CLIENT_ADDRESSES)


# As in the experiment of "Multipath QUIC: Design and Evaluation", at twice the pace.
PLAN = RequestResponse(
    request_bytes=750, response_bytes=750, interval_s=0.2, count=15, patience_s=10.0
)
CUT_S = 5 * PLAN.interval_s


@contextmanager
def first_path_cut(hosts: TwoHosts) -> Iterator[None]:
    """Drop what the server sends to the first address, `CUT_S` after a client has connected."""
    blackhole = ["blackhole", f"{CLIENT_ADDRESSES[0]}/32"]

    def cut_when_connected() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if "ESTAB" in hosts.server.run("ss", "--tcp", "--no-header", "state", "all"):
                break
            time.sleep(0.02)
        time.sleep(CUT_S)
        hosts.server.run("ip", "route", "add", *blackhole)

    cutting = threading.Thread(target=cut_when_connected)
    cutting.start()
    try:
        yield
    finally:
        cutting.join()
        hosts.server.run("ip", "route", "delete", *blackhole)


@pytest.mark.alone
def test_mptcp_answers_over_the_second_path_when_the_first_is_cut(
    hosts: TwoHosts, transfer: Transfer
) -> None:
    runner, transfer = get_runner("mptcp"), replace(transfer, workload=PLAN)
    with (
        runner.hosts(transfer, hosts.server, hosts.client),
        serving("mptcp", transfer, hosts.server),
        first_path_cut(hosts),
        asking("mptcp", PLAN, transfer, hosts.client) as client,
    ):
        report = report_of(client, PLAN, transfer)
    assert (report["error"], unanswered(report["requests"])) == (None, [])
    (connection,) = reports(transfer.server_output)
    assert connection["multipath"]
    sent = {flow["remote"]: flow["bytes_sent"] for flow in connection["subflows"]}
    # The server needs one answer or two to learn that the first path is gone.
    assert sent[CLIENT_ADDRESSES[1]] > 5 * 750
    delays = [answered - at for at, answered in report["requests"]]
    assert max(delays) > 0.2, "Linux' smallest retransmission timeout"
    assert sorted(delays)[len(delays) // 2] < 0.2
