"""Calibration where little arrives, and the probe that it measures with."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc import cli, clocks, load
from minitopo_dc.real import calibration
from minitopo_dc.real.calibration import calibrate, send_through
from minitopo_dc.real.probe_ends import SILENCE_S
from minitopo_dc.scenario import Scenario
from tests.real.local_host import LocalHost

S = 1_000_000_000


def scenario(**downlink: Any) -> Scenario:
    legs = [{"downlink": {"rate_mbps": 8, "jitter_ms": 0} | downlink}]
    fields = {"transport": "tcp", "mode": "sc", "legs": legs, "workload": {"duration_s": 2}}
    return Scenario.check(fields, "test")


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """When packets arrive (ns after the start), in place of hosts and packets."""
    times: list[int] = []
    element = SimpleNamespace(begin_stop=lambda: None, stop=lambda: {"start_ns": 0})
    hosts = SimpleNamespace(server=None, client=None)

    @contextlib.contextmanager
    def testbed(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace(hosts=hosts, elements=[element], start=lambda: None)

    def arrivals(*_: Any, **__: Any) -> pd.DataFrame:
        table = np.array(times, dtype=np.int64)
        return pd.DataFrame({"number": np.arange(len(times)), "received": table}).assign(
            sent=table - 10_000_000, delays_ms=10.0
        )

    monkeypatch.setattr(calibration, "testbed", testbed)
    monkeypatch.setattr(calibration, "send_through", arrivals)
    return times


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([], "leg 1: 0 packets arrived in 3 s,"),
        ([S // 2], "leg 1: 1 packets arrived in 3 s,"),
        ([S // 4, S // 3, S // 2], "leg 1: 0 packets arrived in the 1 s of the rate"),
    ],
)
def test_too_few_packets_to_measure_are_an_error_with_advice(
    times: list[int], words: str, arrived: list[int], tmp_path: Path
) -> None:
    arrived += times
    result = calibrate(scenario(), tmp_path / "run")
    assert result.status == "failed"
    assert re.match(f"{words}.*give more --seconds", result.reason)


@pytest.mark.usefixtures("arrived")
def test_a_trace_that_begins_with_an_outage_is_no_division_by_zero(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,rate_mbps\n0,0\n5,8\n6,8\n", encoding="utf-8")
    result = calibrate(scenario(rate_mbps=None, trace=str(trace)), tmp_path / "run")
    assert "0 packets arrived" in result.reason


@pytest.mark.usefixtures("arrived")
def test_a_leg_that_loses_everything_is_one_line_on_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)
    words = ["calibrate", "--loss", "100", "--seconds", "2", "--output", str(tmp_path / "legs")]
    assert cli.main(words) == 1
    assert capsys.readouterr().err.startswith("minitopo-dc: leg 1: 0 packets arrived")


def test_a_calibration_is_a_campaign_that_load_and_show_read(
    arrived: list[int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)
    arrived += range(S, 2 * S, 1_500_000)  # 12 kbit each
    root = tmp_path / "legs"
    words = ["calibrate", "--legs", "8", "16", "--delay", "10", "--jitter", "0", "--seconds", "2"]
    assert cli.main([*words, "--output", str(root)]) == 0
    table = capsys.readouterr().out.partition("Results:")[0]
    runs = load(root).set_index("leg")
    assert [*runs.index] == [1, 2]
    assert runs["rate_mbps"].to_numpy() == pytest.approx(8)
    assert runs["ideal_rate_mbps"][2] == pytest.approx(16)
    assert runs["delay_median_ms"][1] == pytest.approx(8.5)  # less 1.5 of serialisation
    assert cli.main(["show", str(root)]) == 0
    assert capsys.readouterr().out == table


@pytest.mark.parametrize(
    ("rows", "end", "packets", "seconds"),
    [
        # 3 s of outage, then 100 packets of 12 kbit, then 10 ms of delay.
        ("0,8\n2,0\n5,8\n6,8", "loop", 500, 3.0 + 0.15 + 0.01),
        ("0,8\n2,0\n5,8\n6,8", "loop", 10, 3.0 + 0.015 + 0.01),
        ("0,8\n1,8", "stop", 500, 0),
    ],
)
def test_what_waits_behind_an_outage_is_waited_for_unless_a_trace_has_ended(
    rows: str, end: str, packets: int, seconds: float, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(f"time_s,rate_mbps\n{rows}\n")
    for queue in ({"queue_packets": 100}, {"queue_bytes": 150_000}):
        fields = {"rate_mbps": None, "trace": str(trace), "end": end, **queue}
        downlink = scenario(**fields).legs[0].downlink
        assert calibration._drain_s(downlink, 2, packets) == pytest.approx(seconds)


@pytest.mark.alone
@pytest.mark.root  # of its receive buffer
def test_a_silence_does_not_end_the_probe(tmp_path: Path) -> None:
    arrivals = send_through(
        LocalHost(),
        LocalHost(),
        "127.0.0.1",
        rate=2,
        seconds=1,
        size=1000,
        scratch=tmp_path / "arrivals",
        linger_s=0.1,
    )
    assert arrivals.number.tolist() == [0, 1]
    assert arrivals.sent[1] - arrivals.sent[0] > SILENCE_S * S
