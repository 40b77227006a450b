"""The handover rule: examples, and what holds for any capacities."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.trace.handover import (
    ChannelEvent,
    HandoverPlan,
    HandoverRule,
    best_channels,
    plan_handovers,
)

STEPS = 16
capacity = st.one_of(st.just(0.0), st.integers(1, 6).map(float))
drives = st.lists(
    st.lists(capacity, min_size=STEPS, max_size=STEPS), min_size=1, max_size=4
).filter(lambda rows: any(map(any, rows)))
rules = st.builds(
    HandoverRule,
    most=st.integers(1, 4),
    time_to_trigger_s=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    hysteresis=st.sampled_from([0.0, 0.3]),
    overlap_s=st.sampled_from([0.0, 0.02, 1.0]),
    give_up_s=st.sampled_from([0.5, 2.0, 5.0]),
    keep=st.booleans(),
)


def replayed(plan: HandoverPlan) -> Iterator[tuple[float, float, set[int], set[int]]]:
    """From, to, channels whose path is available, and those whose path is a backup."""
    status = dict.fromkeys(plan.initial, "available")
    since = 0.0
    for event in (*plan.events, ChannelEvent(float(STEPS), "open", 0)):
        if event.at_s > since:
            used = {channel for channel, word in status.items() if word == "available"}
            yield since, event.at_s, used, set(status) - used
            since = event.at_s
        if event.action == "abandon":
            del status[event.channel]
        else:
            assert (event.action == "open") == (event.channel not in status)
            status[event.channel] = "backup" if event.action == "backup" else "available"


def test_hysteresis_asks_for_more_than_a_little_better() -> None:
    rows = [[5.0] * 5, [4, 5.4, 5.4, 5.4, 5.4]]
    assert plan_handovers(rows, HandoverRule(most=1)).handovers == ((2.0, 1, 2),)
    assert not plan_handovers(rows, HandoverRule(most=1, hysteresis=0.1)).handovers


BACKUPS = (2.0, "open", 2), (2.02, "backup", 1), (5.0, "available", 1), (5.02, "backup", 2)


@pytest.mark.parametrize(
    ("rows", "rule", "initial", "events"),
    [
        ([[5] * 4, [1, 9, 9, 9]], {}, (1,), ((2.0, "open", 2), (2.02, "abandon", 1))),
        ([[5, 1, 5, 1, 5], [3] * 5], {}, (1,), ()),  # shorter than the time to trigger
        ([[4] * 3, [2] * 3, [3] * 3], {"most": 2}, (1, 3), ()),
        # Of two channels in use the worst is replaced.
        (
            [[4] * 3, [2, 5, 5], [3] * 3],
            {"most": 2},
            (1, 3),
            ((2.0, "open", 2), (2.02, "abandon", 3)),
        ),
        # One that vanishes for two seconds keeps its path; one that stays away is given up.
        ([[4] * 9, [0, 0, 8, 8, 0, 0, 8, 8, 0]], {"most": 2}, (1,), ((2.0, "open", 2),)),
        (
            [[4] * 9, [8, 8, *[0] * 6, 8]],
            {"most": 2},
            (2, 1),
            ((7.0, "abandon", 2), (8.0, "open", 2)),
        ),
        # The last path is kept until there is another one.
        (
            [[4, 0, 0, 0, 0, 0], [0, 0, 0, 0, 3, 3]],
            {"most": 2, "give_up_s": 1},
            (1,),
            ((4.0, "open", 2), (4.0, "abandon", 1)),
        ),
        ([[5, 5, 5, 5, 9, 9], [1, 9, 9, 9, 5, 5]], {"keep": True}, (1,), BACKUPS),
        # What sees nothing at first begins with what appears first.
        ([[0, 0, 1, 1], [0, 0, 3, 3], [0] * 4], {"most": 2}, (2,), ((2.0, "open", 1),)),
    ],
)
def test_a_drive_has_these_handovers(
    rows: list[list[float]], rule: dict[str, Any], initial: tuple[int, ...], events: tuple[Any, ...]
) -> None:
    plan = plan_handovers(rows, HandoverRule(**{"most": 1} | rule))
    assert (plan.initial, plan.events) == (initial, events)


@pytest.mark.parametrize(
    ("rates", "values", "message"),
    [
        ([1], {"overlap_s": 2}, "overlap_s: 2; allowed: at most a step, 1"),
        ([0, 0, 0], {}, "no channel has any capacity in the first 3 s"),
    ],
)
def test_a_long_overlap_and_no_channel_at_all_are_refused(
    rates: list[float], values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        plan_handovers([rates], HandoverRule(**{"most": 1} | values))


def test_the_ideal_terminal_has_the_best_channel_of_each_step() -> None:
    assert best_channels([[1, 5, 2, 0], [3, 5, 4, 0]]) == [2, 1, 2, 1]


@given(drives, rules)
def test_paths_follow_the_channels_in_any_drive(
    rows: list[list[float]], rule: HandoverRule
) -> None:
    plan = plan_handovers(rows, rule)
    assert plan == plan_handovers(tuple(map(tuple, rows)), rule)
    assert [event.at_s for event in plan.events] == sorted(event.at_s for event in plan.events)
    for event in plan.events:
        assert 1 <= event.channel <= len(rows)
        if event.action in ("open", "available"):
            assert rows[event.channel - 1][int(event.at_s)] > 0
    left: dict[int, float] = {}
    for at_s, old, new in plan.handovers:
        if new in left:  # a replaced channel takes the time to trigger to replace another
            assert at_s - left[new] >= max(rule.time_to_trigger_s, 1.0)
        left[old] = at_s
    for begin, end, used, backups in replayed(plan):
        swaps = [
            swap for swap in plan.handovers if swap.at_s <= begin <= swap.at_s + rule.overlap_s
        ]
        under_way = [swap for swap in swaps if end <= swap.at_s + rule.overlap_s]
        assert len(used) <= rule.most + len(under_way)
        assert used or backups  # the last path is never abandoned
        for channel in used | backups if len(used | backups) > 1 else ():
            if not any(swap.old == channel for swap in swaps):
                away = max(absent(rows[channel - 1], step) for step in range(int(begin), ceil(end)))
                # Given up at the first step at which it was away for so long.
                assert away - 1 < rule.give_up_s


def absent(row: list[float], step: int) -> int:
    """For how many steps up to this one a channel has been away."""
    return next((n for n in range(step + 1) if row[step - n]), step + 1)
