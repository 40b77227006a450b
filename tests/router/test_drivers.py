"""The drivers of bearers that both clocks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from minitopo_dc.pdcp import Pdu, ReceivingEntity, Timer, sn_format
from minitopo_dc.router.drivers import (
    LegDriver,
    ReceiveDriver,
    ReportSender,
    TransmitDriver,
)


class HeldPdu:
    """A PDU of 100 bytes that notes what became of it."""

    size = 100
    accepted = dropped = False

    def __init__(self, bearer: int | None, number: int) -> None:
        self.bearer, self.number = bearer, number

    def accept(self) -> None:
        self.accepted = True

    def drop(self) -> None:
        self.dropped = True


class Loop:
    """One that counts how often its parts' alarms were set anew."""

    def __init__(self) -> None:
        self.rearmed = 0
        self.first: list[bool] = []

    def add_timed(self, part: Any, *, first: bool = False) -> Any:  # noqa: ARG002
        self.first.append(first)
        return self.rearm

    def rearm(self) -> None:
        self.rearmed += 1


def on_leg(loop: Loop, **does: Any) -> LegDriver:
    leg: Any = SimpleNamespace(next_timeout=None, **does)
    return LegDriver(1, leg, loop)


def test_a_report_that_is_not_due_goes_nowhere() -> None:
    maker: Any = SimpleNamespace(poll=lambda _: None, next_timeout=None, start=None)
    ReportSender(maker, [], every_leg=True).handle(5)


@pytest.mark.parametrize("taken", [True, False])
def test_a_leg_s_driver_drops_what_the_leg_refuses(taken: bool) -> None:
    packet, loop = HeldPdu(1, 0), Loop()
    on_leg(loop, push=lambda *_: taken).push(packet, 100, 5)
    assert (packet.accepted, packet.dropped, loop.rearmed) == (False, not taken, 1)


def test_what_crossed_a_leg_goes_on_and_what_is_lost_on_it_is_dropped() -> None:
    crossed, lost, loop = HeldPdu(1, 0), HeldPdu(1, 1), Loop()
    driver = on_leg(loop, poll=lambda now: [crossed] * (now == 5), dropped=lambda: [lost])
    driver.handle(5)
    assert [(packet.accepted, packet.dropped) for packet in (crossed, lost)] == [
        (True, False),
        (False, True),
    ]
    assert loop.rearmed == 0  # its loop asks it when to act next


def test_where_directions_share_a_medium_what_happens_to_one_sets_the_alarms_of_both() -> None:
    loop, other = Loop(), Loop()
    driver = on_leg(loop, poll=lambda _: [], dropped=list, flush=lambda now, which: [now, which])
    driver.other = on_leg(other)
    driver.handle(5)
    assert driver.flush(bool, 5) == [5, bool]
    assert (loop.rearmed, other.rearmed) == (2, 2)


class Leg:
    """A leg whose queue holds the PDUs of several bearers, and that notes what it gets."""

    def __init__(self, *held: Any) -> None:
        self._held = held
        self.put: list[tuple[Any, int, int]] = []

    def push(self, packet: Any, size: int, now: int) -> None:
        self.put.append((packet, size, now))

    def flush(self, which: Callable[[Any], bool], now: int) -> Sequence[Any]:  # noqa: ARG002
        return [packet for packet in self._held if which(packet)]


def driving(entity: Any, loop: Loop, *legs: Any) -> TransmitDriver:
    """Of an entity whose PDUs are packets of 100 bytes themselves."""
    return TransmitDriver(1, entity, legs, loop, lambda pdu, _leg: (pdu.sdu, 100))


def sending(follows_legs: bool, takes: bool = True) -> tuple[TransmitDriver, Leg, Loop]:
    """Of an entity that makes a PDU at each poll until two are made, and drops one."""
    pdus, loop, leg = (
        [Pdu("first", leg=0, count=0), Pdu("second", leg=0, count=1, sn=1)],
        Loop(),
        Leg(),
    )
    entity: Any = SimpleNamespace(
        next_timeout=lambda: None,
        follows_legs=follows_legs,
        push=lambda _, *given: takes and given == (100, 5, None),
        lost_legs=lambda _: [],
        poll=lambda now: [pdus.pop(0)] if pdus and now == 5 else [],
        dropped=list,
    )
    return driving(entity, loop, leg), leg, loop


@pytest.mark.parametrize(
    ("follows_legs", "put"),
    [(True, [("first", 100, 5), ("second", 100, 5)]), (False, [("first", 100, 5)])],
)
def test_an_sdu_s_pdu_goes_on_a_leg_at_once_and_with_those_that_waited_for_legs(
    follows_legs: bool, put: list[Any]
) -> None:
    sender, leg, loop = sending(follows_legs)
    sender.push(HeldPdu(1, 0), 100, 5, None)
    assert leg.put == put
    assert (loop.first, loop.rearmed) == ([True] * follows_legs, int(follows_legs))


@pytest.mark.parametrize("takes", [True, False])
def test_an_sdu_that_an_entity_refuses_is_dropped(takes: bool) -> None:
    sdu = HeldPdu(1, 0)
    sending(follows_legs=True, takes=takes)[0].push(sdu, 100, 5, None)
    assert sdu.dropped != takes


def test_only_an_entity_that_follows_legs_looks_at_changed_ones() -> None:
    (follower, leg, loop), (other, no_leg, _) = (sending(follows_legs=way) for way in (True, False))
    for sender in (follower, other):
        sender.legs_changed(5)
    assert (len(leg.put), loop.rearmed, no_leg.put) == (2, 1, [])


def test_an_sdu_goes_on_once_with_its_bytes_counted_and_a_copy_is_dropped() -> None:
    entity = ReceivingEntity[Any](sn_format(12), t_reordering=Timer(10), legs=2)
    reports: Any = SimpleNamespace()
    loop = Loop()
    driver = ReceiveDriver(1, entity, loop, reports=reports)
    late, first, copy = HeldPdu(1, 1), HeldPdu(1, 0), HeldPdu(1, 0)
    for leg, sdu in enumerate((late, first, copy)):
        number = sdu.number
        driver.push(Pdu(sdu, 100 + leg, leg % 2, number + 4096, number), 5)
    assert [sdu.accepted for sdu in (late, first, copy)] == [True, True, False]
    assert [sdu.dropped for sdu in (late, first, copy)] == [False, False, True]
    assert driver.statistics().delivered_bytes == 200
    seen = [(leg.next_count, leg.pdus, leg.bytes) for leg in entity.receptions()]
    assert seen == [(2, 2, 202), (1, 1, 101)]
    assert (entity.desynchronised, loop.rearmed) == (3, 3)


def test_a_lost_leg_gives_back_the_pdus_of_its_bearer_and_no_others() -> None:
    own, other, plain = HeldPdu(1, 7), HeldPdu(2, 7), HeldPdu(None, 7)
    refused = HeldPdu(1, 8)
    taken: list[tuple[int, list[int], int]] = []
    entity: Any = SimpleNamespace(
        next_timeout=lambda: None,
        follows_legs=False,
        lost_legs=lambda now: [0] * (now == 5),
        leg_lost=lambda *lost: taken.append(lost),
        poll=lambda _: [],
        dropped=lambda: [refused],
    )
    driving(entity, Loop(), Leg(own, other, plain)).handle(5)
    assert taken == [(0, [7], 5)]
    assert [pdu.dropped for pdu in (own, other, plain, refused)] == [True, False, False, True]


@pytest.mark.parametrize(
    ("up", "every_leg", "taken"),
    [
        ([False, True], False, [2]),
        ([True, True], False, [1]),
        ([True, False, True], True, [1, 3]),
        ([False, False], False, [1]),
    ],
)
def test_a_report_takes_the_first_leg_that_is_up_or_all_of_them_or_where_none_is_the_first(
    up: list[bool], every_leg: bool, taken: list[int]
) -> None:
    sent: list[int] = []
    ways: list[Any] = [
        (SimpleNamespace(is_up=is_up), lambda report, now, leg=leg: sent.append(leg))  # noqa: ARG005
        for leg, is_up in enumerate(up, start=1)
    ]
    maker: Any = SimpleNamespace(poll=lambda _: b"report", next_timeout=None, start=None)
    ReportSender(maker, ways, every_leg=every_leg).handle(5)
    assert sent == taken
