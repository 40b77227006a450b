"""A QUIC stack on the virtual clock: both ends of a flow, on one path or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from minitopo_dc.fields import PathPlan
from minitopo_dc.quic.connection import Connection, StackError
from minitopo_dc.runners.base import TransferFailed, VirtualFlow, read_report
from minitopo_dc.runners.quic import server_options
from minitopo_dc.runners.sans_io.ends import ClientSession, ServerSession
from minitopo_dc.runners.sans_io.session import MarkedSession, Session
from minitopo_dc.runners.virtual import (
    NO_CONGESTION,
    Address,
    Congestion,
    Received,
    VirtualHost,
)
from minitopo_dc.workloads import Measurement
from minitopo_dc.workloads.path_reports import PATHS, PathSample

if TYPE_CHECKING:  # which imports this
    from minitopo_dc.runners.sans_io.runner import StackRunner


class StackPair:
    """A client and a server, on one path or, with a plan of paths, on those of the plan."""

    def __init__(self, runner: StackRunner, flow: VirtualFlow) -> None:
        self._runner, self._flow = runner, flow
        options = runner.options(flow)
        if options.receive_buffer_bytes:
            flow.client_host.set_receive_buffer(options.receive_buffer_bytes)
        if buffer_bytes := server_options(options, flow.workload).receive_buffer_bytes:
            flow.server_host.set_receive_buffer(buffer_bytes)
        if code_point := runner.code_point(flow):
            for host in (flow.client_host, flow.server_host):
                host.set_ecn(code_point)
        runner.seed(flow.seed)
        asking, answering = self._sessions(flow)
        self.client: StackEndpoint[ClientSession] = StackEndpoint(
            asking, flow.client_host, flow.ended
        )
        self.server: StackEndpoint[ServerSession] = StackEndpoint(
            answering, flow.server_host, self._count_paths
        )

    def _sessions(self, flow: VirtualFlow) -> tuple[ClientSession, ServerSession]:
        """Return what both ends do on their connections."""
        ends = self._connections()
        marked: tuple[MarkedSession | None, MarkedSession | None] = (None, None)
        if (address := flow.key_frame_address) is not None:
            client, server = self._connections()
            marked = MarkedSession(client, address), MarkedSession(server)
        plan, addresses = flow.paths or PathPlan.whole(1), flow.clients
        return self._sessions_on(
            ends, plan, addresses, clients=flow.client_addresses, marked=marked
        )

    def _connections(self) -> tuple[Connection, Connection]:
        """Return the client's end and the server's, neither of which has sent anything."""
        flow, connection = self._flow, self._runner.connection
        return (
            connection(self._flow, "client", lambda: flow.client_host.now),
            connection(self._flow, "server", lambda: flow.server_host.now),
        )

    def _sessions_on(
        self,
        ends: tuple[Connection, Connection],
        plan: PathPlan,
        addresses: Sequence[Address],
        *,
        clients: Sequence[str],
        marked: tuple[MarkedSession | None, MarkedSession | None] = (None, None),
    ) -> tuple[ClientSession, ServerSession]:
        """Return the sessions of both ends; `clients`: the addresses that the server sees."""
        flow, workload = self._flow, self._flow.workload
        client, server = self._runner.sessions()
        return (
            client(
                *(ends[0], plan, addresses, flow.server, flow.begin_ns),
                make=workload.make_client,
                marked=marked[0],
            ),
            server(
                *(ends[1], clients, flow.begin_ns),
                make=workload.make_server,
                bare=workload.bare_streams,
                marked=marked[1],
            ),
        )

    def start(self) -> int | None:
        """Begin to connect; return when the client is to be called again (ns)."""
        now = self._flow.client_host.now
        self.client.session.start(now)
        return self.client.step(now, ())

    def measure(self) -> Measurement:
        """Return the client's report, the server socket's drops and, if several, each path."""
        flow, negotiated = self._flow, self.server.session.describe()
        report = self.client.session.client.report() | {
            "receive_buffer_bytes": flow.client_host.receive_buffer_bytes,
            "socket_drops": flow.client_host.socket_drops,
            **negotiated,
            "server_socket_drops": flow.server_host.socket_drops,
        }
        if flow.paths is not None:
            report[PATHS] = self.server.session.paths.reports()
        measured = read_report(report, flow.workload)
        several = flow.paths is not None and len(flow.client_addresses) > 1
        self._runner.check_negotiated(negotiated, self._control, multipath=several)
        return measured

    @property
    def _control(self) -> str:
        """Return the congestion control of the connection over the legs."""
        return self._flow.congestion_control

    def congestion(self) -> Congestion:
        """Return the congestion of a connection with one path."""
        several = self._flow.paths is not None
        return NO_CONGESTION if several else self.server.session.congestion()

    def path_samples(self) -> Sequence[PathSample]:
        """Return samples of several paths: each now, and as it opened or closed since."""
        if self._flow.paths is None:
            return ()
        self._count_paths()
        return self.server.session.take_samples()

    def save_logs(self) -> None:
        """Free both ends, which has a stack write its qlog."""
        client, server = self.client.session, self.server.session
        if not client.ended:  # count what has arrived, as the run is over before the connection
            client.handle_all(self._flow.client_host.now, all_data=True)
        self._count_paths()
        for connection in (*client.connections, *server.connections):
            connection.free()

    def _count_paths(self) -> None:
        self.server.session.finish(self._flow.server_host.now)


AnySession = TypeVar("AnySession", bound=Session)


class StackEndpoint(Generic[AnySession]):
    """One end of a flow: a session, and the host from which it sends."""

    def __init__(self, session: AnySession, host: VirtualHost, on_end: Callable[[], None]) -> None:
        """Take a session, its host, and what is called once when the connection is over."""
        self.session = session
        self._host = host
        self._on_end = on_end

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived and on what is due; return when to be called again (ns).

        Raises:
            TransferFailed: the stack gave up.
        """
        session = self.session
        if session.ended:
            return None
        try:
            if datagrams:
                session.receive_all(datagrams, now)
            sent = session.drive(now)
        except StackError as error:
            raise TransferFailed(str(error)) from None
        if sent:
            self._host.send(sent)
        if session.ended:
            self._on_end()
            return None
        return session.next_timeout()

    @property
    def in_c(self) -> bool:
        """Return whether C can drive it, as all of it is one connection."""
        return self.session.connection.in_c and self.session.marked is None

    def resume(self, now: int, *, has_events: bool) -> int | None:
        """Do as `step` does, with what arrived read already."""
        self.session.connection.has_events = has_events
        return self.step(now, ())


def make_pair(runner: StackRunner, flow: VirtualFlow) -> StackPair:
    """Return both ends of a flow, with a tunnel between them if it has a proxy on the UPF."""
    if flow.proxy_address is None:
        return StackPair(runner, flow)
    from minitopo_dc.runners.sans_io.tunnel import TunnelPair  # noqa: PLC0415 (aioquic)

    return TunnelPair(runner, flow)
