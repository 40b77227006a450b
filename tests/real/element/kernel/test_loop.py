"""When the element's loop wakes, on a clock and a `select` of the tests' own."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from minitopo_dc.real.element.kernel import loop as module
from minitopo_dc.real.element.kernel.loop import MAX_LEAD_NS, Loop

PERIOD_NS = 1_000_000
POLL_NS = 1_000


class Machine:
    """Ends every sleep late by the same time; a poll takes a microsecond."""

    def __init__(self, late_ns: int) -> None:
        self.now = 0
        self.polls = 0
        self.late_ns = late_ns

    def clock(self) -> int:
        return self.now

    def select(
        self, _read: Sequence[int], _write: object, _error: object, wait_s: float
    ) -> tuple[list[int], list[int], list[int]]:
        self.polls += not wait_s
        self.now += round(wait_s * 1e9) + self.late_ns if wait_s else POLL_NS
        return [], [], []


class Periodic:
    """Due every millisecond or other `period`; ends the loop after some times."""

    def __init__(self, loop: Loop, times: int) -> None:
        self.lateness: list[int] = []
        self.period = PERIOD_NS
        self._loop, self._times, self._due = loop, times, PERIOD_NS

    def next_timeout(self) -> int:
        return self._due

    def handle(self, now: int) -> None:
        self.lateness.append(now - self._due)
        self._due += self.period
        if len(self.lateness) == self._times:
            self._loop.stop()


def looping(machine: Machine, times: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Loop, Periodic]:
    loop = Loop()
    monkeypatch.setattr(module, "clock", machine.clock)
    monkeypatch.setattr(module, "select", SimpleNamespace(select=machine.select))
    part = Periodic(loop, times)
    loop.add_timed(part)
    return loop, part


def lateness(late_ns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], Machine]:
    machine = Machine(late_ns)
    loop, part = looping(machine, 200, monkeypatch)
    loop.run(lambda _: None)
    return part.lateness, machine


class Changing:
    """Due once: then the machine wakes with another delay and the other part has another period."""

    def __init__(self, machine: Machine, part: Periodic, late_ns: int, period_ns: int) -> None:
        self.changed_at: int | None = None
        self.polls_before = 0
        self._machine, self._part = machine, part
        self._late_ns, self._period_ns = late_ns, period_ns

    def next_timeout(self) -> int | None:
        return 100 * PERIOD_NS if self.changed_at is None else None

    def handle(self, now: int) -> None:
        self.changed_at, self.polls_before = now, self._machine.polls
        self._machine.late_ns, self._part.period = self._late_ns, self._period_ns


def test_a_part_is_served_on_time_although_sleeps_end_late(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = lateness(80_000, monkeypatch)
    assert found[0] == 80_000
    assert max(found[100:]) <= 10_000


@pytest.mark.parametrize("late_ns", [0, 80_000, 10_000_000])
def test_no_part_is_served_before_its_time(late_ns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = lateness(late_ns, monkeypatch)
    assert len(found) == 200
    assert min(found) >= 0


def test_a_very_late_machine_does_not_make_the_loop_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    found, machine = lateness(900_000, monkeypatch)
    assert 900_000 - MAX_LEAD_NS <= min(found[100:]) < 900_000
    assert machine.polls == 0


def test_a_machine_that_wakes_on_time_costs_little_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    _, machine = lateness(0, monkeypatch)
    assert machine.polls <= 200 * module.LEAD_STEP_NS / POLL_NS


def test_a_late_phase_is_forgotten_also_with_moments_close_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(120_000)
    loop, part = looping(machine, 2_000, monkeypatch)
    change = Changing(machine, part, late_ns=20_000, period_ns=100_000)
    loop.add_timed(change)
    loop.run(lambda _: None)
    assert machine.polls - change.polls_before <= 2_000 * module.LEAD_STEP_NS / POLL_NS
