"""An end host in virtual time: UDP sockets, one CPU, and one endpoint of a transport."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from minitopo_dc.runners.virtual import Address, Received, Sent, VirtualEndpoint
from minitopo_dc.scenario.scenario import BATCH
from minitopo_dc.units import NS_PER_US
from minitopo_dc.virtual.network import Flow, Packet, VirtualLoop, WaitingLine

LINUX_RECEIVE_BUFFER = 212_992
"""The default of Linux in bytes, net.core.rmem_default (and of the papers' 'QUIC default', thesis
table 4.4)."""


class ReceiveBuffer:
    """A UDP socket's receive buffer as Linux counts it.

    - A datagram costs the memory of its buffer (`truesize`), not its length: the IP packet with
      what stands before and behind it in the next larger power of two (kmalloc), and the
      descriptor. 1,200 bytes of payload cost 2,304, as do all from 645 to 1,472.
    - It is dropped when the sum would exceed the limit (SO_RCVBUF).
    - A reader takes all that waits into a queue of its own, and what it has read is freed together:
      when that is a quarter of the limit, or the queue is empty (udp_rmem_release in
      net/ipv4/udp.c). From Linux 4.14 on an empty queue did not free anything; 5.5 has taken that
      back, and 5.4.16 too, in January 2020 (commits 0d4a6608f68c and d39ca2590d10).

    These were measured on Linux 6.18 (loopback, SK_MEMINFO_RMEM_ALLOC), but for what 4.14 did: 92
    datagrams of 1,200 bytes fit in 212,992. (That kernel has a smaller buffer for heads up to 160
    bytes, which costs 832 where this rule has 768.) With IPv6 the same steps come at payloads that
    are 13 bytes shorter. QUIC datagrams have such sizes only by chance, so that the two are not
    told apart here.
    """

    HEADERS_BYTES = 28
    """The headers of IPv4 and UDP (RFC 791, RFC 768)."""

    OVERHEAD_BYTES = 16 + 320 + 16
    """The link-layer header (LL_RESERVED_SPACE), struct skb_shared_info, and alignment."""
    DESCRIPTOR_BYTES = 256
    """The size of struct sk_buff."""

    def __init__(self, limit: int) -> None:
        """Make an empty buffer with a limit in bytes."""
        self.drops = 0
        self.limit = limit
        self.frees_quarters_only = False
        """Whether it frees as Linux 4.14 to 5.4 did."""
        self._used = 0
        self._read = 0  # of `_used`: what was read and is not freed yet
        self._waiting = 0  # datagrams
        self._taken = 0  # of those: what the reader has taken into its queue

    def put(self, payload: int) -> bool:
        """Take a datagram with so many bytes of payload; return whether there was room for it."""
        cost = self.truesize(payload)
        if self._used + cost > self.limit:
            self.drops += 1
            return False
        self._used += cost
        self._waiting += 1
        return True

    def take(self, payload: int) -> None:
        """Read a kept datagram with so many bytes of payload, and free what is to be freed then."""
        self._taken = (self._taken or self._waiting) - 1
        self._waiting -= 1
        self._read += self.truesize(payload)
        if self._read >= self.limit // 4 or not (self._taken or self.frees_quarters_only):
            self._used -= self._read
            self._read, self._taken = 0, self._waiting

    @classmethod
    def truesize(cls, payload: int) -> int:
        """Return the memory in bytes that a datagram with this payload costs."""
        head = payload + cls.HEADERS_BYTES + cls.OVERHEAD_BYTES
        return (1 << (head - 1).bit_length()) + cls.DESCRIPTOR_BYTES


class EndHost:
    """A process on one CPU between its sockets and its endpoint.

    - The CPU takes `cpu_ns` to read a datagram and `cpu_ns` to send one, one after the other.
    - A step reads up to `batch` datagrams of those that have arrived, and what the endpoint answers
      leaves when all of them have been read.
    - With `cpu_ns` above 0, those that arrive meanwhile wait in the receive buffers of their
      sockets. With 0, no receive buffer overflows.
    - Datagrams of several sockets are read in the order of their arrival.
    """

    def __init__(
        self, loop: VirtualLoop, flows: Sequence[Flow], *, cpu_ns: int = 0, batch: int = BATCH
    ) -> None:
        """Make a host that sends on `flows`, once `endpoint` is set; a socket for each source."""
        self.endpoint: VirtualEndpoint
        self._received_bytes = 0
        self._loop = loop
        self._flows: dict[tuple[Address | None, Address], Flow] = {}
        for flow in flows:
            self._flows[flow.source, flow.destination] = flow
            self._flows.setdefault((None, flow.destination), flow)
        self._buffers = {flow.source: ReceiveBuffer(LINUX_RECEIVE_BUFFER) for flow in flows}
        self._waiting: deque[Received] = deque()
        self._cpu = cpu_ns
        self._busy_until = loop.now
        self._batch = batch
        self._timer = loop.timer(self._run)
        self._departures = WaitingLine[Packet](loop, lambda packet: packet.flow.enter(packet))

    @property
    def now(self) -> int:
        """Return the virtual time in ns."""
        return self._loop.now

    @property
    def received_bytes(self) -> int:
        """Return the IP bytes that reached this host."""
        return self._received_bytes

    @property
    def socket_drops(self) -> int:
        """Return how many datagrams found a receive buffer full."""
        return sum(buffer.drops for buffer in self._buffers.values())

    @property
    def receive_buffer_bytes(self) -> int:
        """Return the limit of each receive buffer in bytes."""
        return next(iter(self._buffers.values())).limit

    def set_receive_buffer(self, size_bytes: int) -> None:
        """Set the limit of each receive buffer in bytes, before anything arrives."""
        for buffer in self._buffers.values():
            buffer.limit = size_bytes

    def set_ecn(self, code_point: int) -> None:
        """Set the ECN code point (RFC 3168) of all datagrams, before anything is sent."""
        for flow in self._flows.values():
            flow.ecn = code_point

    def free_quarters_only(self) -> None:
        """Have the receive buffers free their memory as Linux 4.14 to 5.4 did."""
        for buffer in self._buffers.values():
            buffer.frees_quarters_only = True

    def wake(self, moment: int | None) -> None:
        """Let the endpoint act at a moment (ns), or when the CPU is free if that is later."""
        if moment is not None:
            self._timer.bring_forward(max(moment, self._busy_until, self._loop.now))

    def receive(self, packet: Packet) -> None:
        """Take a datagram that reached its socket, and read it when the CPU is free."""
        self._received_bytes += packet.size
        if self._cpu and not self._buffers[packet.flow.destination].put(len(packet.data)):
            return
        flow = packet.flow
        self._waiting.append((packet.data, flow.source, flow.destination, packet.ecn))
        now, busy, at = self._loop.now, self._busy_until, self._timer.at
        due = now if now > busy else busy
        if at is None or due < at:
            self._timer.set(due)

    def send(self, datagrams: Iterable[Sent]) -> None:
        """Send datagrams, one after the other as the CPU can."""
        flows = self._flows
        for data, source, destination in datagrams:
            flow = flows[source, destination]
            if self._cpu:
                self._busy_until += self._cpu
                self._departures.push(Packet(flow, data), self._busy_until)
            else:
                flow.enter(Packet(flow, data))

    def _run(self) -> None:
        now = self._loop.now
        taken = self._take()
        if self._cpu:
            for data, _, destination, _ in taken:
                self._buffers[destination].take(len(data))
            self._busy_until = now + self._cpu * len(taken)
        moment = self.endpoint.step(now, taken)
        if self._waiting:
            self._timer.set(max(now, self._busy_until))
        elif moment is not None:
            # Never wait for the same moment again without a packet, or time would stand still.
            self._timer.set(max(moment, self._busy_until, now + NS_PER_US))

    def _take(self) -> Sequence[Received]:
        waiting, batch = self._waiting, self._batch
        if len(waiting) > batch:
            return [waiting.popleft() for _ in range(batch)]
        taken = list(waiting)
        waiting.clear()
        return taken


class GuestHost:
    """The part of a host that is outside its guest: the CPU time of each packet.

    As in `EndHost`, reading a packet, and sending one, each take `cpu_ns`; the CPU does one
    thing at a time.
    """

    def __init__(
        self, loop: VirtualLoop, cpu_ns: int, inject: Callable[[int, bytes], None]
    ) -> None:
        self.received_bytes = 0
        """IP bytes that reached this host."""
        self._loop = loop
        self._cpu = cpu_ns
        self._inject = inject
        self._busy_until = loop.now
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._reading = loop.timer(self._read)
        self._departures = WaitingLine[Packet](loop, lambda packet: packet.flow.enter(packet))

    def receive(self, card: int, packet: Packet) -> None:
        """Take a packet that reached a card, and give it to the guest when the CPU has read it."""
        self.received_bytes += packet.size
        if not self._cpu:
            self._inject(card, packet.data)
            return
        self._waiting.append((card, packet.data))
        self._reading.bring_forward(max(self._loop.now, self._busy_until))

    def send(self, packet: Packet) -> None:
        """Send a packet of the guest's kernel when the CPU is free."""
        if not self._cpu:
            packet.flow.enter(packet)
            return
        self._busy_until = max(self._loop.now, self._busy_until) + self._cpu
        self._departures.push(packet, self._busy_until)

    def _read(self) -> None:
        now = self._loop.now
        if now >= self._busy_until:
            self._busy_until = now + self._cpu
            self._inject(*self._waiting.popleft())
        if self._waiting:
            self._reading.set(self._busy_until)
