"""What a transport needs for the virtual clock: its two ends as sans-IO classes.

A runner whose `virtual` returns a `VirtualTransport` runs there. Time is an argument in seconds; an
end reads no clock but its host's, and opens no socket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Measurement, Workload

Address = tuple[Any, ...]
"""As a socket's `recvfrom` gives it: host and port first."""


class Sender(Protocol):
    """A connection that has datagrams to send; aioquic's is one."""

    def datagrams_to_send(self, now: float) -> Iterable[tuple[bytes, Any]]:
        """What is to be sent at `now` (s), with the address, which the host knows already."""


class VirtualHost(Protocol):
    """An end host as its endpoint sees it: a UDP socket and a clock."""

    @property
    def socket_drops(self) -> int:
        """Datagrams dropped because the receive buffer was full."""

    @property
    def receive_buffer_bytes(self) -> int:
        """The receive buffer, as Linux counts it."""

    def set_receive_buffer(self, size_bytes: int) -> None:
        """Change it; before anything arrives."""

    def clock(self) -> float:
        """The time in s."""

    def transmit(self, connection: Sender) -> int:
        """Send what a connection has to send now; the number of bytes."""


class VirtualEndpoint(Protocol):
    """One end of a flow."""

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        """Act on what arrived and on what is due; when to be called again (s), or None."""


class Congestion(NamedTuple):
    """The sender's congestion control now; empty text where it has no value."""

    cwnd_bytes: int | str
    in_flight_bytes: int | str
    ssthresh_bytes: int | str
    smoothed_rtt_ms: str


class VirtualConnection(Protocol):
    """Both ends of one flow."""

    @property
    def client(self) -> VirtualEndpoint:
        """The client's end."""

    @property
    def server(self) -> VirtualEndpoint:
        """The server's end."""

    def start(self) -> float | None:
        """Begin to connect; when the client is to be called again."""

    def measure(self) -> Measurement:
        """What was measured, at the end of the run.

        Raises:
            TransferFailed: something else arrived than what was sent, or the connection failed.
        """

    def congestion(self) -> Congestion:
        """For the time series."""

    def save_logs(self) -> None:
        """Write what the endpoints logged (qlog), if anything."""


@dataclass(frozen=True)
class VirtualFlow:
    """What a transport is told of a flow.

    Attributes:
        workload: what its ends do.
        congestion_control: one of the runner's.
        options: the runner's own.
        recovery: `modern`, or another loss recovery that the transport knows.
        server_address: where the client connects to.
        client_host: the client's.
        server_host: the server's.
        directory: for its logs.
        ended: to be called once, when the client has ended.
        paths: of mode `multipath`, when which leg has a path, in s since `begin_s`.
        begin_s: time zero of the legs, on the hosts' clock.
    """

    workload: Workload
    congestion_control: str
    options: Mapping[str, Any]
    recovery: str
    server_address: Address
    client_host: VirtualHost
    server_host: VirtualHost
    directory: Path
    ended: Callable[[], None]
    paths: PathPlan | None = None
    begin_s: float = 0.0


VirtualTransport = Callable[[VirtualFlow], VirtualConnection]
"""Makes both ends of a flow."""
