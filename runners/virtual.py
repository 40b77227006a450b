"""Interfaces of a transport on the virtual clock: its two ends as objects, or in a guest kernel.

A runner whose `virtual` returns a `VirtualTransport` runs there. Time is an argument in int ns; an
end reads no clock but its host's, and opens no socket. One whose `guest` returns a `GuestTransport`
has its ends in a Linux kernel whose clock is the virtual one (`minitopo_dc.linux_guest`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from minitopo_dc.workloads import Measurement
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


class GuestFlow(Ends, Protocol):
    """A flow whose ends are in a guest kernel: its orders, and the guest's reports."""

    def files(self) -> Mapping[str, bytes]:
        """Return the guest's files (`linux_guest.orders`), right before its start."""

    def take(self, words: str) -> bool:
        """Take one of the agent's reports; return whether it is the last one."""

    def close(self) -> None:
        """Close its files, as the run is over."""
