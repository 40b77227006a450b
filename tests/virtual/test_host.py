"""Hosts on the virtual clock, and its events."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.runners.virtual import Received
from minitopo_dc.virtual.host import EndHost, ReceiveBuffer
from minitopo_dc.virtual.network import START_NS, Flow, LoopTimer, Packet, VirtualLoop

FAR = START_NS * 1000


def recording(loop: VirtualLoop, fired: list[tuple[int, int]], name: int) -> LoopTimer:
    return LoopTimer(loop, lambda: fired.append((loop.now, name)))


@given(st.lists(st.integers(min_value=START_NS, max_value=START_NS + 20), max_size=30))
def test_timers_fire_in_order_of_time_and_equal_times_in_order_of_setting(
    moments: list[int],
) -> None:
    loop, fired = VirtualLoop(), list[tuple[int, int]]()
    for name, moment in enumerate(moments):
        recording(loop, fired, name).set(moment)
    loop.run(FAR)
    assert fired == sorted((moment, name) for name, moment in enumerate(moments))


@given(st.lists(st.integers(min_value=START_NS, max_value=START_NS + 9), min_size=1, max_size=9))
def test_a_timer_fires_once_at_what_it_was_set_to_last_or_brought_forward_to(
    moments: list[int],
) -> None:
    loop, fired = VirtualLoop(), list[tuple[int, int]]()
    last, first, none = (recording(loop, fired, name) for name in range(3))
    for moment in moments:
        last.set(moment)
        first.bring_forward(moment)
        none.set(moment)
    none.set(None)
    loop.run(FAR)
    assert sorted(fired) == sorted([(moments[-1], 0), (min(moments), 1)])


def test_a_timer_may_set_itself_again() -> None:
    loop, moments = VirtualLoop(), list[int]()

    def tick() -> None:
        moments.append(loop.now)
        timer.set(loop.now + 5)

    timer = LoopTimer(loop, tick)
    timer.set(START_NS)
    loop.run(START_NS + 12)
    assert moments == [START_NS, START_NS + 5, START_NS + 10]


def test_stop_leaves_the_rest_undone() -> None:
    loop, fired = VirtualLoop(), list[tuple[int, int]]()
    LoopTimer(loop, loop.stop).set(START_NS)
    recording(loop, fired, 0).set(START_NS)
    loop.run(FAR)
    assert fired == []


HERE, THERE = ("10.2.1.2", 50_000), ("10.0.0.2", 4433)
US = 1000


class Counting:
    """An endpoint that notes what each step brings."""

    def __init__(self, again_ns: int = 1_000_000) -> None:
        self._again = again_ns
        self.steps: list[tuple[int, int]] = []
        self.received: list[Received] = []

    def step(self, now: int, datagrams: Sequence[Received]) -> int | None:
        self.steps.append((now - START_NS, len(datagrams)))
        self.received += datagrams
        return now + self._again if len(self.steps) == 1 else None


def counting_host(
    cpu_us: int, limit: int = 212_992, again_ns: int = 1_000_000, batch: int = 64
) -> tuple[VirtualLoop, EndHost, Counting]:
    loop = VirtualLoop()
    host = EndHost(loop, [Flow(HERE, THERE)], cpu_ns=cpu_us * US, batch=batch)
    host.set_receive_buffer(limit)
    host.endpoint = endpoint = Counting(again_ns)
    return loop, host, endpoint


def burst(loop: VirtualLoop, host: EndHost, number: int) -> None:
    def arrive() -> None:
        for _ in range(number):
            host.receive(Packet(Flow(THERE, HERE), bytes(1200)))

    LoopTimer(loop, arrive).set(START_NS)


@pytest.mark.parametrize(
    ("payload", "cost"), [(1, 768), (200, 1280), (400, 1280), (700, 2304), (1200, 2304)]
)
def test_a_datagram_costs_what_linux_charges(payload: int, cost: int) -> None:
    assert ReceiveBuffer.truesize(payload) == cost


def test_92_datagrams_of_1200_bytes_fit_the_default_buffer() -> None:
    buffer = ReceiveBuffer(212_992)
    kept = [buffer.put(1200) for _ in range(100)]
    assert (sum(kept), buffer.drops) == (92, 8)
    for _ in range(92):
        buffer.take(1200)
    assert (buffer.put(1200), buffer.drops) == (True, 8)


@pytest.mark.parametrize(("quarters_only", "last"), [(False, [0]), (True, [16])])
def test_memory_is_freed_by_quarters_and_but_for_linux_4_15_when_all_was_read(
    quarters_only: bool, last: list[int]
) -> None:
    # As SK_MEMINFO_RMEM_ALLOC of Linux 6.18 says after each of 40 reads of 1,280 bytes.
    buffer, counted = ReceiveBuffer(212_992), []
    buffer.frees_quarters_only = quarters_only  # as Linux 4.15
    for _ in range(40):
        buffer.put(1200)
    for _ in range(40):
        buffer.take(1200)
        counted.append(buffer._used // 2304)
    assert counted == [40] * 23 + [16] * 16 + last


@pytest.mark.parametrize(
    ("cpu_us", "batch", "number", "first", "drops"),
    [
        (0, 64, 10, [(0, 10)], 0),
        (0, 64, 200, [(0, 64), (0, 64), (0, 64), (0, 8)], 0),
        (0, 1, 3, [(0, 1), (0, 1), (0, 1)], 0),
        (100, 1, 3, [(0, 1), (100 * US, 1), (200 * US, 1)], 0),
        (100, 1, 200, [(0, 1), (100 * US, 1)], 108),
        (100, 64, 200, [(0, 64), (6400 * US, 28)], 108),
    ],
)
def test_a_host_reads_a_batch_and_then_the_next_when_its_cpu_is_free(
    cpu_us: int, batch: int, number: int, first: list[tuple[int, int]], drops: int
) -> None:
    loop, host, endpoint = counting_host(cpu_us=cpu_us, batch=batch)
    burst(loop, host, number)
    loop.run(FAR)
    assert [step for step in endpoint.steps if step[1]][: len(first)] == first
    assert host.socket_drops == drops
    assert host.received_bytes == number * 1228  # with what was dropped
    assert sum(read for _, read in endpoint.steps) == number - drops


@pytest.mark.parametrize(("again_ns", "at"), [(1_000_000, 1_000_000), (0, 1 * US)])
def test_an_endpoint_is_called_again_at_the_time_it_named_or_a_microsecond_later(
    again_ns: int, at: int
) -> None:
    loop, host, endpoint = counting_host(cpu_us=0, again_ns=again_ns)
    burst(loop, host, 1)
    loop.run(FAR)
    assert endpoint.steps == [(0, 1), (at, 0)]


SECOND = ("10.2.2.2", 50_000)


def two_sockets(
    cpu_us: int = 0,
) -> tuple[VirtualLoop, EndHost, Counting, dict[tuple[str, int], Flow]]:
    """A client of two addresses, and what brings it datagrams, by address."""
    loop, uplinks = VirtualLoop(), [Flow(HERE, THERE), Flow(SECOND, THERE)]
    host = EndHost(loop, uplinks, cpu_ns=cpu_us * US)
    host.endpoint = endpoint = Counting()
    return loop, host, endpoint, {flow.source: flow for flow in uplinks}


def test_a_datagram_comes_with_its_source_and_its_destination() -> None:
    loop, host, endpoint, _ = two_sockets()
    for here in (SECOND, HERE):
        host.receive(Packet(Flow(THERE, here), here[0].encode()))
    loop.run(FAR)
    assert endpoint.received == [
        (b"10.2.2.2", THERE, SECOND, 0),
        (b"10.2.1.2", THERE, HERE, 0),
    ]


def test_a_datagram_is_sent_from_the_address_that_was_asked_for() -> None:
    _, host, _, flows = two_sockets()
    sent: list[tuple[bytes, tuple[str, int]]] = []
    for flow in flows.values():
        flow.enter = lambda packet: sent.append((packet.data, packet.flow.source))
    host.send([(b"a", SECOND, THERE), (b"b", HERE, THERE), (b"c", None, THERE)])
    assert sent == [(b"a", SECOND), (b"b", HERE), (b"c", HERE)]
    with pytest.raises(KeyError):
        host.send([(b"a", THERE, HERE)])


def test_each_socket_has_a_receive_buffer_of_its_own() -> None:
    loop, host, endpoint, _ = two_sockets(cpu_us=100)
    host.set_receive_buffer(2304)

    def arrive() -> None:
        for here in (HERE, HERE, SECOND):
            host.receive(Packet(Flow(THERE, here), bytes(1200)))

    LoopTimer(loop, arrive).set(START_NS)
    loop.run(FAR)
    assert host.socket_drops == 1
    assert [destination for _, _, destination, _ in endpoint.received] == [HERE, SECOND]
