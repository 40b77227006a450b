"""Workload `video`: what it refuses, and what it makes of a session's rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.workloads import Measurement, Video, parse_workload
from minitopo_dc.workloads.base import Row


def row(number: int, quality: int, requested_s: float, done_s: float | None, **more: Any) -> Row:
    return {
        "segment": number,
        "quality": quality,
        "requested_s": requested_s,
        "done_s": done_s,
        "stall_s": 0.0,
        "abandoned": 0,
        "wasted_bytes": 0,
        **more,
    }


ROWS = [
    row(1, 0, 0.0, 0.5),
    row(2, 3, 0.5, 1.5),
    row(3, 3, 1.5, 7.5, stall_s=1.0, abandoned=1, wasted_bytes=5000),
    row(4, 2, 7.5, 8.0),
]
SEEN = Measurement(1, 8.0, {"startup_s": 0.5}, rows=ROWS)
FOUR = Video(duration_s=12)


def test_the_numbers_are_those_of_the_rows() -> None:
    found = FOUR.details(SEEN)
    assert (found["segments"], found["stalls"], found["switches"]) == (4, 1, 2)
    assert (found["stall_s"], found["startup_s"]) == (1.0, 0.5)
    assert found["stall_ratio"] == pytest.approx(1 / 13)
    assert found["bitrate_mbps"] == pytest.approx((230 + 688 + 688 + 477) / 4000)
    assert found["change_mbps"] == pytest.approx((458 + 211) / 1000)
    assert (found["segment_p95_s"], found["segment_p99_s"]) == (6.0, 6.0)
    assert (found["abandoned"], found["wasted_bytes"]) == (1, 5000)
    assert set(FOUR.reported_measures) <= set(found)


def test_a_session_without_all_segments_has_failed() -> None:
    assert FOUR.failure(SEEN) is None
    cut = Measurement(1, 8.0, {}, rows=[*ROWS[:3], row(4, 2, 7.5, None)])
    assert FOUR.failure(cut) == "client has 3 of 4 segments"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"video": "no.json"}, "video no.json: there is no such file; allowed: movie, bbb, bbb4k"),
        ({"duration_s": 600}, "duration_s is 600; allowed with this video: 597"),
        ({"buffer_s": 5}, "buffer_s is 5; allowed: at least two segments, 6"),
        ({"startup_s": 23}, "startup_s is 23; allowed: at most 22, the buffer without a segment"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_run(
    fields: dict[str, Any], words: str
) -> None:
    assert words in str(Video(**fields).refusal(2))


def test_a_size_table_with_a_hole_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    values = {"segment_duration_ms": 2000, "bitrates_kbps": [1, 2]}
    path.write_text(json.dumps({**values, "segment_sizes_bits": [[1, 2], [3]]}), encoding="utf-8")
    refused = str(Video(video=str(path)).refusal(1))
    assert refused.endswith("segment_sizes_bits[1] has 1 sizes; allowed: 2, one for each bitrate")


def test_an_unknown_algorithm_is_told_with_those_that_are() -> None:
    words = r"video: abr: mpc; allowed: throughput, bba, bola, bola-e, dynamic"
    with pytest.raises(SettingsError, match=words):
        parse_workload({"kind": "video", "abr": "mpc"})


def test_the_whole_of_a_video_may_be_watched() -> None:
    whole = Video(duration_s=597)
    assert whole.refusal(1) is None
    assert whole.segments == 199
