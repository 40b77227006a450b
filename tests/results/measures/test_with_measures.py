"""A campaign's table with measures that are read from the files of its runs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc import InputError, run_measures, with_measures


def test_a_measure_is_read_of_runs_that_are_ok_wherever_the_table_is(tmp_path: Path) -> None:
    rows = [("ok", "runs/1", 3), ("failed", "runs/2", 4), ("missing", "runs/3", None)]
    for _, run, count in rows:
        if count is not None:
            (tmp_path / run).mkdir(parents=True)
            summary = {"receive": {"1": {"missing": count}}}
            (tmp_path / run / "ue-summary.json").write_text(json.dumps(summary))
    runs = pd.DataFrame({"status": [row[0] for row in rows], "run": [row[1] for row in rows]})
    runs.attrs["directory"] = str(tmp_path)
    values = with_measures(runs, "given_up")["given_up"].tolist()
    assert values[0] == 3
    assert all(math.isnan(value) for value in values[1:])


def test_a_misspelt_measure_is_named_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InputError, match="no measure given_upp; did you mean given_up"):
        with_measures(pd.DataFrame({"status": [], "run": []}), "given_upp")


def test_an_own_measure_of_a_run_that_was_repeated_in_its_place_is_read_anew(
    tmp_path: Path,
) -> None:
    @run_measures("own_number")
    def _(run: Path) -> dict[str, float]:
        return {"own_number": float((run / "number").read_text())}

    runs = pd.DataFrame({"status": ["ok"], "run": ["run"]})
    runs.attrs["directory"] = str(tmp_path)
    (tmp_path / "run").mkdir()
    values = []
    for number in (1, 2):
        (tmp_path / "run" / "number").write_text(str(number))
        (tmp_path / "run" / "result.json").write_text("{}")
        os.utime(tmp_path / "run" / "result.json", (number, number))
        values += with_measures(runs, "own_number")["own_number"].tolist()
    assert values == [1, 2]
