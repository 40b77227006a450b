"""One direction of a radio link between two interfaces that are none: what frames meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.real.element import radio_link
from minitopo_dc.real.element.kernel import loop as loop_module
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.radio_link import BUDGET, OneWay
from minitopo_dc.scenario import LegSettings
from tests.real.element.fake_tap import ENDS, HEADER, RADIO, FakeTap
from tests.real.element.fakes import MS, Clock


class Direction:
    """What `left` sends on its way to `right`, on a clock that tests set."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.loop = Loop()
        self.left, self.right = FakeTap(ENDS[0]), FakeTap(ENDS[1])
        self.way = OneWay(self.left, self.right, self.loop)  # type: ignore[arg-type]

    def configure(self, **fields: Any) -> None:
        self.way.configure(leg(**fields), "seed", self.clock.now)

    def send(self, *sizes: int) -> None:
        """The host sends frames with so many bytes behind their header."""
        self.left.sent.extend(HEADER + bytes(size) for size in sizes)
        self.way.read()

    def arrived(self, now: int) -> list[int]:
        """Bytes behind the header of all that has arrived by `now`."""
        self.clock.serve(self.loop, now)
        return [len(frame) - len(HEADER) for frame in self.right.received]


def leg(**fields: Any) -> LegSettings:
    return LegSettings.check(RADIO | fields, "test")


@pytest.fixture
def direction(monkeypatch: pytest.MonkeyPatch) -> Iterator[Direction]:
    clock = Clock()
    for module in (radio_link, loop_module):
        monkeypatch.setattr(module, "clock", clock)
    made = Direction(clock)
    yield made
    made.left.close()
    made.right.close()


def test_a_frame_takes_the_time_of_its_ip_bytes_and_the_delay(direction: Direction) -> None:
    direction.configure()
    direction.send(1000)
    assert direction.arrived(11 * MS - 1) == []
    assert direction.arrived(11 * MS) == [1000]


def test_one_turn_takes_so_many_frames_and_leaves_the_rest(direction: Direction) -> None:
    direction.send(*[100] * (BUDGET + 5))
    assert len(direction.left.sent) == 5
    direction.way.read()
    assert not direction.left.sent


def test_a_frame_for_an_interface_that_is_down_is_counted(direction: Direction) -> None:
    direction.right.up = False
    direction.send(100, 100)
    direction.arrived(MS)
    assert direction.way.statistics()["refused"] == 2


def test_a_frame_that_finds_the_queue_full_never_arrives(direction: Direction) -> None:
    direction.configure(queue_packets=1)
    direction.send(100, 200)
    assert direction.arrived(1000 * MS) == [100]
    assert direction.way.statistics()["dropped_queue"] == 1


def test_a_frame_without_contents_is_dropped_and_counted_also_while_nothing_passes(
    direction: Direction, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,0\n1,8\n2,8\n")
    direction.configure(rate_mbps=None, trace=str(trace))
    direction.send(0, 1)
    assert direction.arrived(2000 * MS) == [1]
    assert direction.way.statistics()["malformed"] == 1


@pytest.mark.parametrize(
    ("change", "moments"),
    [
        ({"rate_mbps": 4}, [12 * MS, 14 * MS]),
        ({"delay_ms": 30}, [31 * MS, 32 * MS]),
        ({"rate_mbps": 4, "delay_ms": 30}, [32 * MS, 34 * MS]),
        ({}, [11 * MS, 12 * MS]),
    ],
)
def test_a_change_is_for_what_waits_in_the_queue(
    change: dict[str, Any], moments: list[int], direction: Direction
) -> None:
    direction.configure()
    direction.send(1000, 1000)
    direction.configure(**change)
    found: list[int] = []
    for now in range(0, 40 * MS, MS // 2):
        found += [now] * (len(direction.arrived(now)) - len(found))
    assert found == moments


@pytest.mark.parametrize(
    "losing", [{"loss_percent": 100}, {"burst_loss": {"p": 1, "r": 0, "h": 0, "k": 0}}]
)
def test_a_loss_can_be_switched_on_and_off(losing: dict[str, Any], direction: Direction) -> None:
    direction.configure()
    direction.send(100)
    direction.configure(**losing)
    direction.send(200)
    direction.configure()
    direction.send(300)
    assert direction.arrived(1000 * MS) == [100, 300]


def test_rlc_s_block_errors_can_be_changed(direction: Direction) -> None:
    for size, percent in ((100, 0), (200, 100), (300, 0)):
        direction.configure(rlc={"mode": "um", "block_error_percent": percent})
        direction.send(size)
        direction.arrived(direction.clock.now + 500 * MS)
    assert direction.arrived(2000 * MS) == [100, 300]
    assert direction.way.statistics()["dropped_radio"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"queue_packets": 7}, "queue_packets: cannot change while the link is there"),
        (
            {"reorder": True, "queue_bytes": 5000, "delay_ms": 1},
            "queue_bytes, reorder: cannot change",
        ),
        ({"outages": [[1, 2]]}, "outages: cannot change"),
        ({"rate_mbps": None, "trace": "/no/such"}, "trace /no/such: No such file"),
    ],
)
def test_a_refused_change_names_its_fields_and_leaves_the_link_as_it_was(
    change: dict[str, Any], words: str, direction: Direction
) -> None:
    direction.configure()
    with pytest.raises(SettingsError, match=words):
        direction.configure(**change)
    direction.configure(delay_ms=20)
    direction.send(1000)
    assert direction.arrived(21 * MS) == [1000]
