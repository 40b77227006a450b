"""An end host: one UDP socket with its receive buffer, one CPU, one QUIC endpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from minitopo_dc.runners.virtual import Sender, VirtualEndpoint
from minitopo_dc.simulation.loop import Loop, Timer
from minitopo_dc.simulation.packet import Flow, Packet
from minitopo_dc.units import NS_PER_S

LINUX_RECEIVE_BUFFER = 212_992
"""Bytes, net.core.rmem_default of Linux (and of the papers' 'QUIC default', thesis table 4.4)."""
BATCH = 64
"""Datagrams read in one step, as by the real endpoints (`quic_endpoint.BATCH`)."""
TIMER_MARGIN_NS = 1_000
"""How much later than asked a connection's timer fires: aioquic compares floating-point sums of
seconds, and a timer that fires a rounding error too early would be asked for again, for ever."""


def seconds(moment: int) -> float:
    """A moment as aioquic takes it; to the ns for 100 days (2^53 ns)."""
    return moment / NS_PER_S


def moment_of(timer: float) -> int:
    """When to fire a connection's timer."""
    return int(timer * NS_PER_S) + TIMER_MARGIN_NS


class ReceiveBuffer:
    """A UDP socket's receive buffer as Linux counts it.

    - A datagram costs the memory of its buffer (`truesize`), not its length: the IP packet with
      what stands before and behind it in the next larger power of two (kmalloc), and the
      descriptor. 1,200 bytes of payload cost 2,304, as do all from 645 to 1,472.
    - It is dropped when the sum would exceed the limit (SO_RCVBUF).

    Both measured on Linux 6.18 (loopback, SK_MEMINFO_RMEM_ALLOC): 92 datagrams of 1,200 bytes fit
    in 212,992. (That kernel has a smaller buffer for heads up to 160 bytes, which costs 832 where
    this rule has 768.) With IPv6 the same steps come at payloads that are 13 bytes shorter, which
    no QUIC datagram meets but by chance: they are not told apart here.
    """

    HEADERS_BYTES = 28
    """IPv4 and UDP (RFC 791, RFC 768)."""

    OVERHEAD_BYTES = 16 + 320 + 16
    """Link-layer header (LL_RESERVED_SPACE), struct skb_shared_info, alignment."""
    DESCRIPTOR_BYTES = 256
    """struct sk_buff."""

    def __init__(self, limit: int, *, read_at_once: bool = False) -> None:
        """Take the limit in bytes; it never bites where every datagram is read as it comes."""
        self.drops = 0
        self.limit = limit
        self._bounded = not read_at_once
        self._used = 0
        self._waiting: deque[tuple[bytes, int]] = deque()

    def __len__(self) -> int:
        """Datagrams waiting."""
        return len(self._waiting)

    def put(self, data: bytes) -> None:
        """A datagram arrives."""
        cost = self.truesize(len(data))
        if self._bounded and self._used + cost > self.limit:
            self.drops += 1
            return
        self._used += cost
        self._waiting.append((data, cost))

    def take(self) -> bytes:
        """The first datagram."""
        data, cost = self._waiting.popleft()
        self._used -= cost
        return data

    @classmethod
    def truesize(cls, payload: int) -> int:
        """What a datagram costs."""
        head = payload + cls.HEADERS_BYTES + cls.OVERHEAD_BYTES
        return (1 << (head - 1).bit_length()) + cls.DESCRIPTOR_BYTES


class Host:
    """A process on one CPU between a socket and its endpoint.

    - Reading a datagram, and sending one, each take `cpu_ns`; the CPU does one thing at a time.
    - Without CPU time, datagrams are read as they arrive, those of one moment in steps of 64 (as by
      the real endpoints); with it, one per step, and what arrives meanwhile waits in the buffer.
    """

    def __init__(self, loop: Loop, flow: Flow, *, cpu_ns: int) -> None:
        """Make a host that sends on `flow`, once `forward` and `endpoint` are set."""
        self.endpoint: VirtualEndpoint
        self.forward: Callable[[Packet], None]
        self.buffer = ReceiveBuffer(LINUX_RECEIVE_BUFFER, read_at_once=not cpu_ns)
        self.received_bytes = 0
        """IP bytes that reached this host."""
        self._loop = loop
        self._flow = flow
        self._cpu = cpu_ns
        self._busy_until = loop.now
        self._batch = 1 if cpu_ns else BATCH
        self._timer = Timer(loop, self._run)
        self._departures: deque[tuple[int, Packet]] = deque()
        self._departure = Timer(loop, self._depart)

    @property
    def socket_drops(self) -> int:
        """Datagrams that found the receive buffer full."""
        return self.buffer.drops

    @property
    def receive_buffer_bytes(self) -> int:
        """The receive buffer's limit."""
        return self.buffer.limit

    def set_receive_buffer(self, size_bytes: int) -> None:
        """Change its limit; before anything arrives."""
        self.buffer.limit = size_bytes

    def clock(self) -> float:
        """The time in s."""
        return seconds(self._loop.now)

    def wake(self, timer: float | None) -> None:
        """Let the endpoint act when its connection's timer says."""
        if timer is not None:
            # Never the same moment again without a packet: time would stand still.
            later = self._loop.now + TIMER_MARGIN_NS
            self._timer.bring_forward(max(moment_of(timer), self._busy_until, later))

    def receive(self, packet: Packet) -> None:
        """A datagram reached the socket."""
        self.received_bytes += packet.size
        self.buffer.put(packet.data)
        self._timer.bring_forward(max(self._loop.now, self._busy_until))

    def transmit(self, connection: Sender) -> int:
        """Send what a connection has to send now; the number of bytes."""
        sent = 0
        for data, _ in connection.datagrams_to_send(seconds(self._loop.now)):
            sent += len(data)
            packet = Packet(self._flow, data)
            if self._cpu:
                self._busy_until += self._cpu
                self._departures.append((self._busy_until, packet))
                self._departure.bring_forward(self._busy_until)
            else:
                self.forward(packet)
        return sent

    def _run(self) -> None:
        now = self._loop.now
        buffer = self.buffer
        taken = [
            (buffer.take(), self._flow.destination) for _ in range(min(len(buffer), self._batch))
        ]
        self._busy_until = now + self._cpu * len(taken)
        timer = self.endpoint.step(seconds(now), taken)
        if buffer:
            self._timer.bring_forward(max(now, self._busy_until))
        else:
            self.wake(timer)

    def _depart(self) -> None:
        departures, now = self._departures, self._loop.now
        while departures and departures[0][0] <= now:
            self.forward(departures.popleft()[1])
        self._departure.set(departures[0][0] if departures else None)
