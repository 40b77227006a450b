"""Whatever legs do, no SDU is forgotten: entities of many kinds over legs that they share."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.link import (
    AnyLeg,
    Capacity,
    CapacityLeg,
    ConstantDelay,
    LegParameters,
    RlcLeg,
    RlcParameters,
    make_capacity,
)
from minitopo_dc.pdcp import (
    DuplicationRule,
    FlowControl,
    Recovery,
    SduBuffer,
    SelectiveDuplication,
    TransmittingEntity,
    make_policy,
    sn_format,
)
from minitopo_dc.trace import EndRule, RateTrace
from minitopo_dc.units import QueueLimit
from tests.pdcp.shared_legs import MS, Carried, SharedLegs

LONG = 6_000 * MS
"""In which all that can be sent is."""


@dataclass(frozen=True)
class Kind:
    """What a bearer's transmitting entity is like."""

    policy: str
    late: bool
    recovers: bool
    discard_timer: int | None
    control: FlowControl | None
    duplicates: bool


kinds = st.builds(
    Kind,
    policy=st.sampled_from(
        ["batch", "duplicate", "least-delay", "proportional", "threshold", "bandit", "credit"]
    ),
    late=st.booleans(),
    recovers=st.booleans(),
    discard_timer=st.sampled_from([None, 20 * MS]),
    control=st.sampled_from([None, FlowControl(5 * MS, 0), FlowControl(5 * MS, 8 * MS)]),
    duplicates=st.booleans(),
).filter(lambda kind: kind.policy != "credit" or kind.control is not None)


def entity(kind: Kind, legs: list[AnyLeg[Carried]]) -> TransmittingEntity[int]:
    number = len(legs)
    parameters: dict[str, Any] = {"batch": 6} if kind.policy == "batch" else {}
    rule = DuplicationRule(deadline_ns=30 * MS)
    recovery = Recovery[int](number, most=1 << 17, discard_timer=kind.discard_timer)
    return TransmittingEntity[int](
        sn_format(18),
        make_policy(kind.policy, legs=number, **parameters),
        legs=number,
        states=legs,
        reports=True,
        waiting=SduBuffer(QueueLimit(40), kind.discard_timer) if kind.late else None,
        flow_control=(kind.control,) * number if kind.control else (),
        recovery=recovery if kind.recovers else None,
        duplication=SelectiveDuplication(rule, number) if kind.duplicates else None,
    )


def capacity(pattern: str) -> Capacity:
    """12 Mbit/s steadily, with pauses, or for 100 ms and then never again."""
    if pattern == "steady":
        return make_capacity(12_000_000)
    times, end = ((0, 50 * MS, 120 * MS), "loop") if pattern == "pauses" else ((0,), "stop")
    rates = (12_000_000, 0, 6_000_000)[: len(times)]
    duration = 200 * MS if pattern == "pauses" else 100 * MS
    rule: EndRule = "loop" if end == "loop" else "stop"
    return make_capacity(RateTrace(pattern, times, rates, duration), rule)


rlcs = st.sampled_from(
    [None, None, RlcParameters(), RlcParameters(block_error=0.5, mode="um", in_order=False)]
)


def leg_of(pattern: str, rlc: RlcParameters | None, queue: int, seed: int) -> AnyLeg[Carried]:
    parameters = LegParameters(queue=QueueLimit(queue), delay=ConstantDelay(5 * MS))
    if rlc is None:
        return CapacityLeg(parameters, capacity(pattern), Random(seed))
    return RlcLeg(parameters, rlc, capacity(pattern), Random(seed))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 1), st.integers(1, 30)),
        st.tuples(st.just("wait"), st.integers(0, 60), st.just(0)),
        st.tuples(st.just("down"), st.integers(0, 1), st.just(0)),
        st.tuples(st.just("up"), st.integers(0, 1), st.just(0)),
    ),
    max_size=25,
)


def play(shared: SharedLegs, actions: list[tuple[str, int, int]]) -> None:
    for action, which, sdus in actions:
        if action == "push":
            shared.push(which % len(shared.bearers), sdus)
        elif action == "wait":
            shared.run(shared.now + which * MS)
        else:
            shared.set_up(which, action == "up")


@given(
    st.lists(kinds, min_size=1, max_size=2),
    st.tuples(st.sampled_from(["steady", "pauses"]), st.sampled_from(["steady", "pauses", "ends"])),
    st.tuples(rlcs, rlcs, st.sampled_from([3, 30])),
    steps,
    st.sampled_from([(True, True), (True, False), (False, True)]),
)
def test_no_sdu_is_forgotten(
    bearers: list[Kind],
    patterns: tuple[str, str],
    radio: tuple[Any, Any, int],
    actions: list[tuple[str, int, int]],
    up: tuple[bool, bool],
) -> None:
    """In the end one leg or both are up: nothing waits but on a leg that is down or has ended."""
    *rlc, queue = radio
    legs = [leg_of(patterns[at], rlc[at], queue, at) for at in (0, 1)]
    shared = SharedLegs(legs, [entity(kind, legs) for kind in bearers])
    play(shared, actions)
    for leg in (0, 1):
        shared.set_up(leg, up[leg])
    shared.run(shared.now + LONG)
    moves = [up[0], up[1] and patterns[1] != "ends"]
    held = [shared.held_by(leg) for leg in (0, 1)]
    for number, (kind, bearer) in enumerate(zip(bearers, shared.bearers, strict=True)):
        assert bearer.delivered == sorted(set(bearer.delivered))
        of_leg = [{sdu for of, sdu in held[leg] if of == number} for leg in (0, 1)]
        stuck = {sdu for leg in (0, 1) if not moves[leg] for sdu in of_leg[leg]}
        if any(moves):
            assert not getattr(bearer.entity.statistics(), "waiting", 0)
            assert set(range(bearer.pushed)) <= bearer.arrived | bearer.gone | stuck
        if kind.recovers:
            assert not any(of_leg[leg] - bearer.arrived for leg in (0, 1) if not up[leg])
