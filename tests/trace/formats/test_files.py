"""The files: those that the repository carries, and the measured ones where there are any."""

from __future__ import annotations

import csv
import os
from datetime import datetime
from pathlib import Path

import pytest

from minitopo_dc.trace import (
    RateTrace,
    channel_statistics,
    read_channels,
    read_trace,
    trace_info,
)
from minitopo_dc.trace.embedded import DRIVES, RECIPES, write_embedded
from tests import REPOSITORY

EMBEDDED = REPOSITORY / "traces"
MEASURED = (
    Path(os.environ.get("MINITOPO_DC_TRACES", REPOSITORY.parent / "shared" / "traces")) / "raca4g"
)
NAMES = [recipe.name for recipe in RECIPES]
DRIVE_NAMES = [recipe.name for recipe in DRIVES]

needs_measured = pytest.mark.skipif(
    not MEASURED.is_dir(), reason=f"no measured traces: {MEASURED} (MINITOPO_DC_TRACES) is missing"
)


def test_the_recipes_make_the_embedded_files_byte_by_byte(tmp_path: Path) -> None:
    write_embedded(tmp_path)
    for name in (*NAMES, *DRIVE_NAMES):
        made = (tmp_path / f"{name}.csv").read_text()
        assert made == (EMBEDDED / f"{name}.csv").read_text()


@pytest.mark.parametrize(
    ("name", "cells", "best_mbps", "all_mbps"),
    [("drive_residential", 3.99, 13.42, 25.38), ("drive_road", 3.19, 18.39, 30.77)],
)
def test_an_embedded_drive_has_the_published_means(
    name: str, cells: float, best_mbps: float, all_mbps: float
) -> None:
    """Of table 2, and of the capacity columns of tables 4 and 5 (docs/cellular.md)."""
    path = EMBEDDED / f"{name}.csv"
    statistics = channel_statistics(read_channels(path))
    assert statistics.duration_s == 1800
    assert statistics.available_mean == pytest.approx(cells, abs=0.05)
    capacity = statistics.capacity
    assert capacity["Best Single Path"].mean_mbps == pytest.approx(best_mbps, rel=0.05)
    assert capacity["Multipath"].mean_mbps == pytest.approx(all_mbps, rel=0.05)
    assert path.stat().st_size < 200_000


def measured() -> list[Path]:
    return sorted(MEASURED.glob("*.csv"))


def load(path: Path) -> RateTrace:
    trace = read_trace(path)
    assert isinstance(trace, RateTrace)
    return trace


@needs_measured
def test_all_ten_measured_files_read() -> None:
    assert len(measured()) == 10
    for path in measured():
        assert trace_info(load(path)).mean_mbps > 0.5, path


@needs_measured
def test_measured_traces_have_the_mean_of_a_repeated_second_at_its_time() -> None:
    repeated = 0
    for path in measured():
        trace = load(path)
        rate_at = dict(zip(trace.times_ns, trace.rates_bps, strict=True))
        seconds: dict[datetime, list[int]] = {}
        for row in csv.DictReader(path.read_text().splitlines()):
            moment = datetime.strptime(row["Timestamp"], "%Y.%m.%d_%H.%M.%S")
            seconds.setdefault(moment, []).append(int(row["DL_bitrate"]))
        zero = min(seconds)
        for moment, values in seconds.items():
            time = round((moment - zero).total_seconds()) * 10**9
            assert rate_at[time] == round(1000 * sum(values) / len(values))
            repeated += len(values) > 1
    assert repeated == 43
