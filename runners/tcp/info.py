"""The kernel's view of a server's connections over time: `tcp-info.csv`, the subflows of MPTCP.

A watch looks at one connection while it lasts, and reports it at its end.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from minitopo_dc.files import CsvFile
from minitopo_dc.runners.processes.kernel_socket import (
    Subflow,
    congestion_control,
    ends,
    has_delivered,
    is_closed_by_peer,
    is_multipath,
    socket_with_peer,
    subflow,
    subflows,
)
from minitopo_dc.units import NS_PER_S

FILE = "tcp-info.csv"
INTERVAL_S = 0.01
"""Between two samples. The mesh study's tcpprobe told the window at each acknowledgement; a look at
the connections costs some us, and 10 ms are short against its round trips of 36 ms and more."""
SAME = (
    *("cwnd_bytes", "in_flight_bytes", "ssthresh_bytes", "smoothed_rtt_ms", "rtt_variation_ms"),
    *("least_rtt_ms", "retransmissions", "bytes_acked"),
)
FIELDS = {"client_port": "remote_port", "state": "congestion_state"} | {name: name for name in SAME}
"""Columns behind `time_ns`, and what of a `Subflow` is in them; what is not known is empty."""

_values = attrgetter(*FIELDS.values())


def info_file(path: Path) -> CsvFile:
    """Begin the file; `info_rows` makes its rows."""
    return CsvFile(path, ["time_ns", *FIELDS])


def info_rows(now_ns: int, connections: Iterable[Subflow]) -> Iterator[list[Any]]:
    """Yield a row for each connection; `now_ns` is on the monotonic clock."""
    for each in connections:
        yield [now_ns, *_values(each)]


SAMPLE_NS = 100_000_000
"""Between two samples of a subflow: as the default interval of all other time series."""
SLACK_NS = 5_000_000
"""A timer that is early by so little has a sample's time."""


@dataclass(slots=True)
class _Seen:
    """A subflow as it was last seen, and its samples."""

    subflow: Subflow
    opened_ns: int
    closed_ns: int | None = None
    is_sampled: bool = False
    samples: list[tuple[int, Subflow]] = field(default_factory=list)


class SubflowHistory:
    """Keeps the last counters of subflows that have gone.

    A subflow's counters are gone once the client has closed it, which may be before the server
    learns that the last byte arrived.
    """

    def __init__(self, *, samples: bool) -> None:
        """Make a history, with or without a time series of samples."""
        self._seen: dict[tuple[str, str, int], _Seen] = {}
        self._samples = samples
        self._sampled_ns: int | None = None

    def take(self, now_ns: int, current: Sequence[Subflow], *, ended: bool) -> None:
        """Note what the kernel says of the subflows now.

        Args:
            now_ns: on the monotonic clock.
            current: the subflows that there are.
            ended: whether the client has closed the connection: then subflows go with it, and
                none of them was closed for itself.
        """
        due = self._sampled_ns is None or now_ns - self._sampled_ns >= SAMPLE_NS - SLACK_NS
        if due:
            self._sampled_ns = now_ns
        there = {each.key: each for each in current}
        for key, last in there.items():
            seen = self._seen.setdefault(key, _Seen(last, now_ns))
            seen.subflow = last
        for key, seen in self._seen.items():
            was_open = seen.closed_ns is None
            if was_open and not ended and not (key in there and there[key].is_open):
                seen.closed_ns = now_ns
            if self._samples and was_open and (due or seen.closed_ns or not seen.is_sampled):
                seen.is_sampled = True
                seen.samples.append((now_ns, seen.subflow))

    def report(self) -> list[dict[str, Any]]:
        """Return each subflow's last counters, times and samples for JSON, in order of opening."""
        return [
            {
                **asdict(seen.subflow),
                "opened_ns": seen.opened_ns,
                "closed_ns": seen.closed_ns,
                **({"samples": [_sample(*each) for each in seen.samples]} if self._samples else {}),
            }
            for seen in self._seen.values()
        ]

    def forget_samples(self) -> None:
        """Have the next report tell later samples only."""
        for seen in self._seen.values():
            seen.samples = []


class AgentSamples:
    """Takes what the agent (`linux_guest`) reports of a connection."""

    def __init__(self, *, samples: bool) -> None:
        """Begin without a report; `samples` is that of `SubflowHistory`."""
        self.history = SubflowHistory(samples=samples)
        self.kind: dict[str, Any] | None = None
        """Whether it is multipath, and its congestion control, by the last sample."""
        self.latest: list[Subflow] = []
        """The subflows of the last sample."""
        self._next: list[Subflow] = []

    def take(self, kind: str, rest: str) -> int | None:
        """Take a line `subflow` or, behind those of its moment, `sample`.

        Returns:
            The moment of a sample (ns), None of a subflow.
        """
        if kind == "subflow":
            pair, info = map(bytes.fromhex, rest.split())
            flow = subflow(*ends(pair), info)
            if flow.remote_port:  # else it has been disconnected
                self._next.append(flow)
            return None
        moment, ended, multipath, algorithm = rest.split()
        self.latest, self._next = self._next, []
        self.kind = {"multipath": multipath == "1", "congestion_control": algorithm}
        self.history.take(int(moment), self.latest, ended=ended == "1")
        return int(moment)

    def connection(self) -> dict[str, Any] | None:
        """Return what was seen last as a server reports it, None without a sample."""
        return None if self.kind is None else {**self.kind, "subflows": self.history.report()}


def _sample(time_ns: int, subflow: Subflow) -> dict[str, Any]:
    names = ("cwnd_bytes", "in_flight_bytes", "smoothed_rtt_ms", "bytes_sent", "bytes_acked")
    values = {name: getattr(subflow, name) for name in names}
    return {"time_ns": time_ns, **values, "packets_lost": subflow.retransmissions}


DELIVERY_S = 0.01
"""How often to look whether the last bytes were acknowledged. It delays nothing but the report."""


class TcpWatch:
    """Reads the kernel's view of one connection while it lasts."""

    def __init__(self, peer: tuple[str, int], info: CsvFile | None = None) -> None:
        """Take the client's address, and the file of the connections' samples or None.

        Raises:
            RuntimeError: the client's connection has gone already.
        """
        connection = socket_with_peer(peer)
        if connection is None:
            raise RuntimeError(f"no socket of this process is connected to {peer}")
        self._peer = peer
        self._connection = connection
        self._info = info
        self._interval_s = SAMPLE_NS / NS_PER_S if info is None else INTERVAL_S
        self._kind = _kind(connection)
        self._history = SubflowHistory(samples=self._kind["multipath"])
        self._open_requests = 0
        self._answered = asyncio.Event()
        self.sample()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as open until its answer is complete."""
        self._open_requests += 1
        try:
            yield
        finally:
            self._open_requests -= 1
            if not self._open_requests:
                self._answered.set()

    def sample(self) -> None:
        """Note what the kernel says, unless the connection was closed meanwhile."""
        try:
            current = subflows(self._connection, self._peer)
            self._kind = _kind(self._connection)
        except OSError:
            return
        # Looked at behind the subflows: a client closes the connection first, then they go.
        ended = is_closed_by_peer(self._connection)
        now_ns = time.monotonic_ns()
        self._history.take(now_ns, current, ended=ended)
        if self._info is not None:
            self._info.add_all(info_rows(now_ns, current))

    async def run(self) -> None:
        """Sample until the client closes the connection, often while last bytes are awaited.

        At its end, or at the server's if that comes first, print the report.
        """
        try:
            while not is_closed_by_peer(self._connection):
                self.sample()
                delivering = not self._open_requests and not has_delivered(self._connection)
                await self._pause(DELIVERY_S if delivering else self._interval_s)
        finally:
            self.sample()
            self._connection.close()
            report = {**self._kind, "subflows": self._history.report()}
            print(json.dumps(report), flush=True)  # noqa: T201

    async def _pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until the last open request is answered."""
        self._answered.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._answered.wait()


def _kind(connection: socket.socket) -> dict[str, Any]:
    return {
        "multipath": is_multipath(connection),
        "congestion_control": congestion_control(connection),
    }
