"""The line of a run that is under way."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from minitopo_dc.runs import live

MS = 1_000_000


def write_series(path: Path, key: str, rates: dict[int, int], seconds: float) -> None:
    """A series of 100 ms with a rate (bytes/s) of each source, and a row that is being written."""
    rows = [
        f"{7 + step * 100 * MS},{number},{step * rate // 10}"
        for step in range(round(10 * seconds) + 1)
        for number, rate in rates.items()
    ]
    path.write_text("\n".join([f"time_ns,{key},delivered_bytes", *rows, "99"]), encoding="utf-8")


def test_a_line_has_the_rates_of_the_last_second(tmp_path: Path) -> None:
    write_series(tmp_path / "gnb-legs.csv", "leg", {1: 125_000, 2: 250_000}, 6)
    write_series(tmp_path / "ue-receive.csv", "bearer", {1: 300_000, 3: 50_000}, 6)
    expected = "flow 1 2.4, flow 2 0.4, leg 1 1.0, leg 2 2.0 Mbit/s down"
    assert live.line_of(tmp_path, ("downlink",)) == expected


def test_without_a_bearer_the_flow_is_the_sum_of_the_legs(tmp_path: Path) -> None:
    write_series(tmp_path / "ue-legs.csv", "leg", {1: 125_000, 2: 250_000}, 6)
    expected = "flow 1 3.0, leg 1 1.0, leg 2 2.0 Mbit/s up"
    assert live.line_of(tmp_path, ("uplink",)) == expected


def test_a_run_that_carries_nothing_has_no_line(tmp_path: Path) -> None:
    assert live.line_of(tmp_path, ("downlink",)) == ""
    write_series(tmp_path / "gnb-legs.csv", "leg", {1: 0}, 6)
    assert live.line_of(tmp_path, ("downlink",)) == ""


def test_the_newest_run_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BEGIN_S", 0.02)
    (tmp_path / "run-1").mkdir()
    said: list[str] = []
    with live.Live(tmp_path, ("downlink",), said.append):
        until, size = time.monotonic() + 5, 1
        while not said and time.monotonic() < until:
            write_series(tmp_path / "run-1" / "gnb-legs.csv", "leg", {1: 100_000 * size}, 1)
            size += 1
            time.sleep(0.1)
    assert said
    assert said[0].partition(": ")[2].startswith("flow 1 ")
