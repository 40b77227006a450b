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


@pytest.mark.parametrize("name", NAMES)
def test_an_embedded_file_reads_as_its_recipe(name: str) -> None:
    recipe = next(recipe for recipe in RECIPES if recipe.name == name)
    assert read_trace(EMBEDDED / f"{name}.csv") == recipe.make()


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


def test_a_channel_of_an_embedded_drive_is_a_leg_s_trace() -> None:
    trace = read_trace(EMBEDDED / "drive_road.csv", column="channel_1_mbps")
    assert trace.duration_ns == 1800 * 10**9


@pytest.mark.parametrize(("name", "mean"), [("lte_a", 12), ("lte_b", 8)])
def test_the_default_pair_is_light(name: str, mean: float) -> None:
    info = trace_info(read_trace(EMBEDDED / f"{name}.csv"))
    assert info.duration_s == 60
    assert info.mean_mbps == pytest.approx(mean, abs=0.001)
    assert info.max_mbps <= 25


def test_the_walk_fades_deeper() -> None:
    def fifth_percentile(name: str) -> float:
        info = trace_info(read_trace(EMBEDDED / f"{name}.csv"))
        return info.percentiles_mbps[0] / info.mean_mbps

    assert fifth_percentile("lte_walk_a") < fifth_percentile("lte_a")
    assert fifth_percentile("lte_walk_b") < fifth_percentile("lte_b")


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


@needs_measured
def test_the_papers_average_counts_rows_and_not_seconds() -> None:
    """4.5 Mbit/s "in the first 200 s" is the mean of 200 rows; of 200 s it is 4.74."""
    path = MEASURED / "static_A_2018.02.12_16.14.02.csv"
    rows = [int(row["DL_bitrate"]) for row in csv.DictReader(path.read_text().splitlines())]
    assert sum(rows[:200]) / 200 == pytest.approx(4525, abs=1)
    trace = load(path)
    ends = (*trace.times_ns[1:], trace.duration_ns)
    limit = 200 * 10**9
    bits = sum(
        rate * (min(end, limit) - start) / 1e9
        for start, end, rate in zip(trace.times_ns, ends, trace.rates_bps, strict=True)
        if start < limit
    )
    assert bits / 200 == pytest.approx(4_735_905, abs=1)
