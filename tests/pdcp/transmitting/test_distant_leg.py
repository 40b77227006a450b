"""Legs behind a backhaul: all that the split point knows of them comes through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import make_capacity
from minitopo_dc.pdcp import (
    FlowControl,
    LeastDelayPolicy,
    LegView,
    SduBuffer,
    TransmittingEntity,
    make_policy,
)
from minitopo_dc.pdcp.transmitting.distant_leg import LegEstimate
from minitopo_dc.pdcp.transmitting.flow_control import DeliveryStatus, LegNode
from minitopo_dc.pdcp.transmitting.legs import Outstanding
from minitopo_dc.units import QueueLimit
from tests.pdcp.bearers import FORMAT, MS, SIZE, Bearer, endless
from tests.pdcp.views import WrittenLeg

XN = 10 * MS
FAR = FlowControl(interval=5 * MS, delay=XN)
PDU = SIZE + 3


class Hidden(WrittenLeg):
    """A leg that must not be looked at any more once `hidden` is true."""

    hidden = False

    def __getattribute__(self, name: str) -> object:
        if name not in ("hidden", "__class__") and object.__getattribute__(self, "hidden"):
            raise AssertionError(f"{name} of the leg itself was read")
        return object.__getattribute__(self, name)


class Recorder:
    """Takes the first leg that takes, and keeps its views."""

    sees_legs: ClassVar[bool] = True

    def __init__(self) -> None:
        self.views: Sequence[LegView] = ()

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        self.views = views
        taking = [leg for leg, view in enumerate(views) if view.takes(now=now, size=size)]
        return tuple(taking[:1])


def shown(view: LegView, now: int, size: int) -> tuple[object, ...]:
    return (
        *(view.is_up, view.has_failed, view.mean_delay_ns, view.credit_bytes(now=now)),
        *(view.backlog_bytes(now=now), view.drain_ns(now=now, more=size)),
        *(view.has_room(now=now, size=size), view.takes(now=now, size=size)),
    )


def test_a_view_never_touches_the_leg() -> None:
    legs, policy = [Hidden(), Hidden()], Recorder()
    entity = TransmittingEntity[int](
        *(FORMAT, policy), legs=2, states=legs, waiting=endless(), flow_control=[FAR, FAR]
    )
    entity.push(1, SIZE, 0)
    entity.poll(0)
    for leg in legs:
        leg.hidden = True
    assert all(shown(view, 1, SIZE) for view in policy.views)


@given(
    st.sampled_from(["down", "slower", "faster"]),
    st.integers(0, 60 * MS),
    st.sampled_from([0, 3 * MS]),
)
def test_a_change_is_not_seen_before_the_backhaul_s_delay_has_passed(
    change: str, moment: int, jitter: int
) -> None:
    def seen(change: str) -> list[object]:
        control = FlowControl(interval=5 * MS, delay=XN, jitter=jitter, status_bytes=SIZE)
        policy = Recorder()
        bearer = Bearer(policy, 12, 6, waiting=endless(), flow_control=[control] * 2)
        seen: list[object] = []
        for at in range(0, moment + XN, MS):
            if at <= moment < at + MS:
                bearer.run(moment)
                if change == "down":
                    bearer.set_up(0, up=False)
                elif change:
                    rate = make_capacity(1_000_000 if change == "slower" else 90_000_000)
                    bearer.legs[0].retune(moment, capacity=rate)
            bearer.run(at + MS)
            bearer.push(at)
            if bearer.now < moment + XN:
                seen.append([shown(view, bearer.now, SIZE) for view in policy.views])
        return seen

    assert seen(change) == seen("")


def test_a_backlog_drains_at_the_reported_rate_once_it_is_there() -> None:
    estimate = LegEstimate(FAR, radio_ns=5 * MS, header=3)
    estimate.take(DeliveryStatus(30_000, 12_024_000, 0, (), is_up=True), 0)  # a PDU a ms
    for number in (1, 2, 3):
        estimate.sent(number, size=SIZE, count=number, now=0)
    moments = (0, 10, 11, 12, 13, 14)
    assert [estimate.backlog_bytes(now=at * MS) // PDU for at in moments] == [3, 3, 2, 1, 0, 0]
    assert estimate.drain_ns(now=0, more=PDU) == 4 * MS
    assert estimate.drain_ns(now=2 * MS, more=PDU) == 2 * MS
    assert estimate.drain_ns(now=90 * MS, more=PDU) == MS
    assert estimate.mean_delay_ns == 15 * MS


def test_a_status_takes_away_what_is_gone_and_what_was_lost() -> None:
    estimate = LegEstimate(FAR, radio_ns=0, header=3)
    for number in range(1, 7):
        estimate.sent(number, size=SIZE, count=10 * number, now=0)
    gone = estimate.take(DeliveryStatus(9000, 10**6, 2, ((4, 5),), is_up=True), 20 * MS)
    assert (gone, estimate.withdraw()) == (20, [30, 60])


def test_an_outage_is_a_leg_that_is_down_and_has_no_rate() -> None:
    estimate = LegEstimate(FAR, radio_ns=0, header=3)
    estimate.take(DeliveryStatus(0, 10**6, 0, (), is_up=False), 0)
    assert (estimate.is_up, estimate.drain_ns(now=0)) == (False, None)


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({}, XN),
        ({"rate_bps": 12_504_000}, XN + MS),  # 1503 and 60 bytes
        ({"loss": 1.0}, None),
    ],
)
def test_a_pdu_meets_delay_rate_and_loss_of_its_backhaul(
    fields: dict[str, Any], at: int | None
) -> None:
    control = FlowControl(interval=5 * MS, delay=XN, **fields)
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(1)
    bearer.run(80 * MS)
    assert [pdu.at for pdu in bearer.sent] == ([] if at is None else [at])
    assert bearer.entity.dropped() == ([1] if at is None else [])


def test_what_the_backhaul_loses_does_not_use_credit_up_for_ever() -> None:
    control = FlowControl(interval=5 * MS, delay=XN, loss=0.5, jitter=2 * MS)
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=endless(), flow_control=[control])
    bearer.push(*range(200))
    bearer.run(3000 * MS)
    lost = bearer.entity.dropped()
    assert 60 < len(lost) < 140
    assert sorted([*lost, *(pdu.sdu for pdu in bearer.sent)]) == list(range(200))


def test_a_node_tells_after_so_many_bytes() -> None:
    policy = Recorder()
    control = FlowControl(interval=1000 * MS, delay=0, status_bytes=3000)
    bearer = Bearer(policy, 12, waiting=endless(), flow_control=[control])
    bearer.push(*range(50))
    bearer.run(40 * MS)
    assert len(bearer.sent) > 38  # without it: two SDUs, and one poll


@pytest.mark.parametrize(
    ("queue", "desired_bytes"),
    [
        (QueueLimit(), 27_000),  # 27 ms of 8 Mbit/s
        (QueueLimit(bytes=12_000), 26_000),  # 20 ms of it, and half the queue
        (QueueLimit(4), 23_000),
        (QueueLimit(4, 2000), 20_400),  # it must take one more packet
        (QueueLimit(bytes=1_000_000), 27_000),
    ],
)
def test_a_node_asks_for_what_passes_on_xn_and_for_half_its_queue_at_most(
    queue: QueueLimit, desired_bytes: int
) -> None:
    leg = WrittenLeg(ns_per_byte=1000)
    node = LegNode(leg, Outstanding(leg), replace(FAR, queue=queue))
    assert node.status(0).desired_bytes == desired_bytes


def test_with_early_numbering_an_sdu_waits_with_its_number_and_leaves_a_gap_if_it_is_too_old() -> (
    None
):
    control = FlowControl(interval=5 * MS, delay=XN, desired=MS)
    waiting = SduBuffer[int](discard_timer=20 * MS)
    bearer = Bearer(LeastDelayPolicy(1), 12, waiting=waiting, early=True, flow_control=[control])
    bearer.push(*range(40))
    assert bearer.entity.tx_next == 40
    bearer.run(100 * MS)
    bearer.push(40)
    bearer.run(200 * MS)
    counts = [pdu.count for pdu in bearer.sent]
    assert counts == [pdu.sdu for pdu in bearer.sent]
    assert 40 in counts and len(counts) < 20


@pytest.mark.parametrize(("losses", "dropped"), [((1, 0), []), ((1, 1), ["sdu"])])
def test_an_sdu_is_dropped_when_every_backhaul_that_has_a_copy_loses_it(
    losses: tuple[float, float], dropped: list[str]
) -> None:
    entity = TransmittingEntity[str](
        FORMAT,
        make_policy("duplicate", legs=2),
        legs=2,
        states=(WrittenLeg(), WrittenLeg()),
        flow_control=[FlowControl(interval=5 * MS, delay=XN, loss=loss) for loss in losses],
    )
    assert entity.push("sdu", SIZE, 0)
    assert entity.dropped() == dropped
