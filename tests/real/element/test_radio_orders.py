"""A radio link's process: its orders and its answers, a line each; its arguments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.real.element import radio_link
from minitopo_dc.real.element.kernel import loop as loop_module
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.radio_link import Cable, End
from minitopo_dc.scenario import LegSettings
from tests.real.element.fake_tap import ENDS, HEADER, RADIO, FakeTap
from tests.real.element.fakes import MS, Clock


class Session:
    """A cable that is given orders, and its answers."""

    def __init__(self, orders: bytes) -> None:
        self.realtime: list[bool] = []
        reading, writing = os.pipe()
        os.write(writing, orders)
        os.close(writing)
        self.answers: list[str] = []
        self.taps: list[FakeTap] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(radio_link, "Tap", self._tap)
            patch.setattr(radio_link, "configure_realtime", self._exact)
            patch.setattr(loop_module, "ORDERS", reading)
            Cable(ENDS).run(self.answers.append)
        os.close(reading)

    def _exact(self, *, realtime: bool) -> list[str]:
        self.realtime.append(realtime)
        return ["memory locking: Operation not permitted"]

    def _tap(self, end: End) -> FakeTap:
        self.taps.append(FakeTap(end))
        return self.taps[-1]


def answers(*orders: object) -> list[str]:
    """What a cable answers to these orders; what is no text is JSON."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in orders]
    ready, *found = Session("".join(line + "\n" for line in lines).encode()).answers
    assert ready == "ready"
    return found


def order(**change: Any) -> dict[str, Any]:
    return {"interface": "left", "seed": "1", "radio": RADIO} | change


def test_each_order_has_one_answer_in_order() -> None:
    found = answers("start", order(), "statistics", order(interface="right"))
    assert found[:2] + found[3:] == ["ok", "ok", "ok"]
    assert list(json.loads(found[2])) == ["left", "right"]


def test_the_end_of_the_orders_takes_the_interfaces_away() -> None:
    assert [tap.closed for tap in Session(b"start\n").taps] == [True, True]


@pytest.fixture
def idle(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Cable, list[FakeTap]]]:
    """A cable that is not run, on a clock that tests set, and its interfaces."""
    taps = [FakeTap(end) for end in ENDS]
    monkeypatch.setattr(radio_link, "Tap", dict(zip(ENDS, taps, strict=True)).__getitem__)
    monkeypatch.setattr(radio_link, "clock", clock)
    yield Cable(ENDS), taps
    for tap in taps:
        tap.close()


def test_a_cable_works_in_real_time_as_far_as_the_kernel_lets_it() -> None:
    session = Session(b"")
    assert [session.realtime, session.answers] == [[True], ["ready"]]


def test_frames_go_both_ways_and_each_way_counts_its_own(
    clock: Clock, idle: tuple[Cable, list[FakeTap]]
) -> None:
    cable, (left, right) = idle
    for tap, frames in ((left, 1), (right, 2)):
        tap.sent.extend([HEADER + b"frame"] * frames)
        cable._directions[tap.interface].read()
    clock.serve(cable._loop, MS)
    assert [len(left.received), len(right.received)] == [2, 1]
    found = json.loads(cable._order("statistics"))
    assert [found[name]["delivered_packets"] for name in ("left", "right")] == [1, 2]


def test_an_order_lets_go_at_once_what_it_makes_due(
    clock: Clock, idle: tuple[Cable, list[FakeTap]]
) -> None:
    cable, (left, right) = idle
    assert cable._order(json.dumps(order(radio=RADIO | {"delay_ms": 900}))) == "ok"
    left.sent.append(HEADER + bytes(1000))
    cable._directions["left"].read()
    clock.now = MS // 2
    assert cable._order(json.dumps(order())) == "ok"
    assert cable._loop.due == 11 * MS
    clock.now = 11 * MS
    cable._order("start")
    assert len(right.received) == 1


UNKNOWN = "must be start, statistics or a JSON object with interface, seed and radio"


def test_the_order_to_start_is_time_zero_for_both_directions(
    clock: Clock, idle: tuple[Cable, list[FakeTap]], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,8\n1,0\n9,8\n10,8\n")
    cable, taps = idle
    for tap in taps:
        radio = {"trace": str(trace), "delay_ms": 0, "jitter_ms": 0}
        assert cable._order(json.dumps(order(interface=tap.interface, radio=radio))) == "ok"
    clock.now = 2000 * MS
    for tap in taps:
        tap.sent.append(HEADER + bytes(1000))
        cable._directions[tap.interface].read()
    cable._order("start")
    clock.serve(cable._loop, 2001 * MS)
    assert [len(tap.received) for tap in taps] == [1, 1]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("", f"unknown order '': {UNKNOWN}"),
        ("stop", f"unknown order 'stop': {UNKNOWN}"),
        ('{"interface": "left"', UNKNOWN),
        ('"left"', UNKNOWN),
        ("[1]", UNKNOWN),
        ("null", UNKNOWN),
        ("[" * 50_000, UNKNOWN),
        ({}, "order: interface: missing; give it"),
        ({"interface": "left"}, "left: radio: missing; give it; left: seed: missing; give it"),
        (order(interface="middle"), "interface 'middle': must be one of left, right"),
        (order(interface=7), "7: interface: 7 is no text"),
        (order(interface=["left"]), "['left']: interface: ['left'] is no text"),
        (order(radio=5), "left: radio: "),
        (
            order(speed=5),
            "left: speed: unknown field; did you mean seed?; known: interface",
        ),
        (order(radio={}), "left: radio: give exactly one of rate_mbps and trace"),
        (
            order(radio={"rate_mbps": -1}),
            "left: radio.rate_mbps: -1; allowed: 1e-06",
        ),
        (order(radio={"rate_mbps": float("nan")}), "left: radio.rate_mbps: "),
        (order(radio={"rate_mbps": 1e-9}), "allowed: 1e-06 to 1,000,000 Mbit/s"),
        (
            order(radio={"rate_mbps": 5, "delay_curve": "power"}),
            "delay_curve: a link outside a scenario has none; allowed: delay_ms",
        ),
        (order(radio={"rate_mbps": 1e308}), "is it in bit/s?"),
        (order(radio={"trace": "/no/such"}), "trace /no/such: No such file"),
        (order(radio={"trace": "/"}), "/: is no regular file"),
        (order(radio={"trace": "\0"}), "none of them 0"),
        (order(radio={"\ud800": 1}), "radio: '\\ud800' has half a character"),
        (order(radio={"caf\u00e9": 1}), "left: radio.caf\\xe9: unknown field"),
    ],
)
def test_a_wrong_order_is_answered_with_one_line_and_the_link_goes_on(
    wrong: object, words: str
) -> None:
    answer, *others = answers(wrong, order(), "start")
    assert words in answer
    assert others == ["ok", "ok"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("0\n1\n", ", or opportunities cannot 'hold'"),
        ("time_s,rate_mbps\n0,fast\n", "'fast' is not a number"),
    ],
    ids=["opportunities", "no trace"],
)
def test_a_wrong_trace_is_answered_with_one_line(lines: str, words: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text(lines)
    found = answers(order(radio={"trace": str(trace), "end": "hold"}), "start")
    assert words.removeprefix(", or ") in found[0]
    assert found[1:] == ["ok"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
fields = st.sampled_from(sorted(LegSettings.model_fields))
orders = st.one_of(
    st.text(st.characters(exclude_characters="\n")).map(lambda text: text.encode(errors="replace")),
    st.binary().map(lambda line: line.replace(b"\n", b"")),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(fields, json_values).map(
        lambda change: json.dumps(order(radio=RADIO | change)).encode()
    ),
)


@given(st.lists(orders, max_size=5))
def test_whatever_is_ordered_each_line_has_one_answer_of_one_line(
    lines: list[bytes],
) -> None:
    found = Session(b"".join(line + b"\n" for line in [*lines, b"start"])).answers
    assert len(found) == len(lines) + 2
    assert all(answer.isascii() and len(answer.splitlines()) == 1 for answer in found)
    assert found[-1] == "ok"


@pytest.mark.parametrize(
    ("arguments", "ends"),
    [
        (
            ["h1-eth0,17,00:00:00:00:00:0a", "h2-eth0,18,"],
            [End("h1-eth0", 17, "00:00:00:00:00:0a"), End("h2-eth0", 18, "")],
        ),
        (["a,1,0000000000FF", "b,1,"], [End("a", 1, "0000000000FF"), End("b", 1, "")]),
    ],
)
def test_an_end_is_a_name_a_process_and_an_address(arguments: list[str], ends: list[End]) -> None:
    assert radio_link._ends(arguments) == ends


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a,1,"],
        ["a,1,", "b,2,", "c,3,"],
        ["a,1", "b,2,"],
        ["a,one,", "b,2,"],
        ["a,1,00:00", "b,2,"],
        ["a,1,00:00:00:00:00:0g", "b,2,"],
        ["sixteen-bytes-it,1,", "b,2,"],
        ["a,1,", "a,2,"],
        ["a b,1,", "b,2,"],
    ],
    ids=" ".join,
)
def test_ends_that_are_none_are_refused(arguments: list[str]) -> None:
    with pytest.raises(ElementError, match="must be NAME,PID,MAC NAME,PID,MAC"):
        radio_link._ends(arguments)


def test_a_process_with_wrong_arguments_says_so_in_one_line_and_fails() -> None:
    command = [sys.executable, "-m", "minitopo_dc.real.element.radio_link", "left,1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("left,1: must be NAME,PID,MAC")
    assert [done.returncode, done.stdout.count("\n"), done.stderr] == [1, 1, ""]
