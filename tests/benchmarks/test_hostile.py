"""`python -m benchmarks.hostile`, a little of each; docs/measurements/robustness.md has more."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile import __main__ as hostile
from benchmarks.hostile import campaign
from benchmarks.hostile.small_disk import small_disk


def run(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """The rows of a benchmark that finds no fault."""
    status = hostile.main([*words, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["faults"], status) == ([], 0)
    rows: list[dict[str, Any]] = found["rows"]
    return rows


def test_malformed_input_is_counted_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run(capsys, "inputs", "--count", "12", "--kinds", "scenario", "options")
    assert [row["kind"] for row in rows] == ["scenario", "options"]
    assert [row["accepted"] + row["refused"] for row in rows] == [6, 6]


def test_random_pdus_raise_nothing_and_counts_ascend(capsys: pytest.CaptureFixture[str]) -> None:
    for row in run(capsys, "pdus", "--count", "4000"):
        assert (row["exceptions"], row["descending"]) == (0, 0)
        assert min(row["malformed"], row["handed up"]) > 100


def test_damaged_campaigns_are_mended(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    way = "file is damaged"
    monkeypatch.setattr(campaign, "SEEDS", [1])
    [row] = run(capsys, "campaign", "--count", "2", "--ways", way)
    assert (row["way"], row["campaigns"], row["wrong"]) == (way, 2, 0)


@pytest.mark.root
def test_a_small_disk_ends_with_the_process_that_has_it(tmp_path: Path) -> None:
    """No other sees it, so that nothing is left to unmount when the process is killed."""
    place = tmp_path / "disk"
    with small_disk(place, "100k"):
        assert str(place) in Path("/proc/self/mountinfo").read_text()
        assert str(place) not in Path(f"/proc/{os.getppid()}/mountinfo").read_text()
        with pytest.raises(OSError, match="No space left"):
            (place / "file").write_bytes(bytes(200_000))
    assert not list(place.iterdir())


@pytest.mark.root
def test_a_killed_host_is_named_and_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    [row] = run(capsys, "kills", "--count", "1", "--victims", "host", "--blows", "SIGKILL")
    assert (row["hit"], row["missed"], row["failed"]) == (1, 0, 1)


@pytest.mark.root
def test_the_elements_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = run(capsys, "soak", "--minutes", "0.02", "--rate", "2000", "--sn-bits", "12")
    assert [row["element"] for row in rows] == ["gnb", "ue"]
    assert {row["lost"] for row in rows} == {0}
    assert all(row["PDUs/s"] > 0 for row in rows)
