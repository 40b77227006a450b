"""What transports tell of their paths, in a file and in details."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.workloads.path_reports import (
    COLUMNS,
    PathFile,
    PathReport,
    PathSample,
    bytes_of_legs,
)


def test_a_file_of_paths_has_a_row_per_flow_path_and_sample(tmp_path: Path) -> None:
    samples = [
        PathSample(0.1, leg=1, path=0, state="open", cwnd_bytes=14480, smoothed_rtt_ms=20.5),
        PathSample(0.2, leg=2, path=1, state="backup", bytes_sent=7),
    ]
    with PathFile(tmp_path / "paths.csv") as file:
        file.write(1, samples)
        file.write(2, samples[:1])
    header, *rows = (tmp_path / "paths.csv").read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert header.startswith("time_s,flow,leg,path,state,cwnd_bytes,in_flight_bytes,")
    assert rows == [
        "0.1000,1,1,0,open,14480,,20.5,,,",
        "0.2000,1,2,1,backup,,,,7,,",
        "0.1000,2,1,0,open,14480,,20.5,,,",
    ]


def test_a_leg_that_was_opened_twice_has_carried_what_both_paths_did() -> None:
    paths = [PathReport(1, 0.1, 2.0, 500), PathReport(2, 1.0, None, 30), PathReport(1, 3, None, 8)]
    details = {"paths": [path.values() for path in paths]}
    assert bytes_of_legs(details, 3) == [508, 30, 0]
