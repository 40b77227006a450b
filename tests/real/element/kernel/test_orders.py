"""What the loop reads and when it ends: sources in turn, orders by lines, signals."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element.kernel import loop as module
from minitopo_dc.real.element.kernel.loop import IDLE_NS, Loop
from tests.real.element.fakes import MS, Clock

BUDGET = 4


class Orders:
    """Standard input of a loop: a pipe that tests write to."""

    def __init__(self) -> None:
        self.descriptor, self._writing = os.pipe()

    def write(self, text: bytes) -> None:
        os.write(self._writing, text)

    def end(self) -> None:
        os.close(self._writing)
        self._writing = -1

    def close(self) -> None:
        os.close(self.descriptor)
        if self._writing >= 0:
            os.close(self._writing)


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Iterator[Orders]:
    made = Orders()
    monkeypatch.setattr(module, "ORDERS", made.descriptor)
    yield made
    made.close()


class Flood:
    """A source with packets without end; takes `BUDGET` of them a turn."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._descriptor = os.eventfd(1)
        self._name, self._log = name, log
        self.each: Callable[[], None] = lambda: None

    def fileno(self) -> int:
        return self._descriptor

    def read(self) -> None:
        for _ in range(BUDGET):
            self._log.append(self._name)
            self.each()

    def close(self) -> None:
        os.close(self._descriptor)


@pytest.fixture
def log() -> list[str]:
    """Whose packets were read, one after the other."""
    return []


@pytest.fixture
def floods(log: list[str]) -> Iterator[list[Flood]]:
    made = [Flood(name, log) for name in "ab"]
    yield made
    for each in made:
        each.close()


class Due:
    """A timed part that says when it was served."""

    def __init__(self, moment: int) -> None:
        self.moment: int | None = moment
        self.served: list[int] = []

    def next_timeout(self) -> int | None:
        return self.moment

    def handle(self, now: int) -> None:
        self.served.append(now)
        self.moment = None


def refuse(line: str) -> None:
    raise AssertionError(f"no order expected: {line!r}")


@pytest.mark.usefixtures("orders")
def test_sources_that_always_have_packets_take_turns(floods: list[Flood], log: list[str]) -> None:
    loop = Loop()
    for source in floods:
        loop.add_source(source)
    turns = iter(range(5 * 2 * BUDGET))
    for source in floods:
        source.each = lambda: loop.stop() if next(turns, None) is None else None
    loop.run(refuse)
    rounds = [log[at : at + 2 * BUDGET] for at in range(0, 5 * 2 * BUDGET, 2 * BUDGET)]
    assert all(sorted(each) == ["a"] * BUDGET + ["b"] * BUDGET for each in rounds)


def test_an_order_is_read_although_packets_never_end(
    orders: Orders, floods: list[Flood], log: list[str]
) -> None:
    loop = Loop()
    loop.add_source(floods[0])
    orders.write(b"start\n")
    found = []

    def stop(line: str) -> None:
        found.append(line)
        loop.stop()

    loop.run(stop)
    assert found == ["start"]
    assert len(log) <= BUDGET


@pytest.mark.usefixtures("orders")
def test_what_becomes_due_is_served_between_two_turns(
    floods: list[Flood], log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "clock", clock)
    loop, part = Loop(), Due(MS)
    loop.add_timed(part)
    loop.add_source(floods[0])

    def pass_time() -> None:
        clock.now += MS // BUDGET
        if len(log) == 3 * BUDGET:
            loop.stop()

    floods[0].each = pass_time
    loop.run(refuse)
    assert part.served == [MS]


def test_a_part_that_changes_others_is_served_before_them() -> None:
    loop, served = Loop(), []

    class Named(Due):
        def __init__(self, name: str) -> None:
            super().__init__(MS)
            self._name = name

        def handle(self, now: int) -> None:
            super().handle(now)
            served.append(self._name)

    loop.add_timed(Named("one"))
    loop.add_timed(Named("two"))
    loop.add_timed(Named("schedule"), first=True)
    loop.serve(MS)
    assert served == ["schedule", "one", "two"]


def test_without_anything_to_do_the_loop_sleeps_for_the_longest_sleep() -> None:
    loop = Loop()
    loop.serve(5)
    assert loop.due == 5 + IDLE_NS


@pytest.mark.parametrize(("moment", "due"), [(None, 10), (10, 10), (11, 10), (9, 9)])
def test_a_part_can_only_make_the_loop_wake_sooner(moment: int | None, due: int) -> None:
    loop = Loop()
    loop.due = 10
    loop.wake_at(moment)
    assert loop.due == due


def carried_out(pieces: list[bytes]) -> list[str]:
    """The orders that are carried out when these pieces are read one after the other."""
    found: list[str] = []
    orders = Orders()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ORDERS", orders.descriptor)
        waiting = iter(pieces)

        def read(descriptor: int, size: int) -> bytes:
            assert (descriptor, size) == (orders.descriptor, 4096)
            return next(waiting, b"")

        patch.setattr(module, "os", SimpleNamespace(read=read))
        orders.write(b"there is always something to read")
        Loop().run(found.append)
    orders.close()
    return found


@given(st.data())
def test_an_order_is_carried_out_once_however_it_is_cut(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.from_regex(r"[a-z]{1,5}( [0-9])?", fullmatch=True), max_size=5))
    text = "".join(line + "\n" for line in lines).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    ends = zip([0, *cuts], [*cuts, len(text)], strict=True)
    pieces = [text[begin:end] for begin, end in ends if text[begin:end]]
    assert carried_out(pieces) == lines


def test_a_line_that_ends_as_on_a_terminal_is_the_same_order() -> None:
    assert carried_out([b"start\r\n"]) == ["start"]


def test_an_order_that_is_cut_by_the_end_of_input_is_none() -> None:
    assert carried_out([b"start\ndown", b""]) == ["start"]


def test_bytes_that_are_no_text_are_an_order_that_is_not_known() -> None:
    assert carried_out([b"\xff\xfe\n"]) == ["\ufffd\ufffd"]


def test_the_end_of_standard_input_ends_the_loop(orders: Orders) -> None:
    orders.end()
    Loop().run(refuse)


@pytest.mark.usefixtures("orders")
def test_a_signal_s_handler_ends_the_loop(floods: list[Flood], log: list[str]) -> None:
    loop = Loop()
    loop.add_source(floods[0])
    floods[0].each = lambda: os.kill(os.getpid(), signal.SIGUSR1) if len(log) == BUDGET else None
    before = signal.signal(signal.SIGUSR1, lambda *_: loop.stop())
    try:
        loop.run(refuse)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(log) == BUDGET


@pytest.mark.usefixtures("orders")
def test_a_stop_while_the_loop_sleeps_ends_it_without_serving_anything_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    loop, part = Loop(), Due(MS)
    loop.add_timed(part)

    def sleep(*_: object) -> tuple[list[int], list[int], list[int]]:
        clock.now = 2 * MS
        loop.stop()
        return [], [], []

    monkeypatch.setattr(module, "clock", clock)
    monkeypatch.setattr(module, "select", SimpleNamespace(select=sleep))
    loop.run(refuse)
    assert part.served == []
