"""What an entity shows its policy of each leg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest

from minitopo_dc.pdcp import (
    LegReception,
    LegView,
    PolicyError,
    Report,
    TransmittingEntity,
    encode_report,
    sn_format,
)
from tests.pdcp.views import WrittenLeg


class Watcher:
    """Sends on leg 1 of two, and keeps what it was shown."""

    sees_legs: ClassVar[bool] = True

    def __init__(self) -> None:
        self.shown: list[Sequence[LegView]] = []

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:  # noqa: ARG002
        self.shown.append(views)
        return (1,)


class Blind(Watcher):
    """The same, but it does not say that it looks."""

    sees_legs: ClassVar[bool] = False


def bearer(policy: Watcher, *states: WrittenLeg, reports: bool = False) -> TransmittingEntity[str]:
    return TransmittingEntity(sn_format(12), policy, legs=2, states=states, reports=reports)


def test_a_policy_is_shown_each_leg_as_it_is_now() -> None:
    policy, legs = Watcher(), (WrittenLeg(mean_delay_ns=5), WrittenLeg(ns_per_byte=2))
    bearer(policy, *legs).push("a", 100, 0)
    first, second = policy.shown[0]
    assert (first.mean_delay_ns, second.mean_delay_ns) == (5, 0)
    assert (second.drain_ns(now=0), second.drain_ns(now=0, more=100)) == (0, 200)
    legs[1].backlog, legs[1].is_up, legs[1].room = 7, False, False
    assert (second.backlog_bytes(now=0), second.drain_ns(now=0)) == (7, 14)
    assert (first.is_up, second.is_up) == (True, False)
    assert (first.has_room(now=0, size=100), second.has_room(now=0, size=100)) == (True, False)


def test_the_views_are_the_same_ones_for_every_packet() -> None:
    policy = Watcher()
    entity = bearer(policy, WrittenLeg(), WrittenLeg())
    for _ in range(2):
        entity.push("a", 100, 0)
    assert policy.shown[0] is policy.shown[1]


def test_a_view_counts_what_this_bearer_sent_on_its_leg() -> None:
    policy = Watcher()
    entity = bearer(policy, WrittenLeg(), WrittenLeg())
    for size in (100, 50):
        entity.push("a", size, 0)
    counts = [(view.sent_pdus, view.sent_bytes) for view in policy.shown[0]]
    assert counts == [(0, 0), (2, 150)]


def test_a_policy_that_does_not_look_is_shown_nothing() -> None:
    policy = Blind()
    bearer(policy, WrittenLeg(), WrittenLeg()).push("a", 100, 0)
    assert policy.shown == [()]


def test_a_policy_that_looks_is_refused_where_legs_cannot_be_seen() -> None:
    with pytest.raises(PolicyError, match="Watcher sees legs: needs 2, 0 are shown"):
        bearer(Watcher())


def test_a_view_has_the_latest_report_and_none_before_the_first() -> None:
    policy = Watcher()
    entity = bearer(policy, WrittenLeg(), WrittenLeg(), reports=True)
    for _ in range(3):
        entity.push("a", 100, 0)
    view = policy.shown[0][1]
    assert view.report is None
    assert entity.feedback is not None
    nothing, some = LegReception(0, 0, 0, 0, 0), LegReception(3, 2, 200, 1, 9)
    entity.feedback.push(encode_report(Report(1, (nothing, some))), 77)
    assert view.report is not None
    assert (view.report.at, view.report.delivered_pdus, view.report.lost_pdus) == (77, 2, 1)


def test_without_reports_a_view_has_none() -> None:
    policy = Watcher()
    entity = bearer(policy, WrittenLeg(), WrittenLeg())
    entity.push("a", 100, 0)
    assert entity.feedback is None
    assert [view.report for view in policy.shown[0]] == [None, None]
