"""Workload `realtime`: what it refuses, and what it makes of the frames' rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.workloads import Measurement, Realtime, parse_workload
from minitopo_dc.workloads.call import frame_rows

TEN = Realtime(fps=10, duration_s=1, gop=5, bitrate_mbps=0.1)
MS = 1_000_000


def measured(delays_ms: dict[int, float], workload: Realtime = TEN) -> Measurement:
    plan = workload.plan
    received = {n: round(plan.due_ns(n) + delay * MS) for n, delay in delays_ms.items()}
    rows = frame_rows(plan, 0, received, -1000 * MS, up=False)
    return Measurement(1, 1.0, rows=rows)


def test_the_numbers_are_those_of_the_rows() -> None:
    delays = {n: 20.0 + n for n in range(9)} | {8: 200.0}
    found = TEN.details(measured(delays))
    assert (found["frames"], found["lost_frames"], found["late_frames"]) == (10, 1, 1)
    assert found["late_share"] == pytest.approx(0.2)
    assert found["frame_delay_p50_ms"] == pytest.approx(24.0)
    assert found["frame_delay_p99_ms"] == pytest.approx(200.0)
    assert set(TEN.reported_measures) - {"reset_frames"} <= set(found)  # which the client tells


def test_times_count_from_the_start_of_connecting() -> None:
    row = measured({0: 20.0}).rows[0]
    assert (row["frame"], row["captured_s"], row["received_s"]) == (1, 1.0, 1.02)
    assert row["delay_ms"] == pytest.approx(20.0)


def test_a_direction_without_any_frame_has_failed() -> None:
    assert TEN.failure(measured({})) == "none of 10 frames came down"
    assert TEN.failure(measured({3: 20.0})) is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"deadline_ms": 0}, "realtime: deadline_ms: 0; allowed: above 0 to 3,600,000 ms"),
        ({"fps": 0}, "realtime: fps: 0; allowed: 1 to 1,000 frames/s"),
        ({"delivery": "rtp"}, "realtime: delivery: .*streams"),
        ({"key_frame_ratio": 0.5}, "realtime: key_frame_ratio: 0.5; allowed: 1 to 1,000"),
    ],
)
def test_a_wrong_field_is_one_error_with_what_is_allowed(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        parse_workload({"kind": "realtime", **fields})


def test_only_frames_on_streams_of_their_own_can_be_reset() -> None:
    words = "reset_late with delivery datagrams; allowed: streams, one for each frame"
    assert Realtime(delivery="datagrams", reset_late=True).refusal(2) == words


def test_too_many_frames_are_refused() -> None:
    assert (
        Realtime(fps=1000, duration_s=1001).refusal(2)
        == "1001000 frames; allowed: at most 1,000,000"
    )


def test_a_file_of_sizes_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "sizes"
    missing = Realtime(frame_sizes=path).refusal(2)
    assert missing == f"frame_sizes {path}: No such file or directory"
    path.write_text("fast", encoding="utf-8")
    assert str(Realtime(frame_sizes=path).refusal(2)).startswith(f"frame_sizes {path}: line 1")
