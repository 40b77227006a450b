"""The transmitting entity and split policies in C against their twins, over legs of both cores."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.link import (
    CapacityLeg,
    ConstantDelay,
    LegParameters,
    RlcParameters,
    make_capacity,
    make_leg,
)
from minitopo_dc.link.rlc.parameters import TddPattern
from minitopo_dc.pdcp import (
    Feedback,
    FlowControl,
    LegReception,
    Report,
    SduBuffer,
    SplitPolicy,
    TransmittingEntity,
    make_policy,
    sees_legs,
    sn_format,
)
from minitopo_dc.pdcp.report import encode_report
from minitopo_dc.units import QueueLimit
from tests.native.driven import DrivenLeg, DrivenTransmitter
from tests.native.extension import EXAMPLES, needs_native
from tests.native.legs import MS, Numbered, capacities, polled, shown

pytestmark = needs_native
TWINS = ("batch", "duplicate", "least-delay", "proportional")
POLICIES = (*TWINS, "threshold", "bandit")
"""The last two are in Python, and C asks them, as it asks `credit`."""
CLASSES: tuple[Any, Any] = (CapacityLeg, DrivenLeg)
controls = st.builds(
    FlowControl,
    interval=st.integers(MS, 20 * MS),
    delay=st.one_of(st.just(0), st.integers(0, 30 * MS)),
    desired=st.one_of(st.none(), st.integers(1, 50 * MS)),
    status_bytes=st.sampled_from([None, 1, 4000]),
    jitter=st.sampled_from([0, 5 * MS]),
    rate_bps=st.sampled_from([None, 999, 10**7]),
    loss=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.sampled_from(["a", "b"]),
    queue=st.builds(
        QueueLimit,
        st.sampled_from([None, 1, 5, 100]),
        st.sampled_from([None, 1, 4000, 10**6]),
    ),
)
"""Of a leg behind a backhaul."""


class Bearer:
    """A transmitting entity over legs of one core, driven as on the virtual clock."""

    def __init__(self, entity: Any, legs: list[Any], header: int) -> None:
        self.entity, self.legs, self.header = entity, legs, header
        self.sizes: dict[int, int] = {}

    def push(self, sdu: Any, size: int, now: int) -> bool:
        self.sizes[int(sdu) // 4] = size
        return bool(self.entity.push(sdu, size, now))

    def submit(self, now: int) -> list[Any]:
        found = []
        while pdus := self.entity.poll(now):
            for pdu in pdus:
                self.legs[pdu.leg].push(pdu.sdu, self.sizes[int(pdu.sdu) // 4] + self.header, now)
            found += pdus
        return found

    def shown(self, now: int) -> Any:
        counted = self.entity.statistics()
        return self.entity.next_timeout(), counted, [shown(leg, now) for leg in self.legs]


def on_both_cores(
    draw: st.DrawFn, policies: Sequence[SplitPolicy], bits: int, **fields: Any
) -> tuple[Bearer, Bearer]:
    """An entity of each core over the same legs, some behind a backhaul, asking a policy each."""
    legs: int = fields.pop("legs")
    late = draw(st.booleans())
    limit = draw(st.one_of(st.none(), st.integers(1, 12)))
    size = draw(st.one_of(st.none(), st.integers(1, 12_000)))
    discard = draw(st.sampled_from([None, 10 * MS, 50 * MS]))
    queue = draw(st.one_of(st.none(), st.integers(1, 10)))
    makes = [draw(capacities()) for _ in range(legs)]
    delays = [ConstantDelay(draw(st.integers(0, 30 * MS))) for _ in range(legs)]
    python_legs: list[Any]
    python_legs, native_legs = (
        [
            leg_class(LegParameters(queue=QueueLimit(queue), delay=delay), capacity(), Random(1))
            for capacity, delay in zip(makes, delays, strict=True)
        ]
        for leg_class in CLASSES
    )
    entities: list[Any] = [
        kind(
            *(sn_format(bits), policy),
            legs=legs,
            states=states,
            reports=True,
            waiting=SduBuffer[int](QueueLimit(limit, size), discard) if late else None,
            **fields,
        )
        for kind, policy, states in zip(
            (TransmittingEntity, DrivenTransmitter),
            policies,
            (python_legs, native_legs),
            strict=True,
        )
    ]
    python, native = entities
    header = sn_format(bits).size
    return Bearer(python, python_legs, header), Bearer(native, native_legs, header)


@st.composite
def bearers(draw: st.DrawFn) -> tuple[Bearer, Bearer]:
    """The same on both cores."""
    legs, name, parameters = draw(st.integers(1, 3)), draw(st.sampled_from(POLICIES)), {}
    has_nodes = draw(st.booleans())
    if has_nodes and draw(st.booleans()):
        name = "credit"
    if name == "batch":
        shares = draw(st.lists(st.integers(0, 9), min_size=legs, max_size=legs).filter(any))
        parameters = {"batch": draw(st.integers(1, 30)), "ratio": shares}
    return on_both_cores(
        draw,
        [make_policy(name, legs=legs, **parameters) for _ in CLASSES],
        draw(st.sampled_from([12, 16, 18])),
        legs=legs,
        early=draw(st.booleans()),
        flow_control=[draw(controls) for _ in range(legs)] if has_nodes else [],
        mark_above=draw(st.sampled_from((None, 1, MS, 20 * MS))),
    )


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(bearers(), st.data())
def test_an_entity_does_what_its_twin_does(
    pair: tuple[Bearer, Bearer], data: st.DataObject
) -> None:
    python, native = pair
    legs, number = len(python.legs), 0
    now = data.draw(st.integers(0, 10**9))
    for bearer in pair:
        for leg in bearer.legs:
            leg.start(now)
    for index in range(data.draw(st.integers(1, 60))):
        now += data.draw(st.one_of(st.just(0), st.integers(0, 3 * MS), st.integers(0, 100 * MS)))
        what = data.draw(st.sampled_from("pppppppptttur"))
        if what == "p":
            size, sdu = data.draw(st.integers(20, 1500)), 4 * index + data.draw(st.integers(0, 3))
            assert native.push(sdu, size, now) == python.push(Numbered(sdu), size, now)
        elif what == "t":
            moment = python.entity.next_timeout()
            now = max(now, moment) if moment is not None and moment < 2**61 else now
        elif what == "u":
            leg, up = data.draw(st.integers(0, legs - 1)), data.draw(st.booleans())
            for bearer in pair:
                bearer.legs[leg].set_up(up, now)
        else:
            number += data.draw(st.integers(-1, 2))
            report = some_report(data, python.entity.tx_next, number, legs)
            for bearer in pair:
                bearer.entity.feedback.push(report, now)
        for python_leg, native_leg in zip(python.legs, native.legs, strict=True):
            assert polled(native_leg, now) == polled(python_leg, now)
        assert native.submit(now) == python.submit(now)
        assert native.shown(now) == python.shown(now)
        dropped = native.entity.dropped(), python.entity.dropped()
        assert sorted(map(int, dropped[0])) == sorted(map(int, dropped[1]))
        assert native.entity.feedback.counts() == python.entity.feedback.counts()


def some_report(data: st.DataObject, tx_next: int, number: int, legs: int) -> bytes:
    """A report as the receiver's, or one that no receiver of this bearer would send."""
    if data.draw(st.integers(0, 9)) == 0:
        return data.draw(st.binary(max_size=150))
    found = []
    for _ in range(legs):
        following = data.draw(st.integers(0, tx_next + 1))
        pdus = data.draw(st.integers(1, following)) if following else 0
        reordered = data.draw(st.integers(0, pdus))
        found.append(LegReception(following, pdus, pdus * 700, reordered, reordered * MS))
    return encode_report(Report(max(1, number), tuple(found)))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", POLICIES)
def test_a_long_run_splits_the_same(name: str, late: bool) -> None:
    """Over legs of unequal rates, with reports, so that shares are learnt."""
    made: list[Bearer] = []
    for leg_class in CLASSES:
        legs: list[Any] = [
            leg_class(LegParameters(), make_capacity(rate), Random(rate))
            for rate in (3_000_000, 20_000_000)
        ]
        policy, waiting = (
            make_policy(name, legs=2),
            SduBuffer[int](QueueLimit(200)) if late else None,
        )
        kind: Any = TransmittingEntity if leg_class is CapacityLeg else DrivenTransmitter
        entity = kind(*(sn_format(18), policy), legs=2, states=legs, reports=True, waiting=waiting)
        for leg in legs:
            leg.start(0)
        made.append(Bearer(entity, legs, 3))
    python, native = made
    came = [[0, 0], [0, 0]]
    for step in range(2000):
        now = step * 400_000
        assert native.push(4 * step, 1500, now) == python.push(4 * step, 1500, now)
        pdus = python.submit(now)
        assert native.submit(now) == pdus
        for pdu in pdus:
            came[pdu.leg] = [pdu.count + 1, came[pdu.leg][1] + 1]
        if step % 50 == 0:
            heard = tuple(LegReception(high, pdus, pdus * 1500, 0, 0) for high, pdus in came)
            for bearer in made:
                bearer.entity.feedback.push(encode_report(Report(step // 50 + 1, heard)), now)
    assert native.shown(now) == python.shown(now)
    assert sees_legs(make_policy(name, legs=2)) == (name in POLICIES[2:])


@pytest.mark.parametrize("native", [False, True])
def test_late_numbers_fill_every_slot_of_a_tdd_uplink_behind_its_first_grant(native: bool) -> None:
    rlc = RlcParameters(
        tdd=TddPattern("DDDSU", "U"), slot_ns=MS // 2, block_error=0.0, sr_ns=10 * MS
    )
    leg: Any = (DrivenLeg if native else make_leg)(
        LegParameters(QueueLimit(), delay=ConstantDelay(0), grant_ns=5 * MS),
        make_capacity(10**8),
        *(Random(1), rlc),
    )
    policy = make_policy("least-delay", legs=1)
    kind: Any = DrivenTransmitter if native else TransmittingEntity
    waiting = SduBuffer[int]()
    entity = kind(*(sn_format(18), policy), legs=1, states=[leg], waiting=waiting)
    bearer, delivered = Bearer(entity, [leg], 3), 0
    leg.start(0)
    for number in range(2000):
        bearer.push(4 * number, 1247, 0)
    for now in range(0, 101 * MS, MS // 2):
        delivered += len(leg.poll(now))
        bearer.submit(now)
    # A request at 2 ms and a grant for 7 ms; then each U, of 25 packets with headers.
    assert delivered == 38 * 25


def test_reports_are_told_apart_as_by_the_twin() -> None:
    legs = [DrivenLeg(LegParameters(), make_capacity(10**7), Random(1)) for _ in range(2)]
    policy = make_policy("duplicate", legs=2)
    native = DrivenTransmitter(sn_format(12), policy, legs=2, states=legs, reports=True)
    python = Feedback(2)
    native.push(1, 100, 0)
    for leg in range(2):
        python.sent(leg, 0)
    assert native.feedback is not None
    for following in (0, 1, 2, 2**62, 2**64 - 1):
        data = encode_report(Report(1, (LegReception(following, int(following > 0), 0, 0, 0),) * 2))
        for each in (python, native.feedback):
            each.push(data, 5)
        assert native.feedback.counts() == python.counts()
