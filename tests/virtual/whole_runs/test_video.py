"""Workload `video` in whole runs on the virtual clock."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.media.abr import make_abr
from minitopo_dc.media.player import Player, PlayerSettings
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.video import read_video
from tests.media.fluid import FluidNetwork, Period, play
from tests.picoquic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

SHORT = {"kind": "video", "duration_s": 30, "abr": "throughput"}
FALLING = leg(rate_mbps=4, delay_ms=20, changes=[{"at_s": 4.7, "rate_mbps": 0.4}])
"""Its rate falls right behind a request, whose download is then given up."""
TRANSPORTS = [
    ("quic", "sc"),
    pytest.param("quic-picoquic", "sc", marks=needs_picoquic),
    pytest.param("mpquic-picoquic", "multipath", marks=needs_picoquic),
]


def run(directory: Path, **fields: Any) -> RunResult:
    values = {"legs": [leg(rate_mbps=4, delay_ms=20)] * 2, "workload": SHORT, "options": {}}
    result = run_virtual(scenario(**(values | fields)), directory)
    assert result.status == "ok", result.reason
    return result


def rows(directory: Path) -> list[dict[str, str]]:
    with (directory / "video.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("transport", "mode"), TRANSPORTS)
def test_a_download_is_given_up_and_the_next_ones_are_not_held_up(
    tmp_path: Path, transport: str, mode: str
) -> None:
    """What was given up is not sent any more, and does not count as unsent for ever."""
    fields = {"transport": transport, "mode": mode, "legs": [FALLING, FALLING]}
    found = run(tmp_path, **fields)
    assert found.details["abandoned"] >= 1
    assert [int(row["segment"]) for row in rows(tmp_path)] == list(range(1, 11))
    sent = sum(int(row["size_bytes"]) for row in rows(tmp_path)) + found.details["wasted_bytes"]
    assert found.leg_bytes is not None
    assert sum(found.leg_bytes) < 1.2 * sent


@needs_picoquic
def test_two_legs_give_a_better_picture_than_one(tmp_path: Path) -> None:
    one = run(tmp_path / "sc", mode="sc", transport="quic-picoquic")
    both = run(tmp_path / "dc", transport="quic-picoquic")
    assert both.details["bitrate_mbps"] > 1.3 * one.details["bitrate_mbps"]
    assert (one.details["stalls"], both.details["stalls"]) == (0, 0)


def test_a_leg_that_is_down_for_longer_than_the_buffer_stalls_the_picture(tmp_path: Path) -> None:
    down = {**leg(rate_mbps=4, delay_ms=20), "outages": [[6, 26]]}
    found = run(tmp_path, mode="sc", legs=[down, down])
    assert found.details["stalls"] == 1
    assert 5 < found.details["stall_s"] < 25


@needs_picoquic
def test_on_packets_without_latency_the_session_is_nearly_that_of_a_fluid(tmp_path: Path) -> None:
    """Sabre's network of 8 Mbit/s without latency, and a leg of 8 Mbit/s of IP packets.

    Headers take 4 % of it, a handshake and a slow start come before: the same decisions, each
    segment up to 5 % later.
    """
    fields = {"kind": "video", "video": "bbb", "abr": "bola-e", "duration_s": 30}
    fast = leg(rate_mbps=8, delay_ms=1, jitter_ms=0)
    run(tmp_path, mode="sc", legs=[fast, fast], workload=fields, transport="quic-picoquic")
    video = read_video("bbb")
    player = Player(video, make_abr("bola-e", video, 25.0), PlayerSettings(10))
    fluid = play(player, FluidNetwork([Period(1e12, 8e-3, 0.0)]))
    found = rows(tmp_path)
    assert [int(row["quality"]) for row in found] == [each.quality for each in fluid]
    for row, each in zip(found[1:], fluid[1:], strict=True):
        transfer_s = float(row["done_s"]) - float(row["requested_s"])
        assert 1.03 < transfer_s / (each.end_ms - each.start_ms) * 1000 < 1.10
