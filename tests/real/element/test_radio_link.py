"""A radio link's process between interfaces that are none: what frames meet, orders and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element import loop as loop_module
from minitopo_dc.real.element import radio_link
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.real.element.radio_link import BUDGET, Cable, Tap, TapEnd, read_ends
from minitopo_dc.scenario import LegDirection
from tests.real.element.fakes import MS, Clock

HEADER = bytes(14)
ENDS = [("left", 1, ""), ("right", 2, "")]
RADIO: dict[str, Any] = {"rate_mbps": 8, "delay_ms": 10, "jitter_ms": 0}
"""1 byte a us."""
NET_DEV = """\
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
h1-eth0:1200000    1000    1    2    0     0          0         0  5000000    4000    0   42    0
h1-eth01:    1       1    1    1    0     0          0         0        1       1    0   43    0
"""


class FakeTap:
    """An interface: what its host sends, and what it receives."""

    def __init__(self, end: TapEnd) -> None:
        self.interface, *_ = end
        self.sent: deque[bytes] = deque()
        self.received: list[bytes] = []
        self.up, self.closed = True, False
        self._descriptor = os.eventfd(0)

    def fileno(self) -> int:
        return self._descriptor

    def receive(self) -> bytes | None:
        return self.sent.popleft() if self.sent else None

    def send(self, frame: bytes) -> bool:
        if self.up:
            self.received.append(frame)
        return self.up

    def dropped(self) -> int:
        return 3

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        self.closed = True


class Idle:
    """A cable that is not run, on a clock that tests set."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.left, self.right = taps = [FakeTap(end) for end in ENDS]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(radio_link, "Tap", dict(zip(ENDS, taps, strict=True)).__getitem__)
            self.cable = Cable(ENDS)

    def configure(self, interface: str = "left", **fields: Any) -> str:
        return self.cable.order(json.dumps(order(interface=interface, radio=RADIO | fields)))

    def send(self, *sizes: int, tap: FakeTap | None = None) -> None:
        """A host sends frames with so many bytes behind their header."""
        tap = tap or self.left
        tap.sent.extend(HEADER + bytes(size) for size in sizes)
        self.cable.directions[tap.interface].read()

    def arrived(self, now: int) -> list[int]:
        """Bytes behind the header of all that has arrived on the right by `now`."""
        self.clock.serve(self.cable.loop, now)
        return [len(frame) - len(HEADER) for frame in self.right.received]

    def statistics(self) -> dict[str, dict[str, int]]:
        counters: dict[str, dict[str, int]] = json.loads(self.cable.order("statistics"))
        return counters


@pytest.fixture
def idle(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Idle]:
    monkeypatch.setattr(radio_link, "clock", clock)
    made = Idle(clock)
    yield made
    for tap in (made.left, made.right):
        tap.close()


def order(**change: Any) -> dict[str, Any]:
    return {"interface": "left", "seed": "1", "radio": RADIO} | change


def written(path: Path, *rows: str) -> str:
    path.write_text("\n".join(["time_s,rate_mbps", *rows]))
    return str(path)


def test_a_frame_takes_the_time_of_its_ip_bytes_and_the_delay(idle: Idle) -> None:
    idle.configure()
    idle.send(1000)
    assert idle.arrived(11 * MS - 1) == []
    assert idle.arrived(11 * MS) == [1000]


def test_one_turn_takes_so_many_frames_and_leaves_the_rest(idle: Idle) -> None:
    idle.send(*[100] * (BUDGET + 5))
    assert len(idle.left.sent) == 5


def test_frames_go_both_ways_and_what_never_arrives_is_counted(idle: Idle) -> None:
    idle.configure(queue_packets=1)
    idle.send(0, 100, 200)
    idle.send(300, 300, tap=idle.right)
    idle.left.up = False
    assert idle.arrived(1000 * MS) == [100]
    left, right = idle.statistics().values()
    assert [left[name] for name in ("malformed", "dropped_queue", "kernel_drops")] == [1, 1, 3]
    assert [right["delivered_packets"], right["refused"]] == [2, 2]


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
    change: dict[str, Any], moments: list[int], idle: Idle
) -> None:
    idle.configure()
    idle.send(1000, 1000)
    idle.configure(**change)
    seen: list[int] = []
    for now in range(0, 40 * MS, MS // 2):
        seen += [now] * (len(idle.arrived(now)) - len(seen))
    assert seen == moments


@pytest.mark.parametrize(
    ("usual", "losing"),
    [
        ({}, {"loss_percent": 100}),
        ({}, {"burst_loss": {"p": 1, "r": 0, "h": 0, "k": 0}}),
        ({"rlc": {"mode": "um"}}, {"rlc": {"mode": "um", "block_error_percent": 100}}),
    ],
)
def test_a_loss_can_be_switched_on_and_off(
    usual: dict[str, Any], losing: dict[str, Any], idle: Idle
) -> None:
    for size, fields in ((100, usual), (200, losing), (300, usual)):
        assert idle.configure(**{"rlc": None} | usual | fields) == "ok"
        idle.send(size)
        idle.arrived(idle.clock.now + 500 * MS)
    assert idle.arrived(2000 * MS) == [100, 300]


FIXED = {"reorder": True, "queue_bytes": 5000}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (FIXED, "queue_bytes, queue_packets, reorder: cannot change while the link is there"),
        ({"rlc": {}}, "rlc: cannot change"),
        ({"rate_mbps": None, "trace": "/no/such"}, "trace /no/such: No such file"),
    ],
)
def test_a_refused_change_names_its_fields_and_leaves_the_link_as_it_was(
    change: dict[str, Any], words: str, idle: Idle
) -> None:
    idle.configure()
    assert words in idle.configure(**change)
    assert idle.configure(delay_ms=20) == "ok"
    idle.send(1000)
    assert idle.arrived(21 * MS) == [1000]


def test_an_order_lets_go_at_once_what_it_makes_due(clock: Clock, idle: Idle) -> None:
    idle.configure(delay_ms=900)
    idle.send(1000)
    clock.now = MS // 2
    idle.configure()
    assert idle.cable.loop.due == 11 * MS
    clock.now = 11 * MS
    idle.cable.order("start")
    assert len(idle.right.received) == 1


def test_the_order_to_start_is_time_zero_for_both_directions(
    clock: Clock, idle: Idle, tmp_path: Path
) -> None:
    trace = written(tmp_path / "trace.csv", "0,8", "1,0", "9,8", "10,8")
    for interface in ("left", "right"):
        idle.configure(interface, rate_mbps=None, trace=trace, delay_ms=0)
    clock.now = 2000 * MS
    for tap in (idle.left, idle.right):
        idle.send(1000, tap=tap)
    idle.cable.order("start")
    assert idle.arrived(2001 * MS) == [1000]
    assert len(idle.left.received) == 1


def session(orders: bytes) -> list[str]:
    """The answers of a cable to orders; its interfaces are gone then."""
    answers: list[str] = []
    taps = [FakeTap(end) for end in ENDS]
    reading, writing = os.pipe()
    os.write(writing, orders)
    os.close(writing)
    with pytest.MonkeyPatch.context() as patch:
        realtime = MagicMock()
        patch.setattr(radio_link, "Tap", dict(zip(ENDS, taps, strict=True)).__getitem__)
        patch.setattr(radio_link, "configure_realtime", realtime)
        patch.setattr(loop_module, "ORDERS", reading)
        Cable(ENDS).run(answers.append)
    os.close(reading)
    realtime.assert_called_once_with(realtime=True)
    assert all(tap.closed for tap in taps)
    return answers


def test_each_order_has_one_answer_and_the_end_of_orders_takes_the_interfaces_away() -> None:
    lines = ["start", json.dumps(order()), "statistics", json.dumps(order(interface="right"))]
    *answers, counters, last = session("".join(f"{line}\n" for line in lines).encode())
    assert [*answers, last] == ["ready", "ok", "ok", "ok"]
    assert list(json.loads(counters)) == ["left", "right"]


UNKNOWN = "must be start, statistics or a JSON object with interface, seed and radio"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("", f"unknown order '': {UNKNOWN}"),
        ('{"interface": "left"', UNKNOWN),
        ("[1]", UNKNOWN),
        ("[" * 50_000, UNKNOWN),
        ({}, "order: interface: missing; give it"),
        ({"interface": "left"}, "left: radio: missing; give it; left: seed: missing; give it"),
        (order(interface="middle"), "interface 'middle': must be one of left, right"),
        (order(interface=["left"]), "['left']: interface: ['left'] is no text"),
        (order(radio={"rate_mbps": -1}), "left: radio.rate_mbps: -1; allowed: 1e-06"),
        (
            order(radio={"rate_mbps": 5, "delay_curve": "power"}),
            "delay_curve: a link outside a scenario has none; allowed: delay_ms",
        ),
        (order(radio={"trace": "/"}), "/: is no regular file"),
        (order(radio={"\ud800": 1}), "radio: '\\ud800' has half a character"),
        (order(radio={"caf\u00e9": 1}), "left: radio.caf\\xe9: unknown field"),
    ],
)
def test_a_wrong_order_is_answered_with_one_line_and_the_link_goes_on(
    wrong: object, words: str, idle: Idle
) -> None:
    answer = idle.cable.order(wrong if isinstance(wrong, str) else json.dumps(wrong))
    assert words in answer
    assert "\n" not in answer
    assert idle.configure() == idle.cable.order("start") == "ok"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
orders = st.one_of(
    st.binary().map(lambda line: line.replace(b"\n", b"")),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(st.sampled_from(sorted(LegDirection.model_fields)), json_values).map(
        lambda change: json.dumps(order(radio=RADIO | change)).encode()
    ),
)


@given(st.lists(orders, max_size=5))
def test_whatever_is_ordered_each_line_has_one_answer_of_one_line(lines: list[bytes]) -> None:
    answers = session(b"".join(line + b"\n" for line in [*lines, b"start"]))
    assert len(answers) == len(lines) + 2
    assert all(answer.isascii() and len(answer.splitlines()) == 1 for answer in answers)
    assert answers[-1] == "ok"


@pytest.mark.parametrize(
    "arguments",
    [
        *(["a,1,"], ["a,1,", "b,2,", "c,3,"], ["a,1", "b,2,"], ["a,one,", "b,2,"]),
        *(["a,1,00:00", "b,2,"], ["sixteen-bytes-it,1,", "b,2,"], ["a,1,", "a,2,"]),
    ],
    ids=" ".join,
)
def test_an_end_is_a_name_a_process_and_an_address_and_others_are_refused(
    arguments: list[str],
) -> None:
    ends = [("h1-eth0", 17, "00:00:00:00:00:0a"), ("h2-eth0", 18, "")]
    assert read_ends(["h1-eth0,17,00:00:00:00:00:0a", "h2-eth0,18,"]) == ends
    with pytest.raises(ElementError, match="must be NAME,PID,MAC NAME,PID,MAC"):
        read_ends(arguments)


def test_a_process_with_wrong_arguments_says_so_in_one_line_and_fails() -> None:
    command = [sys.executable, "-m", "minitopo_dc.real.element.radio_link", "left,1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("left,1: must be NAME,PID,MAC")
    assert [done.returncode, done.stdout.count("\n"), done.stderr] == [1, 1, ""]


def test_a_process_that_is_gone_is_one_error() -> None:
    with pytest.raises(ElementError, match="interface h1-eth0: No such file or directory"):
        Tap(("h1-eth0", 2**22 + 1, ""))


def test_drops_are_those_of_the_interface_s_own_row_and_of_what_it_transmits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dev").write_text(NET_DEV)
    monkeypatch.setattr(radio_link, "Path", lambda _: tmp_path / "dev")
    tap: Any = SimpleNamespace(interface="h1-eth0", _pid=7)
    assert Tap.dropped(tap) == 42


def test_an_interface_that_is_down_takes_no_frame() -> None:
    tap: Any = SimpleNamespace(_descriptor=os.open(os.devnull, os.O_RDONLY))
    assert not Tap.send(tap, b"a frame")
    os.close(tap._descriptor)
