"""Figures that `run` and `compare` write beside their numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc import cli
from minitopo_dc.cli.screen import best_of_each

COMPARE = ["compare", "--clock", "virtual", "--jobs", "1", "--legs", "9", "9", "--repetitions", "1"]
WAYS = ["--transports", "quic-picoquic", "mpquic-picoquic"]


def test_a_comparison_draws_all_rows_and_the_best_ones_over_time(tmp_path: Path) -> None:
    output = ["--size", "0.1", "--output", str(tmp_path / "out")]
    assert cli.main([*COMPARE, *WAYS, *output]) == 0
    for name in ("goodput.png", "timeline.png", "packets.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")


def test_of_a_delay_the_lowest_is_the_best() -> None:
    runs = pd.DataFrame({"way": ["DC (batch)", "DC (least-delay)"], "delay_p95_ms": [12.0, 9.0]})
    runs = runs.assign(mode="dc", status="ok", directory="somewhere")
    assert list(best_of_each(runs, "delay_p95_ms")) == ["DC (least-delay)"]


@pytest.mark.parametrize(
    ("more", "drawn"),
    [(["--set", "paths={initial: [1], schedule: [{at_s: 0.1, open: 2}]}"], True), ([], False)],
)
def test_a_run_is_drawn_where_it_has_paths(more: list[str], drawn: bool, tmp_path: Path) -> None:
    transport = "mpquic-picoquic" if drawn else "quic-picoquic"
    mode = "multipath" if drawn else "dc"
    path = tmp_path / "s.yaml"
    path.write_text(
        f"transport: {transport}\nmode: {mode}\nclock: virtual\n"
        "legs: [{rate_mbps: 9}, {rate_mbps: 9}]\nworkload: {size_mb: 0.3}\n"
    )
    assert cli.main(["run", str(path), "--output", str(tmp_path / "out"), *more]) == 0
    assert (tmp_path / "out" / "timeline.png").exists() == drawn
