"""aioquic of 2020 as programs between two namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.results.logs.quic import read_recovery
from minitopo_dc.runners.base import get_runner
from minitopo_dc.workloads import Download
from tests.runners.hosts import TwoHosts, processes_in, run_transfer, transfer_between, two_hosts
from tests.studies.test_quic_of_2020 import needs_it

pytestmark = [pytest.mark.root, needs_it]


@pytest.fixture(scope="module")
def hosts() -> Iterator[TwoHosts]:
    with two_hosts() as made:
        yield made
        assert processes_in(made.server) == []
        assert processes_in(made.client) == []


def test_every_byte_arrives_over_sockets_and_both_programs_write_their_qlogs(
    hosts: TwoHosts, tmp_path: Path
) -> None:
    transfer = replace(
        transfer_between(tmp_path, Download(size_mb=1)),
        congestion_control="reno",
        options={"qlog": True},
    )
    runner = get_runner("quic-aioquic-2020")
    measured = run_transfer(runner, transfer, hosts.server, hosts.client)
    assert measured.bytes_received == 1_000_000
    assert read_recovery(transfer.directory / "qlog/server/1.qlog").rtt_ms is not None
    assert (transfer.directory / "qlog/client/1.qlog").exists()
