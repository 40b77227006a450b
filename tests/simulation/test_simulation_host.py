"""End hosts: the receive buffer as Linux counts it, CPU time per datagram."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from minitopo_dc.runners.quic_endpoint import Address
from minitopo_dc.simulation.host import Host, ReceiveBuffer
from minitopo_dc.simulation.loop import START_NS, Loop, Timer
from minitopo_dc.simulation.packet import Flow, Packet

HERE, THERE = ("10.2.1.2", 50_000), ("10.0.0.2", 4433)
US = 1000
FAR = START_NS * 1000


class Counting:
    """An endpoint that notes what each step brings."""

    def __init__(self, loop: Loop) -> None:
        self.steps: list[tuple[int, int]] = []
        self._loop = loop

    def step(self, now: float, datagrams: Iterable[tuple[bytes, Address]]) -> float | None:
        self.steps.append((self._loop.now - START_NS, len(list(datagrams))))
        return now + 0.001 if len(self.steps) == 1 else None


def counting_host(cpu_us: int, limit: int = 212_992) -> tuple[Loop, Host, Counting]:
    loop = Loop()
    host = Host(loop, Flow(HERE, THERE), cpu_ns=cpu_us * US)
    host.set_receive_buffer(limit)
    host.endpoint = endpoint = Counting(loop)
    return loop, host, endpoint


def burst(loop: Loop, host: Host, number: int) -> None:
    def arrive() -> None:
        for _ in range(number):
            host.receive(Packet(Flow(THERE, HERE), bytes(1200)))

    Timer(loop, arrive).set(START_NS)


@pytest.mark.parametrize(
    ("payload", "cost"), [(1, 768), (200, 1280), (400, 1280), (700, 2304), (1200, 2304)]
)
def test_a_datagram_costs_what_linux_charges(payload: int, cost: int) -> None:
    assert ReceiveBuffer.truesize(payload) == cost


def test_92_datagrams_of_1200_bytes_fit_the_default_buffer() -> None:
    buffer = ReceiveBuffer(212_992)
    for _ in range(100):
        buffer.put(bytes(1200))
    assert (len(buffer), buffer.drops) == (92, 8)


def test_reading_makes_room() -> None:
    buffer = ReceiveBuffer(2304)
    buffer.put(bytes(1200))
    buffer.take()
    buffer.put(bytes(1200))
    assert (len(buffer), buffer.drops) == (1, 0)


def test_without_cpu_time_a_burst_is_one_step() -> None:
    loop, host, endpoint = counting_host(cpu_us=0)
    burst(loop, host, 10)
    loop.run(FAR)
    assert endpoint.steps[0] == (0, 10)


def test_with_cpu_time_datagrams_are_read_one_after_the_other() -> None:
    loop, host, endpoint = counting_host(cpu_us=100)
    burst(loop, host, 3)
    loop.run(FAR)
    assert endpoint.steps[:3] == [(0, 1), (100 * US, 1), (200 * US, 1)]


def test_a_burst_overflows_the_buffer_of_a_busy_host() -> None:
    loop, host, endpoint = counting_host(cpu_us=100)
    burst(loop, host, 200)
    loop.run(FAR)
    assert host.buffer.drops == 108
    assert sum(number for _, number in endpoint.steps) == 92


def test_a_host_without_cpu_time_drops_nothing() -> None:
    loop, host, endpoint = counting_host(cpu_us=0)
    burst(loop, host, 200)
    loop.run(FAR)
    assert host.buffer.drops == 0
    assert [number for _, number in endpoint.steps if number] == [64, 64, 64, 8]


def test_what_was_dropped_has_reached_the_host_nevertheless() -> None:
    loop, host, _ = counting_host(cpu_us=100, limit=2304)
    burst(loop, host, 5)
    loop.run(FAR)
    assert host.received_bytes == 5 * 1228


def test_an_endpoint_is_called_again_a_little_after_the_time_it_named() -> None:
    loop, host, endpoint = counting_host(cpu_us=0)
    burst(loop, host, 1)
    loop.run(FAR)
    moment, datagrams = endpoint.steps[1]
    assert moment == pytest.approx(1_000_000 + 1 * US, abs=1)
    assert datagrams == 0
