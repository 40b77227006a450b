"""A leg that is not emulated here: the element counts its packets and holds none.

In a user's Mininet script the legs may be links of any class, whose own queue, rate and delay come
behind the element.
"""

from __future__ import annotations

from minitopo_dc.link import LegStatistics
from minitopo_dc.real.element.drivers import Held, Outlet
from minitopo_dc.real.element.kernel.injection import Injector


class Wire:
    """The state of a wire: whether its interface is up, and what was given to it."""

    def __init__(self) -> None:
        self.is_up = True
        self._packets = self._bytes = 0

    def start(self, now: int) -> None:
        """Do nothing, as a wire has no time of its own."""

    def set_up(self, up: bool, now: int) -> None:  # noqa: ARG002 (a leg's)
        """Remember whether the interface is up."""
        self.is_up = up

    def count(self, size: int) -> None:
        """Count a packet of `size` bytes that went on."""
        self._packets += 1
        self._bytes += size

    def statistics(self) -> LegStatistics:
        """Return the counters; what went on counts as delivered, as its fate is not seen here."""
        return LegStatistics(
            pushed_packets=self._packets,
            pushed_bytes=self._bytes,
            delivered_packets=self._packets,
            delivered_bytes=self._bytes,
            dropped_queue=0,
            dropped_loss=0,
            dropped_stop=0,
            dropped_flush=0,
            queue_packets=0,
            queue_bytes=0,
            queue_max=0,
            air_packets=0,
        )


class WireDriver(Outlet):
    """A wire as the element sees it: a packet goes on at once."""

    def __init__(self, number: int) -> None:
        super().__init__(number, Injector(number))
        self.leg = Wire()

    def push(self, packet: Held, size: int, now: int) -> None:
        """Let the packet go on to the interface, and count it."""
        self.leg.count(size)
        super().push(packet, size, now)
