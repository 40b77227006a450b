"""The request clients between two namespaces, while what joins them is cut."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.workloads import RequestResponse
from tests.runners.hosts import (
    CLIENT_ADDRESSES,
    TwoHosts,
    transfer_between,
)
from tests.runners.request_programs import asking, report_of, reports, serving, unanswered

pytestmark = pytest.mark.root

# As in the experiment of "Multipath QUIC: Design and Evaluation", at twice the pace.
PLAN = RequestResponse(
    request_bytes=750, response_bytes=750, interval_s=0.2, count=15, patience_s=10.0
)
CUT_S = 5 * PLAN.interval_s


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return transfer_between(tmp_path, RequestResponse())


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
    runner = get_runner("mptcp")
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
