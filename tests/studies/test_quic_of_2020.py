"""aioquic of spring 2020: its two ends, its options, and how it is found."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import extension
from minitopo_dc.data.studies.thesis.quic_of_2020 import library
from minitopo_dc.data.studies.thesis.quic_of_2020.endpoint import BodyServer, DownloadingClient, End
from minitopo_dc.data.studies.thesis.quic_of_2020.endpoint import epoll_moment as moment
from minitopo_dc.data.studies.thesis.quic_of_2020.library import obstacle
from minitopo_dc.data.studies.thesis.quic_of_2020.runner import Options2020
from minitopo_dc.fields import SettingsError
from minitopo_dc.results.qlog import METRICS, qlog_events
from minitopo_dc.runners.base import get_runner
from minitopo_dc.workloads import Download
from minitopo_dc.workloads.exchange import content_sha256
from tests.runners.hosts import processes_in, run_transfer, transfer_between, two_hosts

needs_it = pytest.mark.skipif(
    obstacle() is not None and not os.environ.get("CI"), reason=obstacle() or ""
)
"""In CI they fail instead: the set-up gets it."""
CLIENT, SERVER = ("10.2.1.2", 50_000), ("10.0.0.2", 4433)
DELAY_S = 0.01
SIZE = 300_000


class Wire:
    """Both ends, 10 ms apart, and a clock that jumps to what happens next."""

    def __init__(
        self, workload: Download, options: Options2020 | None = None, *, pacing: bool = True
    ) -> None:
        self.now = 1.0
        self.server_sent_at: set[float] = set()
        self.sent: list[int] = []
        self._arrivals: list[tuple[float, int, End, bytes, tuple[str, int]]] = []
        self.client = DownloadingClient(
            workload, options or Options2020(), self._from_client, lambda: self.now
        )
        self.server = BodyServer(self._from_server, pacing=pacing)

    def run(self, seconds: float = 100.0) -> None:
        """Run until the client has ended."""
        due: dict[int, float | None] = {id(self.client): self.client.start(SERVER)}
        while not self.client.ended and self.now < 1.0 + seconds:
            times = [at for at in due.values() if at is not None]
            arrival = self._arrivals[0][0] if self._arrivals else float("inf")
            self.now = max(self.now, min([arrival, *times]))
            for end in (self.client, self.server):
                timer, arrived = due.get(id(end)), list(self._arrived(end))
                if arrived or (timer is not None and timer <= self.now):
                    due[id(end)] = end.step(self.now, arrived)
        assert self.client.ended

    def _arrived(self, end: End) -> Iterable[tuple[bytes, tuple[str, int]]]:
        while self._arrivals and self._arrivals[0][0] <= self.now and self._arrivals[0][2] is end:
            _, _, _, data, source = heapq.heappop(self._arrivals)
            yield data, source

    def _from_client(self, connection: Any) -> int:
        return self._send(connection, self.server, CLIENT)

    def _from_server(self, connection: Any) -> int:
        sent = self._send(connection, self.client, SERVER)
        if sent:
            self.server_sent_at.add(self.now)
        return sent

    def _send(self, connection: Any, to: End, source: tuple[str, int]) -> int:
        datagrams = [data for data, _ in connection.datagrams_to_send(now=self.now)]
        for data in datagrams:
            self.sent.append(len(data))
            heapq.heappush(self._arrivals, (self.now + DELAY_S, len(self.sent), to, data, source))
        return sum(map(len, datagrams))


@needs_it
def test_the_client_gets_every_byte_that_it_asked_for() -> None:
    wire = Wire(Download(size_mb=SIZE / 1e6))
    wire.run()
    outcome = wire.client.outcome
    assert (outcome.status, outcome.bytes_received, outcome.error) == (200, SIZE, None)
    assert outcome.sha256 == content_sha256(SIZE)
    assert outcome.handshake_s is not None
    assert outcome.completion_s is not None
    assert 2 * DELAY_S <= outcome.handshake_s < outcome.completion_s
    assert max(wire.sent) == 1280


@needs_it
def test_the_client_stops_when_its_time_is_over() -> None:
    wire = Wire(Download(duration_s=0.2))
    wire.run()
    outcome = wire.client.outcome
    assert outcome.stopped_s == pytest.approx(0.2, abs=0.002)
    assert outcome.completion_s is None
    assert outcome.sha256 == content_sha256(outcome.bytes_received)


@needs_it
def test_flow_control_begins_with_the_windows_of_the_options() -> None:
    wire = Wire(Download(size_mb=0.1), Options2020(max_data=50_000, max_stream_data=20_000))
    wire.run()
    connection = wire.server.connection
    assert connection._remote_max_stream_data_bidi_local >= 20_000
    assert wire.client.outcome.bytes_received == 100_000


@needs_it
def test_without_pacing_all_that_the_window_allows_goes_at_once() -> None:
    moments: dict[bool, int] = {}
    for pacing in (True, False):
        wire = Wire(Download(size_mb=SIZE / 1e6), pacing=pacing)
        wire.run()
        moments[pacing] = len(wire.server_sent_at)
    assert moments[False] < moments[True] / 2


@pytest.mark.parametrize(
    ("timer", "acts"), [(1.0004, 1.001), (1.001, 1.001), (0.5, 1.0), (1.0032, 1.004), (None, None)]
)
def test_timers_fire_whole_milliseconds_after_they_are_looked_at(
    timer: float | None, acts: float | None
) -> None:
    assert moment(timer, 1.0) == pytest.approx(acts)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"max_datagram_bytes": 1200}, "max_datagram_bytes: 1200; allowed: 1280"),
        ({"preset": "v43"}, "preset: unknown field"),
    ],
)
def test_what_it_does_not_have_is_refused(option: dict[str, object], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Options2020.check(option, "runner quic-aioquic-2020")


def test_without_it_the_command_that_gets_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension, "checkout", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert obstacle() == "aioquic 0.8.7 is not here (get it: minitopo-dc build aioquic-2020)"


@needs_it
def test_a_frame_that_is_partly_a_duplicate_leaves_what_is_behind_it() -> None:
    frame = library.module("quic.packet").QuicStreamFrame
    stream = library.module("quic.stream").QuicStream(0)
    content = bytes(range(100))
    pieces = [(0, 20), (60, 100), (10, 30), (30, 60)]
    events = [
        stream.add_frame(frame(data=content[begin:end], fin=end == 100, offset=begin))
        for begin, end in pieces
    ]
    assert b"".join(event.data for event in events if event is not None) == content


@pytest.mark.root
@needs_it
def test_every_byte_arrives_over_sockets_and_both_programs_write_their_qlogs(
    tmp_path: Path,
) -> None:
    fields: dict[str, Any] = {"congestion_control": "reno", "options": {"qlog": True}}
    transfer = transfer_between(tmp_path, Download(size_mb=1), **fields)
    with two_hosts() as hosts:
        runner = get_runner("quic-aioquic-2020")
        measured = run_transfer(runner, transfer, hosts.server, hosts.client)
        assert processes_in(hosts.server) == processes_in(hosts.client) == []
    assert measured.bytes_received == 1_000_000
    assert METRICS in {event["name"] for event in qlog_events(transfer.directory, "server")}
    assert (transfer.directory / "qlog/client/1.qlog").exists()
