"""The element's loop: when it wakes, what it reads, which orders it gives on, and when it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element import loop as module
from minitopo_dc.real.element.loop import IDLE_NS, MAX_LEAD_NS, RealLoop
from tests.real.element.fakes import MS

BUDGET = 4
POLL_NS = 1_000


class Machine:
    """Ends every sleep late by the same time; a poll takes a microsecond."""

    def __init__(self, late_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.polls = 0
        self.late_ns = late_ns
        monkeypatch.setattr(module, "clock", lambda: self.now)
        monkeypatch.setattr(module, "select", SimpleNamespace(select=self.select))

    def select(
        self, _read: Sequence[int], _write: object, _error: object, wait_s: float
    ) -> tuple[list[int], list[int], list[int]]:
        self.polls += not wait_s
        self.now += round(wait_s * 1e9) + self.late_ns if wait_s else POLL_NS
        return [], [], []


class Due:
    """A timed part that is due at these moments, and says when it was served."""

    def __init__(self, *moments: int, then: Callable[[], None] = lambda: None) -> None:
        self._moments = list(moments)
        self._then = then
        self.served: list[int] = []
        self.lateness: list[int] = []

    def next_timeout(self) -> int | None:
        return self._moments[0] if self._moments else None

    def handle(self, now: int) -> None:
        self.served.append(now)
        self.lateness.append(now - self._moments.pop(0))
        if not self._moments:
            self._then()


def lateness(late_ns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], Machine]:
    """How late a part is that is due each millisecond."""
    machine, loop = Machine(late_ns, monkeypatch), RealLoop()
    part = Due(*range(MS, 201 * MS, MS), then=loop.stop)
    loop.add_timed(part)
    loop.run(refuse)
    assert len(part.lateness) == 200
    assert min(part.lateness) >= 0
    return part.lateness, machine


def refuse(line: str) -> None:
    raise AssertionError(f"no order expected: {line!r}")


def test_a_part_is_served_on_time_although_sleeps_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    late, _ = lateness(80_000, monkeypatch)
    assert late[0] == 80_000
    assert max(late[100:]) <= 10_000


def test_a_very_late_machine_does_not_make_the_loop_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    late, machine = lateness(900_000, monkeypatch)
    assert 900_000 - MAX_LEAD_NS <= min(late[100:]) < 900_000
    assert machine.polls == 0


def test_a_machine_that_wakes_on_time_costs_little_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    _, machine = lateness(0, monkeypatch)
    assert machine.polls <= 200 * module.LEAD_STEP_NS / POLL_NS


def test_a_late_phase_is_forgotten_also_with_moments_close_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, loop, before = Machine(120_000, monkeypatch), RealLoop(), []
    close = range(101 * MS, 101 * MS + 1_900 * MS // 10, MS // 10)

    def wake_sooner() -> None:
        machine.late_ns = 20_000
        before.append(machine.polls)

    loop.add_timed(Due(*range(MS, 101 * MS, MS), *close, then=loop.stop))
    loop.add_timed(Due(100 * MS, then=wake_sooner))
    loop.run(refuse)
    assert machine.polls - before[0] <= 2_000 * module.LEAD_STEP_NS / POLL_NS


def test_a_part_that_changes_others_is_served_before_them() -> None:
    loop, served = RealLoop(), list[str]()
    for name in ("one", "two", "schedule"):
        part = Due(MS, then=partial(served.append, name))
        loop.add_timed(part, first=name == "schedule")
    loop.serve(MS)
    assert served == ["schedule", "one", "two"]


@pytest.mark.parametrize(("moment", "due"), [(None, 10), (10, 10), (11, 10), (9, 9)])
def test_a_part_can_only_make_the_loop_wake_sooner(moment: int | None, due: int) -> None:
    loop = RealLoop()
    loop.serve(10 - IDLE_NS)
    assert loop.due == 10
    loop.wake_at(moment)
    assert loop.due == due


class Orders:
    """Standard input of a loop: a pipe that tests write to."""

    def __init__(self) -> None:
        self.descriptor, self._writing = os.pipe()

    def write(self, text: bytes) -> None:
        os.write(self._writing, text)

    def end(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
        self._writing = -1

    def close(self) -> None:
        os.close(self.descriptor)
        self.end()


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
        self.then: Callable[[], None] = lambda: None
        self.when = -1
        """How many packets were read when `then` is called."""

    def fileno(self) -> int:
        return self._descriptor

    def read(self) -> None:
        for _ in range(BUDGET):
            self._log.append(self._name)
            if len(self._log) == self.when:
                self.then()


@pytest.fixture
def log() -> list[str]:
    """Whose packets were read, one after the other."""
    return []


@pytest.fixture
def floods(log: list[str]) -> Iterator[list[Flood]]:
    made = [Flood(name, log) for name in "ab"]
    yield made
    for flood in made:
        os.close(flood.fileno())


@pytest.mark.usefixtures("orders")
def test_sources_that_always_have_packets_take_turns(floods: list[Flood], log: list[str]) -> None:
    loop = RealLoop()
    for source in floods:
        loop.add_source(source)
        source.when, source.then = 5 * 2 * BUDGET, loop.stop
    loop.run(refuse)
    rounds = [log[at : at + 2 * BUDGET] for at in range(0, 5 * 2 * BUDGET, 2 * BUDGET)]
    assert all(sorted(names) == ["a"] * BUDGET + ["b"] * BUDGET for names in rounds)


def test_an_order_is_read_although_packets_never_end(orders: Orders, floods: list[Flood]) -> None:
    loop, lines = RealLoop(), list[str]()
    loop.add_source(floods[0])
    orders.write(b"start\n")
    floods[0].when, floods[0].then = BUDGET, loop.stop
    loop.run(lines.append)
    assert lines == ["start"]


@pytest.mark.usefixtures("orders")
def test_what_becomes_due_is_served_between_two_turns(
    floods: list[Flood], log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "clock", lambda: len(log) * MS // BUDGET)
    loop, part = RealLoop(), Due(MS)
    loop.add_timed(part)
    loop.add_source(floods[0])
    floods[0].when, floods[0].then = 3 * BUDGET, loop.stop
    loop.run(refuse)
    assert part.served == [MS]


def carried_out(pieces: list[bytes]) -> list[str]:
    """The orders that are carried out when these pieces are read one after the other."""
    lines: list[str] = []
    orders, waiting = Orders(), iter(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ORDERS", orders.descriptor)
        patch.setattr(module, "os", SimpleNamespace(read=lambda *_: next(waiting, b"")))
        orders.write(b"there is always something to read")
        RealLoop().run(lines.append)
    orders.close()
    return lines


@given(st.data())
def test_an_order_is_carried_out_once_however_it_is_cut(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.from_regex(r"[a-z]{1,5}( [0-9])?", fullmatch=True), max_size=5))
    text = "".join(line + "\n" for line in lines).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)))))
    ends = zip([0, *cuts], [*cuts, len(text)], strict=True)
    assert carried_out([text[begin:end] for begin, end in ends if text[begin:end]]) == lines


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"start\r\n"], ["start"]),
        ([b"start\ndown", b""], ["start"]),
        ([b"\xff\xfe\n"], ["\ufffd\ufffd"]),
    ],
)
def test_what_is_no_whole_line_of_text(pieces: list[bytes], lines: list[str]) -> None:
    assert carried_out(pieces) == lines


def test_the_end_of_standard_input_ends_the_loop(orders: Orders) -> None:
    orders.end()
    RealLoop().run(refuse)


@pytest.mark.usefixtures("orders")
def test_a_signal_s_handler_ends_the_loop(floods: list[Flood], log: list[str]) -> None:
    loop = RealLoop()
    loop.add_source(floods[0])
    floods[0].when, floods[0].then = BUDGET, lambda: os.kill(os.getpid(), signal.SIGUSR1)
    before = signal.signal(signal.SIGUSR1, lambda *_: loop.stop())
    try:
        loop.run(refuse)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(log) == BUDGET
