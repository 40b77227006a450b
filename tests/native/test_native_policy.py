"""Split policies in Python that the native core asks, against the same ones on the Python core."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.link import LegParameters, make_capacity
from minitopo_dc.pdcp import (
    LegView,
    PolicyError,
    SduBuffer,
    SplitPolicy,
    TransmittingEntity,
    sn_format,
)
from tests.native.driven import DrivenLeg, DrivenTransmitter
from tests.native.extension import EXAMPLES, needs_native
from tests.native.legs import MS, polled
from tests.native.test_native_transmit import Bearer, controls, on_both_cores, some_report

pytestmark = needs_native


class Arbitrary:
    """Answers at random by all that it has seen, and fails at last."""

    sees_legs: ClassVar[bool] = True

    def __init__(self, legs: int, seed: int, lasts: int) -> None:
        self._rng = Random(seed)
        self._legs = legs
        self._lasts = lasts
        self.seen: list[Any] = []

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        self.seen.append((now, size, *(of_view(view, now, size) for view in views)))
        if len(self.seen) > self._lasts:
            raise LookupError(f"{len(self.seen)} questions")
        backlogs = sum(view.backlog_bytes(now=now) for view in views)
        count = self._rng.randint(0, self._legs)
        return tuple((self._rng.randrange(1000) + backlogs) % self._legs for _ in range(count))


class Blind(Arbitrary):
    """The same without views."""

    sees_legs: ClassVar[bool] = False


def of_view(view: LegView, now: int, size: int) -> tuple[Any, ...]:
    """All that a policy can ask about a leg."""
    return (
        *(view.is_up, view.has_failed, view.may_wait, view.mean_delay_ns, view.report),
        *(view.sent_pdus, view.sent_bytes, view.pending_bytes, view.credit_bytes(now=now)),
        *(view.backlog_bytes(now=now), view.has_room(now=now, size=size)),
        *(view.takes(now=now, size=size), view.takes(now=now, size=10 * size)),
        *(view.drain_ns(now=now), view.drain_ns(now=now, more=size)),
    )


@st.composite
def bearers(draw: st.DrawFn) -> tuple[Arbitrary, Bearer, Arbitrary, Bearer]:
    """An arbitrary policy on each core, and the entity that asks it."""
    legs, lasts = draw(st.integers(1, 3)), draw(st.integers(0, 80))
    kind, seed = draw(st.sampled_from([Arbitrary, Blind])), draw(st.integers(0, 999))
    control = draw(st.one_of(st.just([]), st.lists(controls, min_size=legs, max_size=legs)))
    ours, theirs = kind(legs, seed, lasts), kind(legs, seed, lasts)
    python, native = on_both_cores(draw, [ours, theirs], 12, legs=legs, flow_control=control)
    return ours, python, theirs, native


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(bearers(), st.data())
def test_a_policy_sees_and_does_on_the_native_core_what_it_does_on_the_other(
    both: tuple[Arbitrary, Bearer, Arbitrary, Bearer], data: st.DataObject
) -> None:
    ours, python, theirs, native = both
    legs, now = len(python.legs), data.draw(st.integers(0, 10**9))
    for leg in (*python.legs, *native.legs):
        leg.start(now)
    for sdu in range(data.draw(st.integers(1, 60))):
        now += data.draw(st.one_of(st.just(0), st.integers(0, 3 * MS), st.integers(0, 100 * MS)))
        what = data.draw(st.sampled_from("ppppppur"))
        if what == "u":
            leg, up = data.draw(st.integers(0, legs - 1)), data.draw(st.booleans())
            python.legs[leg].set_up(up, now)
            native.legs[leg].set_up(up, now)
        elif what == "r":
            report = some_report(data, python.entity.tx_next, sdu + 1, legs)
            python.entity.feedback.push(report, now)
            native.entity.feedback.push(report, now)
        for python_leg, native_leg in zip(python.legs, native.legs, strict=True):
            assert polled(native_leg, now) == polled(python_leg, now)
        size = data.draw(st.integers(20, 1500)) if what == "p" else None
        found = step(native, sdu, size, now)
        assert found == step(python, sdu, size, now)
        assert theirs.seen == ours.seen
        assert native.entity.statistics() == python.entity.statistics()
        assert native.shown(now)[2] == python.shown(now)[2]
        if isinstance(found, str):
            break


def step(bearer: Bearer, sdu: int, size: int | None, now: int) -> Any:
    """What a bearer does with an SDU, if there is one: its PDUs, or the policy's error."""
    try:
        taken = None if size is None else bearer.push(sdu, size, now)
        return taken, bearer.submit(now), sorted(bearer.entity.dropped())
    except PolicyError as error:
        return str(error)


class Says:
    """Gives these answers, one after the other."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        found: tuple[int, ...] = self._answers.pop(0)
        return found


def asked(policy: SplitPolicy, *, late: bool = False) -> DrivenTransmitter:
    legs = [DrivenLeg(LegParameters(), make_capacity(10**7), Random(1)) for _ in range(2)]
    waiting = SduBuffer[int]() if late else None
    return DrivenTransmitter(sn_format(12), policy, legs=2, states=legs, waiting=waiting)


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ((2,), "must be a tuple of legs, each 0 to 1, e.g. (0,)"),
        (None, "must be a tuple of legs, each 0 to 1, e.g. (0,)"),
        ((0, 1, 0), "must be 2 legs at most"),
    ],
)
def test_a_wrong_answer_is_an_error_on_both_cores(answer: object, allowed: str) -> None:
    wanted = f"split policy Says answered {answer!r}, {allowed}"
    python: TransmittingEntity[int] = TransmittingEntity(sn_format(12), Says(answer), legs=2)
    for entity in (python, asked(Says(answer))):
        with pytest.raises(PolicyError) as found:
            entity.push(1, 100, 0)
        assert str(found.value) == wanted


def test_an_entity_whose_policy_failed_asks_it_no_more() -> None:
    for late in (False, True):
        entity = asked(Says((0,), (7,), (1,)), late=late)
        entity.push(1, 100, 0)
        sent = entity.poll(0)
        with pytest.raises(PolicyError, match="answered \\(7,\\)"):
            entity.poll(0) if entity.push(2, 100, 0) else None
        with pytest.raises(PolicyError, match="answered \\(7,\\)"):
            entity.push(3, 100, 0)
        assert [pdu.leg for pdu in sent] == [0]
        assert entity.statistics().sdus == 1


class Interrupts:
    """Is interrupted, as by Ctrl-C."""

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        raise KeyboardInterrupt


def test_an_interruption_in_a_policy_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):
        asked(Interrupts()).push(1, 100, 0)
