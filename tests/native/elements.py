"""One element in Python and one in C, and what both are given."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.real.element.captures import Captures
from minitopo_dc.real.element.drivers import RealLegDriver, RealReceiveDriver, RealTransmitDriver
from minitopo_dc.real.element.kernel.injection import Injected
from minitopo_dc.real.element.kernel.loop import RealLoop
from minitopo_dc.real.element.native import (
    NativeCaptures,
    RealNativeLegDriver,
    RealNativeLoop,
    RealNativeReceiveDriver,
    RealNativeTransmitDriver,
)
from minitopo_dc.router.native import native_transmitter
from minitopo_dc.scenario.element import ElementSettings
from tests.native.test_native_ip import SOUND, datagrams
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import LATER, MS, Clock, FakePacket, NoInjector

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
NO_SOCKETS: Any = None
"""Of a report that C sends by sockets of its own."""
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


class InPython:
    """What stands before an element of Python."""

    def __init__(self, wanted: ElementSettings, clock: Clock) -> None:
        self.log: list[tuple[int, bytes]] = []
        self.packets: list[FakePacket] = []
        self.clock, self._loop = clock, RealLoop()
        self.legs = [RealLegDriver(leg.leg, leg.build({}), self._loop) for leg in wanted.legs]
        self.captures = Captures(wanted, OFFSET)
        bearer, other = wanted.transmit[0], wanted.receive[0]
        numbers = sn_format(bearer.pdcp.sn_bits)
        entity = bearer.pdcp.transmitter(
            2,
            [leg.leg for leg in self.legs],
            buffer_limits=wanted.buffer_limits(bearer),
            flow_control=wanted.flow_control(bearer),
        )
        outlets = [self.captures.outlet(leg, bearer) for leg in self.legs]
        self.transmit = RealTransmitDriver(1, entity, numbers, outlets, self._loop)
        positions = dict(zip(INDICES, range(2), strict=True))
        self.receive = RealReceiveDriver(2, other.pdcp.receiver(2), numbers, positions, self._loop)
        self._takers = (
            self.transmit.on_packet,
            self.captures.arrivals(
                self.receive, other, dict(zip(INDICES, other.legs, strict=True))
            ),
            *(self.captures.departures(leg) for leg in self.legs),
        )

    def put(self, queue: int, payload: bytes, indev: int) -> None:
        self.packets.append(Ordered(payload, indev, self.log))
        self._takers[queue](self.packets[-1])

    def report(self, leg: int, datagram: bytes, now: int) -> None:
        outlet = self.captures.reports(self.legs[leg])
        outlet.push(Injected(datagram, outlet.injector), len(datagram), now)

    def serve(self, now: int) -> None:
        self.clock.serve(self._loop, now)

    def copies(self) -> list[bytes]:
        return [sent for leg in self.legs for sent in leg.injector.sent]  # type: ignore[attr-defined]


class InC:
    """The same before one in C."""

    def __init__(self, wanted: ElementSettings) -> None:
        self.now = 0
        self._loop = loop = RealNativeLoop()
        assert isinstance(loop.queues, FakeNetlinkQueues)
        self._queues = loop.queues
        self.packets: list[FakePacket] = []
        self.legs = [RealNativeLegDriver(leg, loop, (4, 6)) for leg in wanted.legs]
        bearer, other = wanted.transmit[0], wanted.receive[0]
        states = [leg.leg for leg in self.legs]
        self.transmit = RealNativeTransmitDriver(
            bearer, native_transmitter(wanted, bearer, states), self.legs, loop, SDUS
        )
        self.receive = RealNativeReceiveDriver(other, loop, indices=INDICES, queue=PDUS)
        for queue, leg in zip((LEG_1, LEG_2), self.legs, strict=True):
            loop.lib.element_leg_queue(leg.pointer, queue)
        self.captures = NativeCaptures(wanted, OFFSET, loop)
        for leg in self.legs:
            self.captures.departures(leg.number, leg.pointer)
        self.captures.outbound(bearer, self.transmit.pointer)
        self.captures.arrivals(other, self.receive.pointer)

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
        return [
            sent
            for leg in self.legs
            for sent in leg.injector._sockets.sent  # type: ignore[attr-defined]
        ]

    def report(self, leg: int, datagram: bytes, now: int) -> None:
        self.legs[leg].push(Injected(datagram, NO_SOCKETS), len(datagram), now)

    def close(self) -> None:
        self._loop.close()


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
