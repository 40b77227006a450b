"""The event queue: order, timers that change their mind, the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.virtual.loop import START_NS, Loop, Timer

FAR = START_NS * 1000


def recording(loop: Loop, fired: list[tuple[int, int]], name: int) -> Timer:
    return Timer(loop, lambda: fired.append((loop.now, name)))


@given(st.lists(st.integers(min_value=START_NS, max_value=START_NS + 20), max_size=30))
def test_timers_fire_in_order_of_time_and_equal_times_in_order_of_setting(
    moments: list[int],
) -> None:
    loop, fired = Loop(), list[tuple[int, int]]()
    for name, moment in enumerate(moments):
        recording(loop, fired, name).set(moment)
    loop.run(FAR)
    assert fired == sorted((moment, name) for name, moment in enumerate(moments))


@given(st.lists(st.integers(min_value=START_NS, max_value=START_NS + 9), min_size=1, max_size=9))
def test_a_timer_fires_once_at_what_it_was_set_to_last(moments: list[int]) -> None:
    loop, fired = Loop(), list[tuple[int, int]]()
    timer = recording(loop, fired, 0)
    for moment in moments:
        timer.set(moment)
    loop.run(FAR)
    assert fired == [(moments[-1], 0)]


def test_a_timer_set_to_none_does_not_fire() -> None:
    loop, fired = Loop(), list[tuple[int, int]]()
    timer = recording(loop, fired, 0)
    timer.set(START_NS + 1)
    timer.set(None)
    loop.run(FAR)
    assert fired == []


@given(st.lists(st.integers(min_value=START_NS, max_value=START_NS + 9), min_size=1, max_size=9))
def test_bringing_forward_never_delays(moments: list[int]) -> None:
    loop, fired = Loop(), list[tuple[int, int]]()
    timer = recording(loop, fired, 0)
    for moment in moments:
        timer.bring_forward(moment)
    loop.run(FAR)
    assert fired == [(min(moments), 0)]


def test_a_timer_may_set_itself_again() -> None:
    loop, moments = Loop(), list[int]()

    def tick() -> None:
        moments.append(loop.now)
        timer.set(loop.now + 5)

    timer = Timer(loop, tick)
    timer.set(START_NS)
    loop.run(START_NS + 12)
    assert moments == [START_NS, START_NS + 5, START_NS + 10]


def test_stop_leaves_the_rest_undone() -> None:
    loop, fired = Loop(), list[tuple[int, int]]()
    Timer(loop, loop.stop).set(START_NS)
    recording(loop, fired, 0).set(START_NS)
    loop.run(FAR)
    assert fired == []
