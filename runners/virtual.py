"""Interfaces of a transport on the virtual clock: its two ends as objects, or in a guest kernel.

A runner whose `virtual` returns a `VirtualTransport` runs there. Time is an argument in int ns; an
end reads no clock but its host's, and opens no socket. One whose `guest` returns a `GuestTransport`
has its ends in a Linux kernel whose clock is the virtual one (`minitopo_dc.linux_guest`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from minitopo_dc.fields import PathPlan
from minitopo_dc.workloads import Measurement, Workload
from minitopo_dc.workloads.path_reports import PathSample

Address = tuple[str, int]
"""An IP address and a port."""
Received = tuple[bytes, Address, Address, int]
"""A datagram's payload, source, destination and ECN code point (RFC 3168)."""
Sent = tuple[bytes, Address | None, Address]
"""The first three; without a source it is the host's first address that has a way there."""


class VirtualHost(Protocol):
    """An end host as its endpoint sees it: a UDP socket for each address, and a clock."""

    @property
    def now(self) -> int:
        """Return the time in ns."""

    @property
    def socket_drops(self) -> int:
        """Return how many datagrams were dropped because a receive buffer was full."""

    @property
    def receive_buffer_bytes(self) -> int:
        """Return the receive buffer of each socket in bytes, as Linux counts it."""

    def set_receive_buffer(self, size_bytes: int) -> None:
        """Set the receive buffer of each socket (bytes), before anything arrives."""

    def set_ecn(self, code_point: int) -> None:
        """Set the ECN code point of all datagrams, before anything is sent."""

    def send(self, datagrams: Iterable[Sent]) -> None:
        """Send datagrams now, in this order.

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


class Congestion(NamedTuple):
    """The sender's congestion control now, with empty text where it has no value."""

    cwnd_bytes: int | str
    in_flight_bytes: int | str
    ssthresh_bytes: int | str
    smoothed_rtt_ms: str


NO_CONGESTION = Congestion("", "", "", "")


class Ends(Protocol):
    """Both ends of one flow on the virtual clock; in a guest all is as it last reported it."""

    def measure(self) -> Measurement:
        """Return what was measured, at the end of the run.

        Raises:
            TransferFailed: something else arrived than what was sent, or the connection failed.
        """

    def congestion(self) -> Congestion:
        """Return the sender's congestion control now, for the time series."""

    def path_samples(self) -> Sequence[PathSample]:
        """Return samples of several paths: each now, and what changed since the last call."""


class VirtualConnection(Ends, Protocol):
    """Both ends of one flow as objects."""

    @property
    def client(self) -> VirtualEndpoint:
        """Return the client's end of the flow."""

    @property
    def server(self) -> VirtualEndpoint:
        """Return the server's end of the flow."""

    def start(self) -> int | None:
        """Begin to connect; return when the client is to be called again (ns)."""

    def save_logs(self) -> None:
        """Write what the endpoints logged, if any, as the run is over."""


@dataclass(frozen=True, kw_only=True)
class FlowFacts:
    """Facts about a flow for its transport, whatever its ends are.

    Attributes:
        workload: what its ends do.
        congestion_control: one of the runner's.
        options: the runner's own.
        server_address: where the client connects to.
        client_addresses: by the leg that their packets take; the primary one first.
        proxy_address: where the client's connection ends instead, if there is a proxy.
        wire_ns: the one-way delay (ns) of the wire between gnb, or a proxy on it, and the server.
        key_frame_address: the client's of a connection of key frames, if there is one.
        leg_addresses: the client's on every leg, also on those that the flow does not use.
        directory: for its logs.
        begin: time zero of the legs, on the hosts' clock (ns).
        seed: of what a transport draws at random; each flow of a scenario has its own.
        paths: of mode `multipath`, when which leg has a path, in s since `begin`.
        plugins: the user's modules and files that programs may need.
        sysctl: kernel settings of both hosts, of ends in a guest.
        earlier_downloads: of ends in a guest, how many go before the one that is measured.
    """

    workload: Workload
    congestion_control: str
    options: Mapping[str, Any]
    server_address: Address
    client_addresses: Mapping[int, Address]
    leg_addresses: tuple[str, ...]
    key_frame_address: Address | None = None
    proxy_address: Address | None = None
    wire_ns: int = 0
    directory: Path
    begin: int
    seed: int
    paths: PathPlan | None = None
    plugins: tuple[str, ...] = ()
    sysctl: Mapping[str, str] = field(default_factory=dict)
    earlier_downloads: int = 0


@dataclass(frozen=True, kw_only=True)
class VirtualFlow(FlowFacts):
    """Facts about a flow whose ends are objects in this process.

    Attributes:
        client_host: the client's.
        server_host: the server's.
        ended: to be called once, when the client has ended.
    """

    client_host: VirtualHost
    server_host: VirtualHost
    ended: Callable[[], None]


VirtualTransport = Callable[[VirtualFlow], VirtualConnection]
"""Makes both ends of a flow."""


class GuestFlow(Ends, Protocol):
    """A flow whose ends are in a guest kernel: its orders, and the guest's reports."""

    def files(self) -> Mapping[str, bytes]:
        """Return the guest's files (`linux_guest.orders`), right before its start."""

    def take(self, words: str) -> bool:
        """Take one of the agent's reports; return whether it is the last one."""

    def close(self) -> None:
        """Close its files, as the run is over."""


GuestTransport = Callable[[FlowFacts], GuestFlow]
"""Makes a flow for a guest."""
