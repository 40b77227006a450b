"""Delays over time from files, and legs and options that have them."""

from __future__ import annotations

import argparse
import re
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Leg, Scenario
from minitopo_dc.cli.commands import legs
from minitopo_dc.cli.options import add_options
from minitopo_dc.cli.options.scenario import leg_settings
from minitopo_dc.results.kept_scenario import run_id, trace_paths
from minitopo_dc.trace import TraceError, doubts
from minitopo_dc.trace.delays import DelayIs, read_delays
from minitopo_dc.trace.model import DelayBetween, DelayTrace
from minitopo_dc.units import NS_PER_MS, NS_PER_S

MS, S = NS_PER_MS, NS_PER_S
TRACE = DelayTrace("t", (0, 20 * MS, 50 * MS), (10 * MS, 30 * MS, 0), 80 * MS)
PING = """PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.5 ms
64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=80 ms

--- 10.0.0.2 ping statistics ---
"""


def file(directory: Path, text: str) -> Path:
    path = directory / "delay.txt"
    path.write_text(text, encoding="utf-8")
    return path


Points = list[tuple[float, float]]
STEP: Points = [(0, 10), (10_000, 40)]
"""A step of the one-way delay from 10 to 40 ms after 10 s."""


def read(path: Path, **options: Any) -> tuple[Points, float]:
    """Times and delays (ms), and the length (s)."""
    trace = read_delays(path, **options)
    points = zip(trace.times_ns, trace.delays_ns, strict=True)
    return [(time / MS, delay / MS) for time, delay in points], trace.duration_ns / S


@pytest.mark.parametrize(
    "lines",
    [
        "0,10\n10,40",
        "time_s,delay_ms\n0,10\n10,40",
        "time_s delay_ms\n3 10\n13 40",
        "time_ms,rtt_ms\n0,20\n10000,80",
        "time_s,delay_s\n0,0.01\n10,0.04",
        "time_s,owd_us\n0,10000\n10,40000",
        "seconds;latency (ms)\n0;10,0\n10;40,0",
        "timestamp,delay_ms\n1700000000,10\n1700000010,40",
        "timestamp,delay_ms\n1700000000000,10\n1700000010000,40",
        "1700000000000000,10\n1700000010000000,40",
        "when,RTT (ms)\n2026-01-31T12:00:00Z,20\n2026-01-31T12:00:10Z,80",
        "2026-01-31T12:00:00,10\n2026-01-31T12:00:10,40",
        "time_s,rtt_ms,operator\n0,20,A\n10,80,B",
        "time_s,rtt,jitter_ms,lost\n0,20,1,0\n10,80,2,1",
        "probe_s,rtt_ms,ttl,host,size,flags\n0,20,64,a,64,0\n10,80,64,a,64,0",
        "time_s,mbps,delay_ms\n0,5,10\n10,5,40",
        "time_s,delay_ms\n0,10\n10,30\n10,50",
    ],
)
def test_a_step_of_the_delay_is_read_from_columns_in_any_unit(lines: str, tmp_path: Path) -> None:
    options = {"column": "rtt:ms"} if "rtt," in lines else {}
    assert read(file(tmp_path, lines), **options) == (STEP, 20)


def test_columns_of_a_file_without_a_header_are_called_by_number(tmp_path: Path) -> None:
    path = file(tmp_path, "A,0,7,20\nA,10000,7,80\n".replace("A,", ""))
    options = {"column": "column 3:ms", "time_column": "column 1:ms", "kind": "round-trip"}
    assert read(path, **options)[0] == STEP


@pytest.mark.parametrize(
    ("header", "kind", "factor", "note"),
    [
        ("time_s,rtt_ms", None, 1, True),
        ("time_s,rtt_ms", "one-way", 2, False),
        ("time_s,delay_ms", None, 2, False),
        ("time_s,delay_ms", "round-trip", 1, False),
    ],
)
def test_round_trips_are_halved_by_the_name_or_by_what_is_said(
    header: str, kind: DelayIs | None, factor: int, note: bool, tmp_path: Path
) -> None:
    path = file(tmp_path, f"{header}\n0,20\n10,80\n")
    assert read(path, kind=kind)[0] == [(time, delay * factor) for time, delay in STEP]
    words = "'rtt_ms' has round trips, of which a half is taken"
    assert (words in str(doubts(read_delays(path, kind=kind)))) == note


def ping(*echoes: str) -> str:
    """Ping's output of echoes "number, round trip (ms)" or "clock, number, round trip"."""
    lines = ["PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data."]
    for echo in echoes:
        *clock, number, ms = echo.split()
        stamp = f"[{clock[0]}] " if clock else ""
        lines.append(f"{stamp}64 bytes from 10.0.0.2: icmp_seq={number} ttl=64 time={ms} ms")
    return "\n".join([*lines, "", "--- 10.0.0.2 ping statistics ---", ""])


@pytest.mark.parametrize(
    ("text", "points", "seconds"),
    [
        (ping("1 20", "2 80"), [(0, 10), (1000, 40)], 2),
        (PING, [(0, 10.25), (2000, 40)], 3),  # the second one is lost
        (ping("1 20", "2 80", "2 90 ms (DUP!)", "3 20"), [(0, 10), (1000, 40), (2000, 10)], 3),
        (ping("1 20", "3 20", "2 80"), [(0, 10), (1000, 40), (2000, 10)], 3),  # out of order
        (ping("65535 20", "0 80", "1 20"), [(0, 10), (1000, 40), (2000, 10)], 3),
        (ping("1 20").replace("icmp_seq", "seq"), [(0, 10)], 1),  # BusyBox
        # Sent at 0, 0.5 and 1 s; the clock is that of the answers.
        (ping("9.02 1 20", "10.08 3 80", "10.5 2 1000"), [(0, 10), (500, 500), (1000, 40)], 1.5),
    ],
)
def test_echoes_of_ping_are_halves_of_round_trips_in_the_order_of_sending(
    text: str, points: Points, seconds: float, tmp_path: Path
) -> None:
    assert read(file(tmp_path, text)) == (points, seconds)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PING, r"1 of 3 values .* no outage is \(outages: \[\[1, 2\]\]"),
        ("0,10\n1,-1\n2,lost\n3,-1\n4,20\n5,\n6,20", r"4 of 7 values .* \[\[1, 4\]\]"),
        (ping("1 20", "2 20"), "taken for 1 s apart"),
        ("time_s,delay_s\n0,30\n1,30", r"a delay of 30\.0 s; .*'delay_s' in s: mean 30000 ms"),
        ("0,10\n0.1,10", "as short as 200 ms; read as times of 'column 1' in s"),
        ("\n".join(f"{time},10" for time in [0, 1, 2, 3, 4, 90, 91]), "a gap of 86.0 s"),
    ],
)
def test_what_is_doubtful_of_a_delay_is_said(text: str, words: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    assert re.search(words, str(doubts(read_delays(path))))
    leg = Leg(rate_mbps=20, delay_trace=path)
    assert [re.search(words, told) is not None for told in leg.downlink.trace_doubts()] == [True]


def test_of_two_plain_columns_nothing_is_doubtful(tmp_path: Path) -> None:
    assert doubts(read_delays(file(tmp_path, "time_s,delay_ms\n0,10\n10,40\n"))) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,10,3\n", r":1: no column of 3 .*'legs\..\.downlink.delay_column=column 2:ms'"),
        ("t,delay_ms\n0,10\n", r":1: .*'t' names no unit .*delay_time_column=t:s';"),
        ("time_s,rtt\n0,10\n", r":1: .*'rtt' names no unit .*delay_column=rtt:ms';"),
        ("time_s,up_ms,down_ms\n0,10,5\n", ":1: 2 columns may be the delay .*up_ms, down_ms"),
        ("0,10\n1,x\n", ":2: 'x' is not a number"),
        ("5,10\n1,20\n", ":2: time goes backwards"),
        ("0,3600001\n", ":1: 3600001 ms .*0 to 3,600,000 ms"),
        ("0,-3\n", ":1: '-3' is out of range"),
        ("0,-1\n", "no value"),
        (ping("5.5 1 20", "2 20"), ":3: an echo without a time .*ping -D"),
        (ping("1 20", "2 3600001"), ":3: 3600001 ms"),
    ],
)
def test_a_file_without_delays_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=words):
        read_delays(file(tmp_path, text))


@pytest.mark.parametrize(
    ("between", "end", "offset_ms", "expected"),
    [
        ("hold", "hold", 0, [(0, 10), (20, 30), (50, 0)]),
        ("hold", "loop", 0, [(0, 10), (20, 30), (50, 0), (80, 10), (100, 30)]),
        ("hold", "loop", 60, [(0, 0), (20, 10), (40, 30), (70, 0), (100, 10)]),
        ("hold", "stop", 90, [(0, 0)]),
        ("linear", "hold", 0, [(0, 10), (10, 20), (20, 30), (30, 20), (40, 10), (50, 0)]),
    ],
)
def test_delays_hold_or_follow_a_line_and_end_as_the_capacity(
    between: DelayBetween, end: Any, offset_ms: int, expected: list[tuple[int, int]]
) -> None:
    steps = islice(TRACE.steps(between, end, offset_ms * MS), len(expected) + (end != "loop"))
    assert [(moment // MS, delay // MS) for moment, delay in steps] == expected


def test_both_directions_of_a_leg_have_the_delay_unless_one_says_otherwise(tmp_path: Path) -> None:
    path = file(tmp_path, "0,10\n1,30\n")
    leg = Leg(rate_mbps=20, delay_trace=path, jitter_ms=0)
    assert [radio.delay_trace for radio in (leg.downlink, leg.uplink)] == [path, path]
    other = Leg(rate_mbps=20, delay_trace=path, uplink={"delay_ms": 5})
    assert (other.uplink.delay_trace, other.uplink.delay_ms) == (None, 5)
    found = [(moment, model.mean_ns // MS) for moment, model in islice(leg.downlink.delays(), 3)]
    assert found == [(0, 10), (S, 30), (2 * S, 10)]


def test_the_content_of_the_file_is_of_a_runs_identity(tmp_path: Path) -> None:
    def made(name: str, text: str) -> Scenario:
        (tmp_path / name).mkdir()
        leg = Leg(rate_mbps=20, delay_trace=file(tmp_path / name, text))
        return Scenario(legs=[leg], transport="quic", mode="sc", clock="virtual")

    one, same, other = (made(f"{n}", text) for n, text in enumerate(("0,1\n", "0,1\n", "0,2\n")))
    assert run_id(one) == run_id(same) != run_id(other)
    assert set(trace_paths(one)) == {str(tmp_path / "0" / "delay.txt")}


def test_an_option_has_a_value_for_each_way_or_a_file(tmp_path: Path) -> None:
    path = file(tmp_path, "0,1\n")
    parser = argparse.ArgumentParser()
    add_options(parser, legs())
    words = ["--legs", "20/5", "80", "--delay", "30/40", str(path), "--loss", "1/0"]
    first, second = leg_settings(parser.parse_args(words))
    assert first["downlink"] == {"rate_mbps": 20, "delay_ms": 30, "loss_percent": 1}
    assert first["uplink"] == {"rate_mbps": 5, "delay_ms": 40, "loss_percent": 0}
    assert second["delay_trace"] == str(path)
    assert (second["downlink"]["rate_mbps"], "rate_mbps" in second["uplink"]) == (80, False)
