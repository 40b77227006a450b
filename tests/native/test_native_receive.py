"""The receiving entity in C against its twin in Python, PDU by PDU, hostile ones included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.native.pdcp import DELIVERIES
from minitopo_dc.pdcp import INFINITE, Pdu, ReceivingEntity, Timer, sn_format
from minitopo_dc.pdcp.codec import NO_COUNT
from tests.native.driven import DrivenReceiver
from tests.native.extension import EXAMPLES, needs_native
from tests.pdcp.receiving.test_t_reordering import FIRST_GAP_LATE

pytestmark = needs_native
MS = 1_000_000
ADAPTIVE = Timer(is_adaptive=True)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_an_entity_does_what_its_twin_does(data: st.DataObject) -> None:
    bits, legs = data.draw(st.sampled_from([12, 16, 18])), data.draw(st.integers(1, 4))
    fixed = map(Timer, (None, 0, MS, 20 * MS, 200 * MS))
    fields: dict[str, Any] = {
        "delivery": data.draw(st.sampled_from(DELIVERIES)),
        "legs_keep_order": data.draw(st.booleans()),
        "legs": legs,
        "t_reordering": data.draw(st.sampled_from([*fixed, ADAPTIVE])),
    }
    numbers = sn_format(bits)
    python: ReceivingEntity[int] = ReceivingEntity(numbers, **fields)
    native = DrivenReceiver(numbers, **fields)
    now, count = 0, 0
    near = st.one_of(st.integers(-3, 5), st.integers(-40, 200))
    far = st.integers(-numbers.modulus, numbers.modulus)
    for sdu in range(data.draw(st.integers(1, 80))):
        now += data.draw(st.one_of(st.integers(0, 2 * MS), st.integers(0, 300 * MS)))
        what = data.draw(st.sampled_from("nnnnnnnnntf"))
        if what != "t":
            count = max(0, count + data.draw(near if what == "n" else far))
            sn, leg = count % numbers.modulus, data.draw(st.integers(0, legs - 1))
            true = data.draw(st.sampled_from([count, NO_COUNT]))
            pdu = Pdu(sdu, 100 + sdu, leg=leg, sn=sn, count=true)
            python.note(pdu)
            native.note(pdu)
            assert native.push(pdu, now) == python.push(pdu, now)
        assert native.desynchronised == python.desynchronised
        assert native.poll(now) == python.poll(now)
        assert native.variables() == (python.rx_deliv, python.rx_next, python.rx_reord)
        assert native.next_timeout() == python.next_timeout()
        assert native.statistics() == python.statistics()
        assert native.receptions() == python.receptions()
        limit = data.draw(st.sampled_from([5, 9, 1500]))
        assert native.status(limit) == python.status(limit)


def test_the_first_window_of_an_adaptive_timer_begins_with_the_first_gap() -> None:
    native = DrivenReceiver(sn_format(18), t_reordering=ADAPTIVE, legs=2, legs_keep_order=True)
    for count, now in FIRST_GAP_LATE:
        native.push(Pdu(count, leg=0, sn=count), now)
    assert native.statistics().t_reordering_ns == 200 * MS


@pytest.mark.parametrize("timer", [INFINITE, Timer(0), Timer(5 * MS)])
def test_it_stays_the_same_across_wraps_of_the_sequence_number(timer: Timer) -> None:
    python: ReceivingEntity[int] = ReceivingEntity(sn_format(12), t_reordering=timer, legs=2)
    native = DrivenReceiver(sn_format(12), t_reordering=timer, legs=2)
    for step in range(20_000):
        now, count = step * MS, step ^ (3 if step % 50 < 20 else 0)
        if step % 97:
            native.push(Pdu(step, leg=step % 2, sn=count % 4096), now)
            python.push(Pdu(step, leg=step % 2, sn=count % 4096), now)
        assert native.poll(now) == python.poll(now)
    assert native.statistics() == python.statistics()


@pytest.mark.parametrize("timer", [Timer(200 * MS), ADAPTIVE])
@pytest.mark.parametrize(
    ("rate", "lost", "least"),
    [
        (10_235, (2000,), 0),
        (10_245, (2000,), 1),
        (20_000, (2000,), 4192),
        (50_000, (2000,), 4095),
        (5_122, (2000, 2002), 0),
        (5_130, (2000, 2002), 1),
        (10_000, (2000, 2020), 6000),
    ],
)
def test_more_than_half_the_numbers_within_t_reordering_makes_it_discard_new_pdus(
    rate: int, lost: tuple[int, ...], least: int, timer: Timer
) -> None:
    python: ReceivingEntity[int] = ReceivingEntity(sn_format(12), t_reordering=timer, legs=1)
    native = DrivenReceiver(sn_format(12), t_reordering=timer, legs=1)
    refused = 0
    for count in range(2 * rate):
        if count not in lost:
            now = count * 1000 * MS // rate
            kept = native.push(Pdu(count, leg=0, sn=count % 4096), now)
            assert python.push(Pdu(count, leg=0, sn=count % 4096), now) == kept
            refused += not kept
    assert native.statistics() == python.statistics()
    assert refused >= least
    assert (refused > 0) == (least > 0)
