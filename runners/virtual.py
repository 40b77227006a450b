"""What a transport needs for the virtual clock: its two ends as sans-IO classes, or in a guest.

A runner whose `virtual` returns a `VirtualTransport` runs there. Time is an argument in int ns; an
end reads no clock but its host's, and opens no socket. One whose `guest` returns a `GuestTransport`
has its ends in a Linux kernel whose clock is the virtual one (`minitopo_dc.linux_guest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from minitopo_dc.settings import PathPlan
from minitopo_dc.workloads import Measurement, Workload
from minitopo_dc.workloads.paths import PathSample

Address = tuple[str, int]
"""An IP address and a port."""
Received = tuple[bytes, Address, Address]
"""A datagram's payload, source and destination."""
Sent = tuple[bytes, Address | None, Address]
"""The same; without a source it is the host's first address that has a way to the destination."""


class VirtualHost(Protocol):
    """An end host as its endpoint sees it: a UDP socket for each of its addresses, and a clock."""

    @property
    def now(self) -> int:
        """The time in ns."""

    @property
    def socket_drops(self) -> int:
        """Datagrams dropped because a receive buffer was full."""

    @property
    def receive_buffer_bytes(self) -> int:
        """The receive buffer of each socket, as Linux counts it."""

    def set_receive_buffer(self, size_bytes: int) -> None:
        """Change it; before anything arrives."""

    def send(self, datagrams: Iterable[Sent]) -> None:
        """Send now, in this order.

        Raises:
            KeyError: the host has no way from a source to a destination.
        """


class VirtualEndpoint(Protocol):
    """One end of a flow."""

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        """Act on what arrived, in order of arrival, and on what is due.

        Returns:
            when to be called again (ns) if nothing arrives before, or None. What is not after `now`
            is taken for 1 us after it, so that time goes on.
        """


class InC(NamedTuple):
    """An endpoint of picoquic as C drives it."""

    pointers: tuple[int, int, int, int]
    """Addresses in memory: the endpoint, its `mdc_state`, `mdc_receive`, `mdc_send`."""
    number: Callable[[Address], int]
    """Gives the endpoint's number of an address."""


@runtime_checkable
class EndpointInC(Protocol):
    """A `VirtualEndpoint` that C can drive, but for what is due or has happened."""

    @property
    def due(self) -> int | None:
        """When to resume whatever arrives (ns); None: not at all."""

    @property
    def ended(self) -> bool:
        """Whether it is over, and nothing is to be sent any more."""

    def in_c(self) -> InC:
        """Return what C needs."""

    def resume(self, now: int, *, has_events: bool) -> int | None:
        """Do as `step` does, with what arrived read already; `has_events`: some is to be told."""


class Congestion(NamedTuple):
    """The sender's congestion control now; empty text where it has no value."""

    cwnd_bytes: int | str
    in_flight_bytes: int | str
    ssthresh_bytes: int | str
    smoothed_rtt_ms: str


NO_CONGESTION = Congestion("", "", "", "")


class VirtualConnection(Protocol):
    """Both ends of one flow."""

    @property
    def client(self) -> VirtualEndpoint:
        """The client's end."""

    @property
    def server(self) -> VirtualEndpoint:
        """The server's end."""

    def start(self) -> int | None:
        """Begin to connect; when the client is to be called again (ns)."""

    def measure(self) -> Measurement:
        """What was measured, at the end of the run.

        Raises:
            TransferFailed: something else arrived than what was sent, or the connection failed.
        """

    def congestion(self) -> Congestion:
        """For the time series."""

    def path_samples(self) -> Sequence[PathSample]:
        """Of a transport with several paths: each now, and what changed since the last call."""

    def save_logs(self) -> None:
        """The run is over, and nothing else was asked: write what the endpoints logged, if any."""


@dataclass(frozen=True, kw_only=True)
class FlowFacts:
    """What a transport is told of a flow, whatever its ends are.

    Attributes:
        workload: what its ends do.
        congestion_control: one of the runner's.
        options: the runner's own.
        server_address: where the client connects to.
        client_addresses: by the leg that their packets take; the primary one first.
        directory: for its logs.
        begin: time zero of the legs, on the hosts' clock (ns).
        seed: of what a transport draws at random; each flow of a scenario has its own.
        paths: of mode `multipath`, when which leg has a path, in s since `begin`.
    """

    workload: Workload
    congestion_control: str
    options: Mapping[str, Any]
    server_address: Address
    client_addresses: Mapping[int, Address]
    directory: Path
    begin: int
    seed: int
    paths: PathPlan | None = None


@dataclass(frozen=True, kw_only=True)
class VirtualFlow(FlowFacts):
    """The same of ends that are sans-IO.

    Attributes:
        recovery: `modern`, or another loss recovery that the transport knows.
        client_host: the client's.
        server_host: the server's.
        ended: to be called once, when the client has ended.
    """

    recovery: str
    client_host: VirtualHost
    server_host: VirtualHost
    ended: Callable[[], None]


VirtualTransport = Callable[[VirtualFlow], VirtualConnection]
"""Makes both ends of a flow."""


class GuestFlow(Protocol):
    """A flow whose ends are in a guest: what they are told, and what becomes of their words."""

    @property
    def orders(self) -> str:
        """What the guest is to do (`linux_guest.orders`)."""

    @property
    def content(self) -> bytes:
        """What its ends send each other, again and again."""

    def take(self, words: str) -> bool:
        """One of the agent's reports; whether it is the last one."""

    def measure(self) -> Measurement:
        """What was measured, at the end of the run.

        Raises:
            TransferFailed: something else arrived than what was sent, or the connection failed.
        """

    def congestion(self) -> Congestion:
        """For the time series, as the server last reported it."""

    def path_samples(self) -> Sequence[PathSample]:
        """Of a transport with several paths: what was reported since the last call."""

    def close(self) -> None:
        """The run is over."""


GuestTransport = Callable[[FlowFacts], GuestFlow]
"""Makes a flow for a guest."""
