"""Transport `quic-aioquic-2020` on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from minitopo_dc.runners.aioquic.connection import TIMER_MARGIN_NS, seconds
from minitopo_dc.runners.aioquic.http3 import congestion_of
from minitopo_dc.runners.base import VirtualFlow, read_report
from minitopo_dc.runners.virtual import (
    NO_CONGESTION,
    Congestion,
    Received,
    VirtualHost,
)
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement, as_download
from minitopo_dc.workloads.path_reports import PathSample

from .endpoint import BodyServer, DownloadingClient, End, Log2020
from .runner import Options2020


def moment_of(timer: float | None) -> int | None:
    """Return when to fire a connection's timer (ns), None for never."""
    return None if timer is None else int(timer * NS_PER_S) + TIMER_MARGIN_NS


class SecondsHost:
    """An end host of one address as aioquic's ends see it."""

    def __init__(self, host: VirtualHost) -> None:
        self._host = host

    def clock(self) -> float:
        """Return the time in s."""
        return seconds(self._host.now)

    def transmit(self, connection: Any) -> int:
        """Send what a connection has to send now; return the number of bytes."""
        sent = connection.datagrams_to_send(self.clock())
        self._host.send([(data, None, address) for data, address in sent])
        return sum(len(data) for data, _ in sent)


class Pair2020:
    """A client and a server on one path."""

    def __init__(self, flow: VirtualFlow) -> None:
        options = Options2020.check(flow.options, "runner quic-aioquic-2020")
        if options.receive_buffer_bytes:
            flow.client_host.set_receive_buffer(options.receive_buffer_bytes)
        self._flow = flow
        workload = as_download(flow.workload)
        host = SecondsHost(flow.client_host)
        self._logs = [
            Log2020(flow.directory / "qlog" / role / "1.qlog", host.clock)
            for role in ("client", "server")
            if options.qlog
        ]
        client_log, server_log = self._logs or (None, None)
        client = DownloadingClient(workload, options, host.transmit, host.clock, client_log)
        self.client = Endpoint2020(client, flow.ended)
        transmit = SecondsHost(flow.server_host).transmit
        server = BodyServer(transmit, server_log, pacing=options.pacing)
        self.server = Endpoint2020(server, lambda: None)

    def start(self) -> int | None:
        """Begin to connect; return when the client is to be called again (ns)."""
        return moment_of(self.client.end.start(self._flow.server))

    def measure(self) -> Measurement:
        """Return the client's report, and both sockets' drops."""
        flow = self._flow
        report = self.client.end.report() | {
            "receive_buffer_bytes": flow.client_host.receive_buffer_bytes,
            "socket_drops": flow.client_host.socket_drops,
            "server_socket_drops": flow.server_host.socket_drops,
        }
        return read_report(report, flow.workload)

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields."""
        connection = self.server.end.connection
        return NO_CONGESTION if connection is None else congestion_of(connection._loss)

    def path_samples(self) -> Sequence[PathSample]:
        """Return no samples, as it has one path."""
        return ()

    def save_logs(self) -> None:
        """Write both ends' qlog files."""
        for log in self._logs:
            log.save()


AnyEnd = TypeVar("AnyEnd", bound=End)


class Endpoint2020(Generic[AnyEnd]):
    """One end on its host."""

    def __init__(self, end: AnyEnd, on_end: Callable[[], None]) -> None:
        """Take the end, and what is called when its connection is over."""
        self.end = end
        self._on_end = on_end

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived and on what is due; return when to be called again (ns)."""
        if self.end.ended:
            return None
        arrived = [(data, source) for data, source, *_ in datagrams]
        timer = self.end.step(seconds(now), arrived)
        if self.end.ended:
            self._on_end()
            return None
        return moment_of(timer)
