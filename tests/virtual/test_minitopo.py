"""Minitopo's way on the virtual clock: templates, both files, `run -t -x`, the table."""

from __future__ import annotations

import json
from pathlib import Path

from minitopo_dc import cli
from minitopo_dc.results import compare_table, load_results, path_rates
from tests.picoquic.extension import needs_picoquic


def run(directory: Path, name: str, *values: str, **experiment: str) -> Path:
    """Render a topology and a download over it, and run them; where the results are."""
    given = {"type": "mpquic-picoquic", "clock": "virtual"} | experiment
    words = [f"{key}={value}" for key, value in given.items()]
    topo, xp = (str(directory / file) for file in ("topo", "xp"))
    results = directory / "results" / "-".join([name, *values])
    assert cli.main(["template", "render", name, *values, "-o", topo]) == 0
    assert cli.main(["template", "render", "download.xp", *words, "-o", xp]) == 0
    assert cli.main(["run", "-t", topo, "-x", xp, "--output", str(results)]) == 0
    return results


@needs_picoquic
def test_figure_6_as_minitopo_files(tmp_path: Path) -> None:
    """Electronics 11 (2022) 1492, figure 6: 8 Mbit/s from 2 to 4 s and from 6 to 8 s beside 4."""
    results = run(tmp_path, "reachable.topo", duration="8")
    rates = path_rates(results, 1.0).groupby("time_s")["rate_mbps"].sum()
    for second, capacity in ((1, 4), (3, 12), (5, 4), (7, 12)):
        assert rates[second] >= 0.85 * capacity
    paths = json.loads((results / "result.json").read_text())["details"]["paths"]
    (revived,) = (path for path in paths if path["leg"] == 2)
    assert 2 < revived["opened_s"] < 2.2
    assert revived["closed_s"] is None


@needs_picoquic
def test_a_drive_s_files_give_logs_and_a_table(tmp_path: Path) -> None:
    values = ("drive=residential", "start=100", "seconds=9")
    results = [
        run(tmp_path, "drive.topo", *values, case, size="2000") for case in ("case=1", "case=2")
    ]
    for directory in results:
        assert (directory / "paths.csv").is_file()
    table = compare_table(load_results(tmp_path / "results"))
    assert list(table["runs"]) == [2]
    one, two = load_results(tmp_path / "results").sort_values("directory")["goodput_mbps"]
    assert two > one
