"""One element in Python and one in C, and what both are given."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from minitopo_dc.native.pdcp import NativeTransmitter
from minitopo_dc.pdcp import TransmittingEntity, append_trailer, sn_format
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.loop import RealLoop
from minitopo_dc.real.element.native import NativeCaptures, RealNativeLoop, counts
from minitopo_dc.real.element.packets import UNNUMBERED, Datagram, departures, pdus
from minitopo_dc.router.drivers import LegDriver, ReceiveDriver
from minitopo_dc.router.native import NativeLegDriver, NativeReceiveDriver, NativeTransmitDriver
from minitopo_dc.scenario.element import ElementSettings
from tests.native.test_native_ip import SOUND, datagrams
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import LATER, MS, Clock, FakePacket, NoInjector, sender

INDICES = [11, 12]
SDUS, PDUS, LEG_1, LEG_2 = range(4)
"""Numbers of the queues."""
HARSH = {"block_error_percent": 40, "harq_retransmissions": 0, "max_retx_threshold": 1}
RADIOS = st.fixed_dictionaries(
    {
        "rate_mbps": st.sampled_from([0.5, 8, 1000]),
        "delay_ms": st.sampled_from([0, 10]),
        "jitter_ms": st.sampled_from([0, 2]),
        "queue_packets": st.sampled_from([1, 3, 100]),
        "loss_percent": st.sampled_from([0, 30]),
        "rlc": st.sampled_from([None, HARSH, HARSH | {"mode": "um"}]),
    }
)
BEARERS = st.fixed_dictionaries(
    {
        "split": st.sampled_from(["batch", "duplicate", "least-delay"]),
        "numbering": st.sampled_from(["early", "late"]),
        "sn_bits": st.sampled_from([12, 16, 18]),
        "batch": st.just(2),
        "t_reordering_ms": st.sampled_from([0, 20, "adaptive"]),
        "flow_control": st.sampled_from([None, None, {}, {"backhaul_ms": 3, "loss_percent": 30}]),
    }
)
ARRIVALS = st.tuples(
    st.sampled_from([SDUS, SDUS, PDUS, LEG_1, LEG_2]),
    st.one_of(st.sampled_from(SOUND), datagrams()),
    st.sampled_from(INDICES),
)
"""A queue, what comes there, and the interface by which it does."""
PDU_NUMBERS = st.integers(0, 6)
WAITS = st.sampled_from([0, MS, 15 * MS, 60 * MS])
STEPS = st.lists(st.tuples(WAITS, ARRIVALS, PDU_NUMBERS), min_size=5, max_size=40)
OFFSET = 1_700_000_000_123_456_789
"""From the clock to the captures' time, ns."""


class Ordered(FakePacket):
    """A packet that is told of when it goes on."""

    def __init__(self, payload: bytes, indev: int, log: list[tuple[int, bytes]]) -> None:
        super().__init__(payload, indev)
        self._log = log

    def accept(self) -> None:
        super().accept()
        self._log.append((self.mark, self.payload))


def transmitter(wanted: ElementSettings, legs: Sequence[Any], make: Callable[..., Any]) -> Any:
    """The transmitting entity of a core, over the legs of these drivers."""
    (bearer,) = wanted.transmit
    return bearer.pdcp.transmitter(
        len(legs),
        [leg.leg for leg in legs],
        buffer_limit=wanted.buffer_limit(bearer),
        flow_control=wanted.flow_control(bearer),
        make=make,
    )


class InPython:
    """What stands before an element of Python."""

    def __init__(self, wanted: ElementSettings, clock: Clock) -> None:
        self.log: list[tuple[int, bytes]] = []
        self.packets: list[FakePacket] = []
        self.clock, self._loop = clock, RealLoop()
        self.legs = [LegDriver(leg.leg, leg.build({}), self._loop) for leg in wanted.legs]
        self.captures = Captures(wanted, OFFSET)
        bearer, other = wanted.transmit[0], wanted.receive[0]
        numbers = sn_format(bearer.pdcp.sn_bits)
        entity = transmitter(wanted, self.legs, TransmittingEntity)
        self._sender = sender(
            self._loop, entity, self.legs, numbers, self.captures.outbound(bearer)
        )
        of_receiver: dict[str, int] = {}
        of_legs: list[dict[str, int]] = [{}, {}]
        self._counts = [self._sender.unnumbered, of_receiver, *of_legs]
        self.transmit = self._sender.driver
        positions = dict(zip(INDICES, range(2), strict=True))
        self.receive = ReceiveDriver(2, other.pdcp.receiver(2), self._loop)
        interfaces = dict(zip(INDICES, other.legs, strict=True))
        take = pdus(self.receive, numbers, positions, self._loop, of_receiver)
        self._takers = (
            self._sender.on_packet,
            self.captures.arrivals(take, other, interfaces),
            *(
                departures(leg, self._loop, counts, self.captures.plain(leg.number))
                for leg, counts in zip(self.legs, of_legs, strict=True)
            ),
        )

    def put(self, queue: int, payload: bytes, indev: int) -> None:
        self.packets.append(Ordered(payload, indev, self.log))
        self._takers[queue](self.packets[-1])

    def report(self, leg: int, datagram: bytes, now: int) -> None:
        injector = self._sender.injectors[leg + 1]
        made = Datagram(datagram, injector=injector, record=self.captures.plain(leg + 1))
        self.legs[leg].push(made, len(datagram), now)

    def serve(self, now: int) -> None:
        self.clock.serve(self._loop, now)

    def uncarried(self) -> list[dict[str, int]]:
        return self._counts

    def copies(self) -> list[bytes]:
        return [sent for injector in self._sender.injectors.values() for sent in injector.sent]


class InC:
    """The same before one in C."""

    def __init__(self, wanted: ElementSettings) -> None:
        self.now = 0
        self._loop = loop = RealNativeLoop()
        assert isinstance(loop.queues, FakeNetlinkQueues)
        self._queues = loop.queues
        self.packets: list[FakePacket] = []
        self.legs = [NativeLegDriver(leg, loop.router) for leg in wanted.legs]
        self._sockets = [Sockets(leg.leg) for leg in wanted.legs]
        bearer, other = wanted.transmit[0], wanted.receive[0]
        entity = transmitter(wanted, self.legs, NativeTransmitter)
        self.transmit = NativeTransmitDriver(bearer, entity, self.legs, loop.router)
        self.receive = NativeReceiveDriver(other, INDICES, loop.router)
        self.captures = NativeCaptures(wanted, OFFSET, loop)
        lib, element = loop.lib, loop.pointer
        lib.element_queue(element, SDUS, lib.QUEUE_SDUS, self.transmit.pointer)
        lib.element_queue(element, PDUS, lib.QUEUE_PDUS, self.receive.pointer)
        for queue, leg, sockets in zip((LEG_1, LEG_2), self.legs, self._sockets, strict=True):
            lib.element_queue(element, queue, lib.QUEUE_LEG, leg.pointer)
            capture = self.captures.departures(leg.number)
            loop.lib.element_leg_out(leg.pointer, *map(sockets.descriptor, (4, 6)), capture)
        self.captures.frame(bearer, self.transmit.pointer)
        self.captures.frame(other, self.receive.pointer)

    def put(self, queue: int, payload: bytes, indev: int) -> None:
        self.packets.append(self._queues.put(queue, payload, indev))
        self._loop.lib.element_read(self._loop.pointer, self.now)
        self._loop.lib.element_flush(self._loop.pointer)

    def serve(self, now: int) -> None:
        self.now = now
        self._loop.lib.element_serve(self._loop.pointer, now)
        self._loop.lib.element_flush(self._loop.pointer)

    @property
    def log(self) -> list[tuple[int, bytes]]:
        self._queues.listen()
        accepted = (each for each in self._queues.decided if each.verdict == "accept")
        return [(each.mark, each.payload) for each in accepted]

    def copies(self) -> list[bytes]:
        return [sent for sockets in self._sockets for sent in sockets.sent]

    def uncarried(self) -> list[dict[str, int]]:
        others = (counts(driver, UNNUMBERED[:1]) for driver in (self.receive, *self.legs))
        return [counts(self.transmit, UNNUMBERED), *others]

    def report(self, leg: int, datagram: bytes, now: int) -> None:
        self._loop.lib.element_leg_send(self.legs[leg].pointer, datagram, len(datagram), now)

    def close(self) -> None:
        self._loop.close()
        for sockets in self._sockets:
            sockets.close()


class Sockets(NoInjector):
    """Sockets that C sends by, with the test at their other ends."""

    def __init__(self, leg: int, host: int | None = None) -> None:
        super().__init__(leg, host)
        self._near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._near, self._far):
            end.setblocking(False)
        self._found: list[bytes] = []

    def descriptor(self, version: int) -> int:
        assert version in (4, 6)
        return self._near.fileno()

    @property
    def sent(self) -> list[bytes]:
        while True:
            try:
                self._found.append(self._far.recv(1 << 17))
            except OSError:
                return self._found

    @sent.setter
    def sent(self, _: list[bytes]) -> None:
        """Nothing was."""

    def close(self) -> None:
        self._near.close()
        self._far.close()


def wanted(radios: Sequence[dict[str, Any]], pdcp: dict[str, Any], **more: Any) -> ElementSettings:
    legs = [
        {"leg": n, "interface": f"l{n}", "seed": f"s{n}", "radio": radio}
        for n, radio in enumerate(radios, start=1)
    ]
    transmit = {"bearer": 1, "interface": "core", "legs": [1, 2], "pdcp": pdcp}
    fields: dict[str, Any] = {"host": "gnb", "legs": legs, "directory": "."}
    receive = {"bearer": 2, "legs": [1, 2], "pdcp": pdcp}
    fields |= {"transmit": [transmit], "receive": [receive]} | more
    return ElementSettings.check(fields, "test")


def carry(python: InPython, native: InC, steps: Any, sn_bits: int) -> None:
    """Give both the same packets, one after the other, and wait until all is over."""
    for wait, (queue, payload, indev), number in steps:
        now = python.clock.now + wait
        packet = payload
        if queue == PDUS and payload in SOUND:
            packet = append_trailer(payload, sn_format(sn_bits).encode(number))
        for each in (python, native):
            each.serve(now)
            each.put(queue, packet, indev)
            each.serve(now)
    for now in (python.clock.now + 100 * MS, LATER):
        for each in (python, native):
            each.serve(now)
