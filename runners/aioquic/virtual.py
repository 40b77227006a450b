"""Runner `quic` on the virtual clock: both its ends, driven by events instead of sockets."""

from __future__ import annotations

from typing import Any

from minitopo_dc.fields import PathPlan
from minitopo_dc.runners.addresses import SIMULATED
from minitopo_dc.runners.aioquic.connection import (
    AioquicConnection,
    ConnectionLog,
    make_end,
    seconds,
)
from minitopo_dc.runners.aioquic.http3 import AioquicClient, AioquicServer
from minitopo_dc.runners.aioquic.runner import AioquicOptions
from minitopo_dc.runners.base import read_report
from minitopo_dc.runners.quic import server_options
from minitopo_dc.runners.sans_io.ends import client_of, server_of
from minitopo_dc.runners.sans_io.virtual import StackEndpoint, StackPair, set_buffers
from minitopo_dc.runners.virtual import NO_CONGESTION, Congestion, VirtualFlow
from minitopo_dc.workloads import Measurement


class AioquicPair(StackPair):
    """A client, a server, and their logs, on one path."""

    def __init__(self, flow: VirtualFlow) -> None:
        options = AioquicOptions.check(flow.options, "runner quic")
        set_buffers(flow, options)
        self._flow = flow
        address = next(iter(flow.client_addresses.values()))
        client = AioquicClient(
            *(_connection(flow, options, "client"), PathPlan.whole(1), [address]),
            *(flow.server_address, flow.begin),
            make=client_of(flow.workload),
        )
        self._server = AioquicServer(
            *(_connection(flow, options, "server"), [address[0]], flow.begin),
            make=server_of(flow.workload),
            bare=flow.workload.bare_streams,
        )
        self.client = StackEndpoint(client, flow.client_host, flow.ended)
        self.server = StackEndpoint(self._server, flow.server_host, self._count_paths)

    def measure(self) -> Measurement:
        """Return the client's report, as runner quic's, and both sockets' drops."""
        flow = self._flow
        report = self.client.session.report() | {
            "receive_buffer_bytes": flow.client_host.receive_buffer_bytes,
            "socket_drops": flow.client_host.socket_drops,
            "server_socket_drops": flow.server_host.socket_drops,
        }
        return read_report(report, flow.workload)

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields: it shows them in qlog only."""
        connection = self._server.connection
        if not connection.has_begun:
            return NO_CONGESTION
        return congestion_of(connection.quic._loss)


def congestion_of(recovery: Any) -> Congestion:
    """Return what a `QuicPacketRecovery` knows of congestion; that of aioquic 0.8 has it, too."""
    threshold = recovery._cc.ssthresh
    return Congestion(
        recovery.congestion_window,
        recovery.bytes_in_flight,
        "" if threshold is None else threshold,
        f"{recovery._rtt_smoothed * 1000:.3f}",
    )


def _connection(flow: VirtualFlow, options: AioquicOptions, role: str) -> AioquicConnection:
    is_client = role == "client"
    host = flow.client_host if is_client else flow.server_host
    directory = flow.directory / "qlog" / role
    log = ConnectionLog(directory, lambda: seconds(host.now)) if options.qlog else None
    return make_end(
        options if is_client else server_options(options, flow.workload),
        flow.workload,
        flow.congestion_control,
        certificate=SIMULATED.certificate,
        key=None if is_client else SIMULATED.key,
        log=log,
    )
