"""Runner `quic` on the virtual clock: both its ends, driven by events instead of sockets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

from minitopo_dc.runners.addresses import SIMULATED
from minitopo_dc.runners.aioquic.client import AioquicClient, SteppedClient, make_client
from minitopo_dc.runners.aioquic.connection import make_connection
from minitopo_dc.runners.aioquic.runner import AioquicOptions, configuration
from minitopo_dc.runners.aioquic.server import Http3Session, accept
from minitopo_dc.runners.base import read_report
from minitopo_dc.runners.quic import server_options
from minitopo_dc.runners.virtual import (
    NO_CONGESTION,
    Congestion,
    Received,
    VirtualFlow,
    VirtualHost,
)
from minitopo_dc.units import NS_PER_S
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PathSample

TIMER_MARGIN_NS = 1_000
"""How much later than asked a connection's timer fires: aioquic compares floating-point sums of
seconds, and a timer that fires a rounding error too early would be asked for again, for ever."""


def seconds(moment: int) -> float:
    """Return a moment in s, as aioquic takes it; exact to the ns for 100 days (2^53 ns)."""
    return moment / NS_PER_S


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
        """Send what either aioquic's connection has to send now; return the number of bytes."""
        datagrams = [
            (data, None, address) for data, address in connection.datagrams_to_send(self.clock())
        ]
        self._host.send(datagrams)
        return sum(len(data) for data, _, _ in datagrams)


class VirtualTrace(QuicLoggerTrace):
    """One connection's events; aioquic's own class reads the machine's clock."""

    def __init__(self, *, is_client: bool, odcid: bytes, clock: Callable[[], float]) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self._clock = clock

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        """Add an event to the log."""
        self._events.append(
            {
                "data": data,
                "name": f"{category}:{event}",
                "time": self.encode_time(self._clock()),
            }
        )


class VirtualLogger(QuicLogger):
    """Logs one endpoint; `save` writes what it has."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        super().__init__()
        self._path = path
        self._clock = clock

    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        """Start the log of a connection (aioquic's hook)."""
        trace = VirtualTrace(is_client=is_client, odcid=odcid, clock=self._clock)
        self._traces.append(trace)
        return trace

    def save(self) -> None:
        """Write the log into its file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.to_dict()), encoding="utf-8")


AnyApplication = TypeVar("AnyApplication", bound=SteppedClient)


def congestion_of(recovery: Any) -> Congestion:
    """Return what a `QuicPacketRecovery` knows of congestion; that of aioquic 0.8 has it, too."""
    threshold = recovery._cc.ssthresh
    return Congestion(
        recovery.congestion_window,
        recovery.bytes_in_flight,
        "" if threshold is None else threshold,
        f"{recovery._rtt_smoothed * 1000:.3f}",
    )


def measured(client: SteppedClient, flow: VirtualFlow) -> Measurement:
    """Return the measurement in a client's report, with both sockets' drops."""
    report = client.report() | {
        "receive_buffer_bytes": flow.client_host.receive_buffer_bytes,
        "socket_drops": flow.client_host.socket_drops,
        "server_socket_drops": flow.server_host.socket_drops,
    }
    return read_report(report, flow.workload)


class QuicConnectionPair:
    """A client, a server, and their logs, on one path."""

    def __init__(self, flow: VirtualFlow) -> None:
        options = AioquicOptions.check(flow.options, "runner quic")
        if options.receive_buffer_bytes:
            flow.client_host.set_receive_buffer(options.receive_buffer_bytes)
        own = server_options(options, flow.workload)
        if own.receive_buffer_bytes:
            flow.server_host.set_receive_buffer(own.receive_buffer_bytes)
        self._flow = flow
        clock = SecondsHost(flow.client_host).clock
        self._logs = [
            VirtualLogger(flow.directory / "qlog" / role / "1.qlog", clock)
            for role in ("client", "server")
            if options.qlog
        ]
        client_log, server_log = self._logs or (None, None)
        self.client = ClientEnd(flow, make_application(flow, options, client_log))
        self.server = VirtualServer(flow, own, server_log)

    def start(self) -> int | None:
        """Begin to connect; return when the client is to be called again (ns)."""
        return moment_of(self.client.application.start(self._flow.server_address))

    def measure(self) -> Measurement:
        """Return the client's report, as runner quic's, and the server socket's drops."""
        return measured(self.client.application, self._flow)

    def congestion(self) -> Congestion:
        """Read from aioquic's own fields: it shows them in qlog only."""
        if self.server.session is None:
            return NO_CONGESTION
        return congestion_of(self.server.session.connection._loss)

    def path_samples(self) -> Sequence[PathSample]:
        """Return no samples, as it has one path."""
        return ()

    def save_logs(self) -> None:
        """Write both ends' qlog files."""
        for log in self._logs:
            log.save()


class ClientEnd(Generic[AnyApplication]):
    """The client's end: it does what the workload asks for, and says when it has ended."""

    def __init__(self, flow: VirtualFlow, application: AnyApplication) -> None:
        self.application = application
        self._ended = flow.ended

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived and on what is due; return when to be called again (ns)."""
        arrived = [(data, source) for data, source, *_ in datagrams]
        timer = self.application.step(seconds(now), arrived)
        if self.application.ended:
            self._ended()
            return None
        return moment_of(timer)


def make_application(
    flow: VirtualFlow, options: AioquicOptions, qlog: QuicLogger | None
) -> AioquicClient:
    """Return the client of a flow's workload, which sends as its host."""
    workload, control = flow.workload, flow.congestion_control
    made = configuration(workload, control, options, is_client=True, logger=qlog)
    made.load_verify_locations(str(SIMULATED.certificate))
    host = SecondsHost(flow.client_host)
    connection = make_connection(made, options.tuning)
    return make_client(workload, connection, host.transmit, host.clock)


class VirtualServer:
    """The server's end: it accepts one connection and answers its requests."""

    def __init__(self, flow: VirtualFlow, options: AioquicOptions, qlog: QuicLogger | None) -> None:
        self.session: Http3Session | None = None
        self._workload, self._tuning = flow.workload, options.tuning
        self._host = SecondsHost(flow.server_host)
        control = flow.congestion_control
        self._configuration = configuration(
            self._workload, control, options, is_client=False, logger=qlog
        )
        self._configuration.load_cert_chain(*SIMULATED)

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived and on what is due; return when to be called again (ns)."""
        now_s = seconds(now)
        for data, address, *_ in datagrams:
            if self.session is None:
                configuration, tuning = self._configuration, self._tuning
                self.session = accept(data, configuration, tuning, self._workload)
            if self.session is not None:
                self.session.connection.receive_datagram(data, address, now_s)
        if self.session is None or self.session.ended:
            return None
        self.session.drive(now_s, self._host.transmit)
        return moment_of(self.session.timer())
