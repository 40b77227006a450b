"""What an entity counts, what it passes as it is, and PDUs that are taken for others."""

from __future__ import annotations

import pytest

from minitopo_dc.pdcp import Delivery, Pdu, ReceivingEntity, Timer, sn_format

MS = 1_000_000


def receiver(
    *, bits: int = 12, t_ms: int | None = 200, delivery: Delivery = "in-order", first: int = 0
) -> ReceivingEntity[int]:
    return ReceivingEntity(
        sn_format(bits),
        t_reordering=Timer(None if t_ms is None else t_ms * MS),
        delivery=delivery,
        legs=2,
        first_count=first,
    )


@pytest.mark.parametrize("bits", [12, 16, 18])
@pytest.mark.parametrize("before", [3, 0, -2047])
def test_off_passes_everything_as_it_arrives(bits: int, before: int) -> None:
    first = 2 * (1 << bits) - before
    entity = receiver(bits=bits, first=first, delivery="off")
    arrivals = [5, 1, 1, 0, -7, 1 << bits - 1]
    for number in arrivals:
        assert entity.push(Pdu(number, leg=0, sn=(first + number) % (1 << bits)), number % 3)
    assert entity.next_timeout() is None
    assert entity.poll(3) == arrivals
    assert (entity.rx_deliv, entity.rx_next, entity.rx_reord) == (first, first, first)
    assert entity.statistics().delivered == 6


def test_gauges_show_the_buffer_now_and_at_its_fullest() -> None:
    entity = receiver()
    for count in (1, 2, 3, 0, 5):
        entity.push(Pdu(count, leg=0, sn=count), 0)
    statistics = entity.statistics()
    assert (statistics.buffered, statistics.buffered_maximum) == (1, 3)
    assert (sum(statistics.pdus), statistics.delivered) == (5, 4)


def test_waiting_times_are_those_of_sdus_that_waited() -> None:
    entity = receiver(t_ms=None)
    for count, now in ((1, 0), (2, 1000), (3, 3500), (0, 4000), (4, 5000)):  # ns; the last two not
        entity.push(Pdu(count, leg=0, sn=count), now)
    waiting = entity.statistics().waiting
    assert (waiting.count, waiting.total_ns, waiting.maximum_ns) == (3, 7_500, 4_000)
    # 0.5 us -> below 1 us; 3 us -> [2, 4) us; 4 us -> [4, 8) us; all longer waits in the last
    assert waiting.histogram[:5] == (1, 0, 1, 1, 0)
    entity.push(Pdu(6, leg=0, sn=6), 5000)
    entity.push(Pdu(5, leg=0, sn=5), 10**15)
    assert entity.statistics().waiting.histogram[-1] == 1


def test_an_unknown_delivery_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'of': .*in-order, out-of-order, off"):
        ReceivingEntity[int](sn_format(12), t_reordering=Timer(0), legs=1, delivery="of")  # type: ignore[arg-type]


def test_pdus_that_are_taken_for_others_are_counted() -> None:
    entity = receiver()
    for count in range(3000):
        entity.push(Pdu(count, leg=0, sn=count % 4096, count=count), 0)
    assert entity.desynchronised == 0
    # More than half the SN space behind: it seems to be 900 + 4096, and is delivered as if new.
    assert entity.push(Pdu(900, leg=0, sn=900, count=900), 0)
    assert entity.desynchronised == 1


@pytest.mark.parametrize("waits", [False, True])
def test_a_pdu_of_another_hfn_is_counted_in_order_and_while_others_wait(waits: bool) -> None:
    entity = receiver()
    if waits:
        entity.push(Pdu(1, leg=0, sn=1, count=1), 0)
    for _ in range(2):
        entity.push(Pdu(0, leg=0, sn=entity.rx_deliv, count=entity.rx_deliv + 4096), 0)
    assert entity.desynchronised == 2


def test_nobody_is_told_of_wrong_counts_who_does_not_tell_them() -> None:
    entity = ReceivingEntity[int](sn_format(12), t_reordering=Timer(0), legs=1)
    for count in (0, 3000):
        entity.push(Pdu(count, leg=0, sn=count % 4096), 0)
    assert entity.desynchronised == 0
