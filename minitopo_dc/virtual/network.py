"""Events, packets and flows in virtual time, in int nanoseconds.

The loop takes the earliest timer from a heap, sets the time to the timer's moment, and calls it.
Timers of the same moment fire in the order in which they were set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import copy
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import pairwise
from typing import Final, Generic, Literal, TypeVar

from minitopo_dc.pdcp.classify import CE, code_point, marked
from minitopo_dc.router.drivers import Timed
from minitopo_dc.scenario.element import Match

T = TypeVar("T")
START_NS = 1_000_000_000
"""The time of the first event. It is not 0, as NewReno in aioquic takes what is sent at 0 for in
recovery."""


class VirtualLoop:
    """An event loop that fires timers in order of time, and of one moment in order of setting."""

    def __init__(self) -> None:
        self.now = START_NS
        self.events: list[tuple[int, int, LoopTimer]] = []
        """The events that timers have asked for, with a number that tells which came first."""
        self.number = 0
        self._stopping = False

    def timer(self, fire: Callable[[], None]) -> LoopTimer:
        """Return a timer that is not set yet."""
        return LoopTimer(self, fire)

    def add_timed(self, part: Timed, *, first: bool = False) -> Callable[[], None]:  # noqa: ARG002
        """Call a part at the moments that it names, whose order is of time.

        Returns:
            what asks the part for its next moment; to be called once at the start, too.
        """
        handle, next_timeout = part.handle, part.next_timeout

        def fire() -> None:
            handle(self.now)
            timer.set(next_timeout())

        timer = self.timer(fire)
        return lambda: timer.set(next_timeout())

    def stop(self) -> None:
        """End `run` after the current event."""
        self._stopping = True

    def run(self, end: int) -> None:
        """Fire what is due until `stop`, until `end` (ns), or until nothing is left to do."""
        events = self.events
        while events and not self._stopping:
            moment, _, timer = heappop(events)
            if timer.at != moment:
                continue  # set to another time since
            if moment > end:
                return
            self.now = moment
            timer.at = None
            timer.fire()


class LoopTimer:
    """A timer with one moment at which it calls `fire`, which may set it again."""

    __slots__ = ("_loop", "at", "fire")

    def __init__(self, loop: VirtualLoop, fire: Callable[[], None]) -> None:
        self.at: int | None = None
        self.fire = fire
        self._loop = loop

    def set(self, moment: int | None) -> None:
        """Fire at `moment` (ns) instead of the moment set before; None: not at all."""
        if moment != self.at:
            self.at = moment
            if moment is not None:
                loop = self._loop
                loop.number += 1
                heappush(loop.events, (moment, loop.number, self))

    def bring_forward(self, moment: int) -> None:
        """Fire at `moment` (ns) unless the timer fires before."""
        if self.at is None or moment < self.at:
            self.set(moment)


class WaitingLine(Generic[T]):
    """A queue whose items wait for their moments, none of which is before that of the one ahead."""

    def __init__(self, loop: VirtualLoop, take: Callable[[T], None]) -> None:
        """Give each item to `take` at its moment."""
        self._loop = loop
        self._take = take
        self._items: deque[tuple[int, T]] = deque()
        self._timer = loop.timer(self._fire)

    def push(self, item: T, due: int) -> None:
        """Hold an item until `due` (ns)."""
        self._items.append((due, item))
        self._timer.bring_forward(due)

    def _fire(self) -> None:
        items, now = self._items, self._loop.now
        while items and items[0][0] <= now:
            self._take(items.popleft()[1])
        self._timer.set(items[0][0] if items else None)


UDP_HEADER_BYTES = 8
"""The size of a UDP header (RFC 768)."""
IP_HEADER_BYTES = {4: 20, 6: 40}
"""The size of an IP header without options (RFC 791) or extension headers (RFC 8200)."""


class Flow:
    """All packets from one socket to another; two flow objects are never equal."""

    __slots__ = (
        *("deliver", "destination", "dscp", "ecn", "enter", "headers_bytes", "origin"),
        *("protocol", "source"),
    )

    def __init__(
        self,
        source: tuple[str, int],
        destination: tuple[str, int],
        protocol: Literal["udp", "tcp"] = "udp",
        dscp: int = 0,
        *,
        whole: bool = False,
    ) -> None:
        """Make a flow of packets whose data are those of UDP datagrams, or whole IP packets.

        Args:
            source: the sending socket's address.
            destination: the receiving socket's address.
            protocol: of all packets.
            dscp: the code point (RFC 2474) of all packets.
            whole: whether their data are IP packets.
        """
        self.source, self.destination = source, destination
        self.protocol = protocol
        self.dscp = dscp
        self.ecn = 0
        """The ECN code point (RFC 3168) of all packets that are no whole ones."""
        self.enter: Take = _nowhere
        """The function that takes a datagram from its source."""
        self.deliver: Take = _nowhere
        """The function that takes a datagram at its destination."""
        self.origin: Take = _nowhere
        """The function that takes an ICMP error at its source."""
        self.headers_bytes = 0
        """The size of each packet's headers before its data."""
        if not whole:
            self.headers_bytes = IP_HEADER_BYTES[ip_address(source[0]).version] + UDP_HEADER_BYTES

    def belongs_to(self, match: Match) -> bool:
        """Return whether a bearer with this filter carries the flow."""
        return (
            (match.source is None or ip_address(self.source[0]) in match.source)
            and (match.destination is None or ip_address(self.destination[0]) in match.destination)
            and match.protocol in (None, self.protocol)
            and match.source_port in (None, self.source[1])
            and match.destination_port in (None, self.destination[1])
        )


class PacketMoments:
    """The moments (ns) on the way of one copy of a packet, in a run with `packet_delays`.

    Attributes:
        sent: when it left an end host.
        leg: by which it came, from 1.
        joined: when it joined the leg's queue.
        begun, carried, ready: of `minitopo_dc.link.propagation.Served`.
        arrived: when it reached the other element; None where that has no bearer for it.
    """

    __slots__ = ("arrived", "begun", "carried", "joined", "leg", "ready", "sent")

    def __init__(self, sent: int) -> None:
        self.sent = sent
        self.leg = self.joined = self.begun = self.carried = self.ready = 0
        self.arrived: int | None = None

    def parts(self, received: int) -> list[int]:
        """Return how long each part of the way took (ns) of a packet that an end host received."""
        arrived = received if self.arrived is None else self.arrived
        moments = (self.sent, self.joined, self.begun, self.carried, self.ready, arrived, received)
        return [after - before for before, after in pairwise(moments)]


class Packet:
    """One packet, whose `size` is that of the IP packet in bytes."""

    __slots__ = ("data", "ecn", "flow", "moments", "number", "size")
    number: int
    """Of a run that records its packets only: 1, 2, ... among those of its flow and direction."""
    bearer: Final = None

    def __init__(self, flow: Flow, data: bytes) -> None:
        self.flow = flow
        self.data = data
        self.size = len(data) + flow.headers_bytes
        self.moments: PacketMoments | None = None
        self.ecn = flow.ecn if flow.headers_bytes else code_point(data)

    @property
    def flow_id(self) -> bytes:
        """Return the same for all packets from one socket to another."""
        flow = self.flow
        return repr((flow.protocol, flow.source, flow.destination)).encode()

    def mark(self) -> None:
        """Set its code point to Congestion Experienced."""
        self.ecn = CE
        if not self.flow.headers_bytes:
            self.data = marked(self.data)

    def separate(self) -> Packet:
        """Return a copy of the packet, whose moments are its own."""
        made = copy(self)
        made.moments = copy(self.moments)
        return made

    def accept(self) -> None:
        """Deliver the packet at the end of its flow."""
        self.flow.deliver(self)

    def drop(self) -> None:
        """Forget the packet: nobody waits for it."""


Take = Callable[[Packet], None]


def _nowhere(_packet: Packet) -> None:
    raise LookupError("a datagram of a flow that leads nowhere")
