"""Goodput per path over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError, path_rates, path_series
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads.path_reports import PathFile, PathSample

LEG: dict[str, Any] = {"downlink": {"rate_mbps": 20}}
SCHEDULE = {"initial": [1], "schedule": [{"at_s": 1, "open": 2}, {"at_s": 2, "abandon": 1}]}
MBPS = 125_000
"""Bytes in a second at 1 Mbit/s."""


def samples(path: int, leg: int, begin_s: float, end_s: float, mbps: float) -> list[PathSample]:
    """A path at a steady rate, sampled each 100 ms."""
    count = round((end_s - begin_s) * 10)
    return [
        PathSample(
            begin_s + step / 10, leg, path, "open", bytes_acked=round(step / 10 * mbps * MBPS)
        )
        for step in range(count + 1)
    ]


def saved(run: Path, *paths: list[PathSample], **fields: Any) -> Path:
    run.mkdir(exist_ok=True)
    values = {"transport": "mptcp", "mode": "multipath", "legs": [LEG, LEG], "paths": SCHEDULE}
    Scenario.check(values | fields, "test").save(run / "scenario.yaml")
    with PathFile(run / "paths.csv") as file:
        for path in paths:
            file.write(1, path)
    return run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Leg 1 from the beginning to 2 s and from 3 s on, leg 2 from 1 s to 4 s."""
    return saved(
        tmp_path / "run",
        samples(0, 1, 0, 2, 8),
        samples(1, 2, 1, 4, 4),
        samples(2, 1, 3, 4, 2),
    )


def test_a_leg_s_rate_is_that_of_its_paths_one_after_the_other(run: Path) -> None:
    rates = path_rates(run, bin_s=1.0)
    assert list(rates.columns) == ["time_s", "flow", "leg", "rate_mbps"]
    first, second = (list(rates[rates["leg"] == leg]["rate_mbps"]) for leg in (1, 2))
    assert first == pytest.approx([8, 8, 0, 2])
    assert second == pytest.approx([0, 4, 4, 4])


def test_a_state_is_kept_and_an_empty_field_is_no_number(run: Path) -> None:
    rows = path_series(run)
    assert set(rows["state"]) == {"open"}
    assert rows["cwnd_bytes"].isna().all()
    assert rows["bytes_acked"].notna().all()


def test_a_run_without_any_row_has_no_rates(tmp_path: Path) -> None:
    assert path_rates(saved(tmp_path / "run")).empty


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "paths.csv"),
        ("time_s,flow\n0,1\n", "no column leg"),
        ("a,b\n1\n2,3,4\n", "paths.csv"),
    ],
)
def test_a_broken_file_is_named(text: str | None, words: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "paths.csv").write_text(text)
    with pytest.raises(ResultError, match=words):
        path_series(tmp_path)
