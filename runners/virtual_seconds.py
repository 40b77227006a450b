"""aioquic's float seconds on the virtual clock, which counts int nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from minitopo_dc.runners.virtual import VirtualHost
from minitopo_dc.units import NS_PER_S

TIMER_MARGIN_NS = 1_000
"""How much later than asked a connection's timer fires: aioquic compares floating-point sums of
seconds, and a timer that fires a rounding error too early would be asked for again, for ever."""


def seconds(moment: int) -> float:
    """A moment as aioquic takes it; to the ns for 100 days (2^53 ns)."""
    return moment / NS_PER_S


def moment_of(timer: float | None) -> int | None:
    """When to fire a connection's timer."""
    return None if timer is None else int(timer * NS_PER_S) + TIMER_MARGIN_NS


class Sender(Protocol):
    """A connection that has datagrams to send; aioquic's is one."""

    def datagrams_to_send(self, now: float) -> Iterable[tuple[bytes, Any]]:
        """What is to be sent at `now` (s), and where to."""


class SecondsHost:
    """An end host of one address as aioquic's ends see it."""

    def __init__(self, host: VirtualHost) -> None:
        self._host = host

    def clock(self) -> float:
        """The time in s."""
        return seconds(self._host.now)

    def transmit(self, connection: Sender) -> int:
        """Send what a connection has to send now; the number of bytes."""
        datagrams = [
            (data, None, address) for data, address in connection.datagrams_to_send(self.clock())
        ]
        self._host.send(datagrams)
        return sum(len(data) for data, _, _ in datagrams)
