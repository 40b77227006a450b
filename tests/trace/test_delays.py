"""Delays over time from files, and legs and options that have them."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import Leg, Scenario
from minitopo_dc.cli.options.legs import add_legs, leg_settings
from minitopo_dc.results.kept_scenario import trace_paths
from minitopo_dc.runs.identity import run_id
from minitopo_dc.trace import TraceError
from minitopo_dc.trace.delays import DelayBetween, DelayTrace, read_delays
from minitopo_dc.units import NS_PER_MS, NS_PER_S

MS, S = NS_PER_MS, NS_PER_S
TRACE = DelayTrace((0, 20 * MS, 50 * MS), (10 * MS, 30 * MS, 0))
"""It lasts 80 ms."""
PING = """PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.5 ms
64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=80 ms

--- 10.0.0.2 ping statistics ---
"""


def file(directory: Path, text: str) -> Path:
    path = directory / "delay.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "round_trip", "expected"),
    [
        ("0,10\n0.5,30\n", False, [(0, 10), (500, 30)]),
        ("0,10\n0.5,30\n", True, [(0, 5), (500, 15)]),
        ("time_s delay_ms\n3 10\n4 30\n", False, [(0, 10), (1000, 30)]),
        (PING, False, [(0, 10.25), (2000, 40)]),
        (PING.replace("64 bytes", "[1700000000.25] 64 bytes", 1), False, None),
    ],
)
def test_a_table_or_the_output_of_ping_gives_delays(
    text: str, round_trip: bool, expected: list[tuple[int, float]] | None, tmp_path: Path
) -> None:
    path = file(tmp_path, text)
    if expected is None:
        with pytest.raises(TraceError, match="ascending times"):
            read_delays(path)
        return
    trace = read_delays(path, round_trip=round_trip)
    found = zip(trace.moments, trace.delays, strict=True)
    assert [(moment / MS, delay / MS) for moment, delay in found] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,10,3\n", "3 columns"),
        ("0,10\n1,x\n", "is not a number"),
        ("0,10\n0,20\n", "ascending times"),
        ("0,3600001\n", "0 to 3,600,000 ms"),
        ("0,-1\n", "out of range"),
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
    add_legs(parser)
    words = ["--legs", "20/5", "80", "--delay", "30/40", str(path), "--loss", "1/0"]
    first, second = leg_settings(parser.parse_args(words))
    assert first["downlink"] == {"rate_mbps": 20, "delay_ms": 30, "loss_percent": 1}
    assert first["uplink"] == {"rate_mbps": 5, "delay_ms": 40, "loss_percent": 0}
    assert second["delay_trace"] == str(path)
    assert (second["downlink"]["rate_mbps"], "rate_mbps" in second["uplink"]) == (80, False)
