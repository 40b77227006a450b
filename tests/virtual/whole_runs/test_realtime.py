"""Whole runs of calls and videos."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.media.abr import make_abr
from minitopo_dc.media.player import Player
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from minitopo_dc.workloads.video import read_video
from tests.media.fluid import FluidNetwork, Period, play
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

MEDIA_TEST = {"kind": "realtime", "bitrate_mbps": 0.624, "duration_s": 5}
"""Picoquic's: 150 frames of 2,000 bytes at 30/s, groups of 30 begun by one of 20,000."""
LINK = {**leg(rate_mbps=10, delay_ms=10, jitter_ms=0), "uplink": {"rate_mbps": 10, "delay_ms": 10}}
STACKS = ["quic", pytest.param("quic-picoquic", marks=needs_picoquic)]
each_stack = pytest.mark.parametrize("transport", STACKS)


def run(directory: Path, transport: str, legs: list[Any] | None = None, **fields: Any) -> RunResult:
    values: dict[str, Any] = {"mode": "sc", "options": {}, **fields}
    values["workload"] = MEDIA_TEST | values.get("workload", {})
    result = run_virtual(
        scenario(transport=transport, legs=legs or [LINK, LINK], **values), directory
    )
    assert result.status == "ok", result.reason
    return result


@each_stack
@pytest.mark.parametrize("delivery", ["streams", "datagrams", "stream"])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_picoquics_media_test(
    tmp_path: Path, transport: str, delivery: str, direction: str
) -> None:
    """All frames come, with a mean delay up to 25 ms and none above 50 ms, as it demands.

    An ordinary frame takes 10 ms and 1.7 ms of the link's time: the mean is 12.3 ms here.
    """
    workload = {"delivery": delivery, "direction": direction}
    found = run(tmp_path, transport, workload=workload).details
    assert (found["frames"], found["lost_frames"]) == (150, 0)
    assert 11.7 < found["frame_delay_mean_ms"] < 25
    assert found["frame_delay_max_ms"] < 50
    assert found["freezes"] == 0


@each_stack
def test_an_outage_is_one_freeze_as_long_as_it(tmp_path: Path, transport: str) -> None:
    down = {**LINK, "outages": [[2.0, 3.0]]}
    found = run(tmp_path, transport, [down, down]).details
    assert found["freezes"] == 1
    assert 1.0 < found["longest_freeze_s"] < 1.6
    assert found["late_share"] > 0.1


@each_stack
def test_late_frames_that_are_reset_make_way_for_those_behind_them(
    tmp_path: Path, transport: str
) -> None:
    """Behind an outage of 1 s on a link with little to spare: half as many are late or lost."""
    slow = {**LINK, "downlink": {**LINK["downlink"], "rate_mbps": 3}, "outages": [[2.0, 3.0]]}
    workload: dict[str, Any] = {"bitrate_mbps": 2.5}
    keeping = run(tmp_path / "keep", transport, [slow, slow], workload=workload).details
    workload["reset_late"] = True
    resetting = run(tmp_path / "reset", transport, [slow, slow], workload=workload).details
    assert (keeping["reset_frames"], keeping["lost_frames"]) == (0, 0)
    assert resetting["lost_frames"] >= resetting["reset_frames"] > 10
    assert resetting["late_share"] < 0.7 * keeping["late_share"]


@needs_picoquic
def test_duplication_by_dc_keeps_frames_in_time_through_an_outage_of_one_leg(
    tmp_path: Path,
) -> None:
    legs = [{**LINK, "outages": [[2.0, 3.0]]}, LINK]
    one = run(tmp_path / "sc", "quic-picoquic", legs)
    both = run(tmp_path / "dup", "quic-picoquic", legs, mode="dc-duplicate", split_uplink=True)
    assert one.details["late_frames"] > 20
    assert both.details["late_share"] == 0
    assert both.leg_bytes is not None
    assert both.leg_bytes[1] > 400_000


@needs_picoquic
@pytest.mark.parametrize("delivery", ["streams", "datagrams", "stream"])
def test_selective_duplication_copies_marked_key_frames_alone(
    tmp_path: Path, delivery: str
) -> None:
    """Key frames have 100 kB of 390 kB: so much more, and headers, is what both legs carry."""
    workload = {"delivery": delivery, "key_frame_dscp": 46}
    carried = {}
    for name, chosen in {"none": [1], "keys": [46], "all": [0, 46]}.items():
        pdcp = {"split": "least-delay", "duplication": {"dscp": chosen}}
        fields: dict[str, Any] = {"mode": "dc", "split_uplink": True, "pdcp": pdcp}
        result = run(tmp_path / name, "quic-picoquic", workload=workload, **fields)
        assert result.details["lost_frames"] == 0
        assert result.leg_bytes is not None
        carried[name] = sum(result.leg_bytes)
    assert 100_000 < carried["keys"] - carried["none"] < 125_000
    assert carried["all"] > 1.98 * carried["none"]


@needs_picoquic
@pytest.mark.parametrize("direction", ["up", "both"])
def test_key_frames_on_a_connection_of_their_own_all_come(tmp_path: Path, direction: str) -> None:
    workload = {"direction": direction, "key_frame_dscp": 46, "reset_late": True}
    found = run(tmp_path, "quic-picoquic", workload=workload).details
    assert found["lost_frames"] == found["late_frames"] == 0


@needs_picoquic
def test_a_connection_without_anything_to_carry_outlives_the_call(tmp_path: Path) -> None:
    """With `gop` 1 all frames are key frames: the first connection is silent for 40 s."""
    workload = {"fps": 2, "gop": 1, "bitrate_mbps": 0.1, "duration_s": 40, "key_frame_dscp": 10}
    assert run(tmp_path, "quic-picoquic", workload=workload).details["lost_frames"] == 0


@needs_picoquic
def test_a_call_over_several_paths_uses_what_it_needs(tmp_path: Path) -> None:
    found = run(tmp_path, "mpquic-picoquic", mode="multipath", workload={"direction": "both"})
    assert found.details["lost_frames"] == 0
    assert found.details["frame_delay_p95_ms"] < 50


SHORT = {"kind": "video", "duration_s": 30, "abr": "throughput"}
FALLING = leg(rate_mbps=4, delay_ms=20, changes=[{"at_s": 4.66, "rate_mbps": 0.4}])
"""Its rate falls right behind a request, whose download is then given up."""
TRANSPORTS = [
    ("quic", "sc"),
    pytest.param("quic-picoquic", "sc", marks=needs_picoquic),
    pytest.param("mpquic-picoquic", "multipath", marks=needs_picoquic),
]


def watch(directory: Path, **fields: Any) -> RunResult:
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
    found = watch(tmp_path, **fields)
    assert found.details["abandoned"] >= 1
    assert [int(row["segment"]) for row in rows(tmp_path)] == list(range(1, 11))
    sent = sum(int(row["size_bytes"]) for row in rows(tmp_path)) + found.details["wasted_bytes"]
    under_way = 2 * 100 * 1500 * found.details["abandoned"]  # in two full queues
    assert found.leg_bytes is not None
    assert sum(found.leg_bytes) < 1.05 * sent + under_way


@needs_picoquic
def test_on_packets_without_latency_the_session_is_nearly_that_of_a_fluid(tmp_path: Path) -> None:
    """Sabre's network of 8 Mbit/s without latency, and a leg of 8 Mbit/s of IP packets.

    Headers take 4 % of it, a handshake and a slow start come before: the same decisions, each
    segment up to 5 % later.
    """
    fields = {"kind": "video", "video": "bbb", "abr": "bola-e", "duration_s": 30}
    fast = leg(rate_mbps=8, delay_ms=1, jitter_ms=0)
    watch(tmp_path, mode="sc", legs=[fast, fast], workload=fields, transport="quic-picoquic")
    video = read_video("bbb")
    player = Player(video, make_abr("bola-e", video, 25.0), 10)
    fluid = play(player, FluidNetwork([Period(1e12, 8e-3, 0.0)]))
    found = rows(tmp_path)
    assert [int(row["quality"]) for row in found] == [each.quality for each in fluid]
    for row, each in zip(found[1:], fluid[1:], strict=True):
        transfer_s = float(row["done_s"]) - float(row["requested_s"])
        assert 1.03 < transfer_s / (each.end_ms - each.start_ms) * 1000 < 1.10
