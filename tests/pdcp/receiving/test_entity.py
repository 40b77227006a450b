"""Behaviours of clause 5.2.2 one by one, at COUNT 0 and across SN and HFN wraps.

A receiver's SDUs are their COUNTs, relative to the COUNT it starts with; times are in ms.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minitopo_dc.pdcp import Delivery, ReceiveStatistics, ReceivingEntity, Timer, sn_format

MS = 1_000_000


class Receiver:
    """A receiving entity fed with COUNTs relative to its first."""

    def __init__(
        self, bits: int, first: int, t_ms: int | None = 200, delivery: Delivery = "in-order"
    ) -> None:
        self.modulus = 1 << bits
        self.first = first
        self.entity = ReceivingEntity[int](
            sn_format(bits),
            t_reordering=Timer(None if t_ms is None else t_ms * MS),
            delivery=delivery,
            legs=2,
            first_count=first,
        )

    def push(self, number: int, at: float = 0, leg: int = 0) -> bool:
        count = self.first + number
        return self.entity.push(count % self.modulus, number, leg, int(at * MS), count)

    def receive(self, *numbers: int, at: float = 0) -> list[int]:
        for number in numbers:
            self.push(number, at)
        return self.poll(at)

    def poll(self, at: float) -> list[int]:
        return self.entity.poll(int(at * MS))

    def timeout(self) -> float | None:
        end = self.entity.next_timeout()
        return None if end is None else end / MS

    def state(self) -> tuple[int, int, int]:
        """RX_DELIV, RX_NEXT, RX_REORD, relative."""
        entity = self.entity
        return (
            entity.rx_deliv - self.first,
            entity.rx_next - self.first,
            entity.rx_reord - self.first,
        )

    def statistics(self) -> ReceiveStatistics:
        return self.entity.statistics()


def starts() -> Iterator[tuple[int, int]]:
    """(SN bits, first COUNT): 0, the middle of the SN space, and each way to lie at a wrap."""
    for bits in (12, 16, 18):
        modulus = 1 << bits
        yield bits, 0
        yield bits, modulus // 2 - 1
        for hfn in (1, 2, 5):
            for before in (3, 2, 1, 0):
                yield bits, hfn * modulus - before


everywhere = pytest.mark.parametrize(("bits", "first"), list(starts()))
each_size = pytest.mark.parametrize("bits", [12, 16, 18])


@everywhere
def test_expiry_waits_for_rx_reord_when_it_has_not_arrived(bits: int, first: int) -> None:
    receiver = Receiver(bits, first)
    receiver.receive(1)  # RX_REORD = 2
    receiver.receive(3, at=100)
    assert receiver.poll(200) == [1]
    assert receiver.state() == (2, 4, 4)
    assert receiver.timeout() == 400
    assert receiver.receive(2, at=399) == [2, 3]
    assert receiver.timeout() is None
    assert [receiver.push(0, at=400) for _ in range(2)] == [False, False]
    statistics = receiver.statistics()
    assert (statistics.missing, statistics.old, statistics.duplicates) == (1, 1, 1)


def test_an_expiry_takes_effect_at_its_own_time() -> None:
    receiver = Receiver(12, 0)
    receiver.push(1, at=0)
    receiver.push(3, at=100)  # after the expiry at 200, this waits for 2 until 400, not 550
    receiver.push(5, at=350)
    assert receiver.timeout() == 400
    assert receiver.poll(350) == [1]
    assert receiver.poll(400) == [3]
    assert receiver.timeout() == 600
    assert receiver.statistics().waiting.maximum_ns == 300 * MS


def test_every_sn_of_several_hfns_is_received() -> None:
    receiver = Receiver(12, 0)
    total = 5 * receiver.modulus
    delivered: list[int] = []
    for number in range(0, total, 2):
        delivered += receiver.receive(number + 1, number)
    assert delivered == list(range(total))


@everywhere
def test_off_passes_everything_as_it_arrives(bits: int, first: int) -> None:
    receiver = Receiver(bits, first, delivery="off")
    arrivals = [5, 1, 1, 0, -7, receiver.modulus // 2]
    assert all(receiver.push(number, at=number % 3) for number in arrivals)
    assert receiver.timeout() is None
    assert receiver.poll(3) == arrivals
    assert receiver.state() == (0, 0, 0)
    assert receiver.statistics().delivered == 6


def test_gauges_show_the_buffer_now_and_at_its_fullest() -> None:
    receiver = Receiver(12, 0)
    receiver.receive(1, 2, 3)
    receiver.receive(0)
    receiver.receive(5)
    statistics = receiver.statistics()
    assert (statistics.buffered, statistics.buffered_maximum) == (1, 3)
    assert sum(statistics.pdus) == 5
    assert statistics.delivered == 4


def test_waiting_times_are_those_of_sdus_that_waited() -> None:
    receiver = Receiver(12, 0)
    receiver.receive(1, at=0)
    receiver.receive(2, at=0.001)
    receiver.receive(3, at=0.0035)
    receiver.receive(0, at=0.004)  # did not wait
    receiver.receive(4, at=0.005)  # did not wait
    waiting = receiver.statistics().waiting
    assert (waiting.count, waiting.total_ns, waiting.maximum_ns) == (3, 7_500, 4_000)
    # 0.5 us -> below 1 us; 3 us -> [2, 4) us; 4 us -> [4, 8) us
    assert waiting.histogram[:5] == (1, 0, 1, 1, 0)


def test_the_last_bucket_takes_all_longer_waits() -> None:
    receiver = Receiver(12, 0, t_ms=None)
    receiver.receive(1, at=0)
    receiver.receive(0, at=10**9)
    assert receiver.statistics().waiting.histogram[-1] == 1


def test_an_unknown_delivery_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'of': must be one of in-order, out-of-order, off"):
        ReceivingEntity[int](sn_format(12), t_reordering=Timer(0), legs=1, delivery="of")  # type: ignore[arg-type]


def test_pdus_that_are_taken_for_others_are_counted() -> None:
    late = Receiver(12, 0)
    late.receive(*range(3000))
    assert late.entity.desynchronised == 0
    # More than half the SN space behind: it seems to be 900 + 4096, and is delivered as if new.
    assert late.push(900)
    assert late.entity.desynchronised == 1


def test_nobody_is_told_of_wrong_counts_who_does_not_tell_them() -> None:
    entity = ReceivingEntity[int](sn_format(12), t_reordering=Timer(0), legs=1)
    for count in (0, 3000):
        entity.push(count % 4096, count, 0, 0)
    assert entity.desynchronised == 0
