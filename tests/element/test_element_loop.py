"""When the element's loop wakes, on a clock and a ``select`` of the tests' own."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from minitopo_dc.element import loop as module
from minitopo_dc.element.loop import MOST_LEAD_NS, Loop

PERIOD_NS = 1_000_000
POLL_NS = 1_000


class Machine:
    """Ends every sleep late by the same time; a poll takes a microsecond."""

    def __init__(self, late_ns: int) -> None:
        self.now = 0
        self.polls = 0
        self._late_ns = late_ns

    def clock(self) -> int:
        return self.now

    def select(
        self, _read: Sequence[int], _write: object, _error: object, wait_s: float
    ) -> tuple[list[int], list[int], list[int]]:
        self.polls += not wait_s
        self.now += round(wait_s * 1e9) + self._late_ns if wait_s else POLL_NS
        return [], [], []


class Periodic:
    """Due every millisecond; ends the loop after some times."""

    def __init__(self, loop: Loop, times: int) -> None:
        self.lateness: list[int] = []
        self._loop, self._times, self._due = loop, times, PERIOD_NS

    def next_timeout(self) -> int:
        return self._due

    def handle(self, now: int) -> None:
        self.lateness.append(now - self._due)
        self._due += PERIOD_NS
        if len(self.lateness) == self._times:
            self._loop.stop()


def lateness(late_ns: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], Machine]:
    machine, loop = Machine(late_ns), Loop()
    monkeypatch.setattr(module, "clock", machine.clock)
    monkeypatch.setattr(module, "select", SimpleNamespace(select=machine.select))
    part = Periodic(loop, 200)
    loop.add_timed(part)
    loop.run(lambda _: None)
    return part.lateness, machine


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
    assert min(found[100:]) == 900_000 - MOST_LEAD_NS
    assert machine.polls == 0


def test_a_machine_that_wakes_on_time_costs_little_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    _, machine = lateness(0, monkeypatch)
    assert machine.polls <= 200 * module.LEAD_STEP_NS / POLL_NS
