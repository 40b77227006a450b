"""Videos and calls over the kernel's TCP and MPTCP: the real clock's own programs in a guest."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.linux_guest.guests import multipath, needs_guest, run, scenario

pytestmark = needs_guest


@pytest.mark.long
def test_a_video_over_tcp_is_watched(tmp_path: Path) -> None:
    workload = {"kind": "video", "duration_s": 12}
    details = run(scenario(workload=workload), tmp_path).details
    assert (details["segments"], details["stalls"]) == (4, 0)
    assert details["handshake_s"] == pytest.approx(0.042, abs=0.002)
    assert 0.06 < details["startup_s"] < 0.5
    assert details["congestion_control"] == "cubic"
    assert details["started_s"] < 0.01


def test_a_call_over_mptcp_takes_both_paths_as_they_are_scheduled(tmp_path: Path) -> None:
    workload = {"kind": "realtime", "delivery": "stream", "duration_s": 2}
    paths = {"initial": [1], "schedule": [{"at_s": 0.5, "open": 2}, {"at_s": 1.0, "abandon": 1}]}
    result = run(multipath(workload=workload, paths=paths), tmp_path)
    assert [(each["action"], each["leg"]) for each in result.details["path_changes"]] == [
        ("open", 2),
        ("abandon", 1),
    ]
    assert [path["leg"] for path in result.details["paths"]] == [1, 2]
    assert result.leg_bytes is not None
    assert min(result.leg_bytes) > 10_000
    with (tmp_path / "paths.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["leg"] for row in rows} == {"1", "2"}
    assert (tmp_path / "realtime.csv").exists()


def test_a_packet_scheduler_that_the_kernel_has_is_taken(tmp_path: Path) -> None:
    run(multipath(options={"scheduler": "default"}), tmp_path)
