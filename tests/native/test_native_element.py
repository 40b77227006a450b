"""Legs and bearers over packets in C and in Python: the same verdicts, bytes and counters."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minitopo_dc.element import native_element, native_loop
from minitopo_dc.element.drivers import LegDriver, ReceiveDriver
from minitopo_dc.element.kernel.loop import Loop
from minitopo_dc.element.native_element import (
    NativeLegDriver,
    NativeReceiveDriver,
    NativeTransmitDriver,
)
from minitopo_dc.element.native_loop import NativeLoop
from minitopo_dc.element.transmit_driver import TransmitDriver
from minitopo_dc.pdcp import append_trailer, sn_format
from minitopo_dc.router import ElementSettings
from minitopo_dc.router.native import native_receiver, native_transmitter
from tests.element.fake_netlink import FakeNetlinkQueues
from tests.element.fakes import LATER, MS, Clock, FakePacket, NoInjector
from tests.native.extension import EXAMPLES, needs_native
from tests.native.test_native_ip import SOUND, datagrams

pytestmark = needs_native
INDICES = [11, 12]
SDUS, PDUS, LEG_1, LEG_2 = range(4)
"""Numbers of the queues."""
RADIOS = st.fixed_dictionaries(
    {
        "rate_mbps": st.sampled_from([0.5, 8, 1000]),
        "delay_ms": st.sampled_from([0, 10]),
        "jitter_ms": st.sampled_from([0, 2]),
        "queue_packets": st.sampled_from([1, 3, 100]),
        "loss_percent": st.sampled_from([0, 30]),
    }
)
BEARERS = st.fixed_dictionaries(
    {
        "split": st.sampled_from(["batch", "duplicate", "least-delay"]),
        "numbering": st.sampled_from(["early", "late"]),
        "sn_bits": st.sampled_from([12, 16, 18]),
        "batch": st.just(2),
        "t_reordering_ms": st.sampled_from([0, 20, "adaptive"]),
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
        self._clock, self._loop = clock, Loop()
        self.legs = [LegDriver(leg.leg, leg.build({}), self._loop) for leg in wanted.legs]
        bearer, other = wanted.transmit[0], wanted.receive[0]
        numbers = sn_format(bearer.pdcp.sn_bits)
        entity = bearer.pdcp.transmitter(
            2, [leg.leg for leg in self.legs], queue_packets=wanted.queue_packets(bearer)
        )
        self.transmit = TransmitDriver(1, entity, numbers, self.legs, self._loop)
        positions = dict(zip(INDICES, range(2), strict=True))
        self.receive = ReceiveDriver(2, other.pdcp.receiver(2), numbers, positions, self._loop)

    def put(self, queue: int, payload: bytes, indev: int) -> None:
        self.packets.append(Ordered(payload, indev, self.log))
        takers = (
            self.transmit.on_packet,
            self.receive.on_packet,
            *(g.on_packet for g in self.legs),
        )
        takers[queue](self.packets[-1])

    def serve(self, now: int) -> None:
        self._clock.serve(self._loop, now)

    def copies(self) -> list[bytes]:
        return [sent for leg in self.legs for sent in leg.injector.sent]  # type: ignore[attr-defined]


class InC:
    """The same before one in C."""

    def __init__(self, wanted: ElementSettings) -> None:
        self.now = 0
        self._loop = loop = NativeLoop()
        assert isinstance(loop.queues, FakeNetlinkQueues)
        self._queues = loop.queues
        self.packets: list[FakePacket] = []
        self.legs = [NativeLegDriver(leg, loop, (4, 6)) for leg in wanted.legs]
        bearer, other = wanted.transmit[0], wanted.receive[0]
        states = [leg.leg for leg in self.legs]
        self.transmit = NativeTransmitDriver(
            bearer, native_transmitter(wanted, bearer, states), self.legs, loop, SDUS
        )
        entity, reports = native_receiver(other.pdcp, 2)
        self.receive = NativeReceiveDriver(
            other, entity, reports, loop, indices=INDICES, queue=PDUS
        )
        for queue, leg in zip((LEG_1, LEG_2), self.legs, strict=True):
            loop.lib.element_leg_queue(leg.pointer, queue)

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


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Clock]:
    made: list[Sockets] = []

    def injector(leg: int) -> Sockets:
        made.append(Sockets(leg))
        return made[-1]

    monkeypatch.setattr(native_loop, "NetlinkQueues", FakeNetlinkQueues)
    monkeypatch.setattr(native_element, "Injector", injector)
    monkeypatch.setattr("minitopo_dc.element.drivers.Injector", NoInjector)
    yield clock
    for each in made:
        each.close()


def wanted(radios: Sequence[dict[str, Any]], pdcp: dict[str, Any]) -> ElementSettings:
    legs = [
        {"leg": n, "interface": f"l{n}", "seed": f"s{n}", "radio": radio}
        for n, radio in enumerate(radios, start=1)
    ]
    transmit = {"bearer": 1, "interface": "core", "legs": [1, 2], "pdcp": pdcp}
    fields = {"host": "gnb", "legs": legs, "directory": "."}
    receive = {"bearer": 2, "legs": [1, 2], "pdcp": pdcp}
    return ElementSettings.check(fields | {"transmit": [transmit], "receive": [receive]}, "test")


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    radios=st.tuples(RADIOS, RADIOS),
    pdcp=BEARERS,
    steps=st.lists(st.tuples(WAITS, ARRIVALS, PDU_NUMBERS), min_size=5, max_size=40),
)
def test_the_same_packets_get_the_same_verdicts_bytes_and_marks(
    radios: tuple[dict[str, Any], ...], pdcp: dict[str, Any], steps: Any, machine: Clock
) -> None:
    chosen = wanted(radios, pdcp)
    machine.now = 0
    python, native = InPython(chosen, machine), InC(chosen)
    try:
        for wait, (queue, payload, indev), number in steps:
            now = machine.now + wait
            packet = payload
            if queue == PDUS and payload in SOUND:
                packet = append_trailer(payload, sn_format(pdcp["sn_bits"]).encode(number))
            for each in (python, native):
                each.serve(now)
                each.put(queue, packet, indev)
                each.serve(now)
        for now in (machine.now + 100 * MS, LATER):
            for each in (python, native):
                each.serve(now)
        compare(python, native)
    finally:
        native.close()


def compare(python: InPython, native: InC) -> None:
    assert [each.verdict for each in native.packets] == [each.verdict for each in python.packets]
    assert native.log == python.log
    assert native.copies() == python.copies()
    assert native.transmit.unnumbered() == python.transmit.unnumbered()
    assert native.receive.malformed == python.receive.malformed
    assert native.receive.statistics() == python.receive.statistics()
    assert native.transmit.entity.statistics() == python.transmit.entity.statistics()
    for ours, reference in zip(native.legs, python.legs, strict=True):
        assert ours.malformed == reference.malformed
        assert ours.leg.statistics() == reference.leg.statistics()
