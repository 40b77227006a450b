"""Transport `quic-aioquic-2020` on the virtual clock."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.runners.aioquic.virtual import (
    ClientEnd,
    SecondsHost,
    congestion_of,
    measured,
    moment_of,
    seconds,
)
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion, Received, VirtualFlow
from minitopo_dc.workloads import Measurement, as_download
from minitopo_dc.workloads.path_reports import PathSample

from .endpoint import BodyServer, DownloadingClient, Log2020
from .runner import Options2020


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
        self.client = ClientEnd(flow, client)
        transmit = SecondsHost(flow.server_host).transmit
        self.server = _Server(BodyServer(transmit, server_log, pacing=options.pacing))

    def start(self) -> int | None:
        """Begin to connect; return when the client is to be called again (ns)."""
        return moment_of(self.client.application.start(self._flow.server_address))

    def measure(self) -> Measurement:
        """Return the client's report, and both sockets' drops."""
        return measured(self.client.application, self._flow)

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields."""
        connection = self.server.application.connection
        return NO_CONGESTION if connection is None else congestion_of(connection._loss)

    def path_samples(self) -> Sequence[PathSample]:
        """Return no samples, as it has one path."""
        return ()

    def save_logs(self) -> None:
        """Write both ends' qlog files."""
        for log in self._logs:
            log.save()


class _Server:
    def __init__(self, application: BodyServer) -> None:
        self.application = application

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived and on what is due; return when to be called again (ns)."""
        arrived = [(data, source) for data, source, *_ in datagrams]
        if self.application.ended:
            return None
        return moment_of(self.application.step(seconds(now), arrived))
