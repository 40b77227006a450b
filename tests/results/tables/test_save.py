from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minitopo_dc.files import replacing
from minitopo_dc.results import load_results, save_tables
from tests.results.synthetic_runs import no_result, result, save

# Neither UTF-8 nor Parquet has half a surrogate pair.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.floats(1e-3, 1e6)
LEGS = ("leg_bytes_1", "leg_bytes_2")
TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("goodput_mbps", "completion_s", "capacity_share"), float),
    **dict.fromkeys(("leg", "pdcp.t_reordering_ms"), float),
    **dict.fromkeys(("seed", "size_bytes", "repetition", "repeats", *LEGS), int),
}
"""Types of the columns that are no text; in these an empty cell is a missing value."""


def read_csv(directory: Path) -> list[dict[str, Any]]:
    with (directory / "results.csv").open(encoding="utf-8", newline="") as file:
        return [
            {
                name: cell if name not in TYPES else TYPES[name](cell) if cell else None
                for name, cell in row.items()
            }
            for row in csv.DictReader(file)
        ]


def read_parquet(directory: Path) -> list[dict[str, Any]]:
    """The same with the list of bytes as a column a leg, like the CSV."""
    rows: list[dict[str, Any]] = pq.read_table(directory / "results.parquet").to_pylist()
    for row in rows:
        row |= dict(zip(LEGS, row.pop("leg_bytes") or (None, None), strict=True))
    return rows


def mixed_runs(root: Path) -> pd.DataFrame:
    save(root, result(details={"retransmissions": 3}))
    save(root, result("tcp", "sc", goodput_mbps=0.1 + 0.2, details={"version": "8.1"}))
    save(root, no_result("mpquic", "multipath", "unsupported", 'no cargo; "apt-get",\nthen'))
    return load_results(root)


def test_both_files_hold_the_runs(tmp_path: Path) -> None:
    results = mixed_runs(tmp_path)
    save_tables(results, tmp_path)
    assert read_csv(tmp_path) == read_parquet(tmp_path)
    for saved, run in zip(read_parquet(tmp_path), results.to_dict("records"), strict=True):
        assert json.loads(saved.pop("details")) == run["details"]
        assert tmp_path / saved.pop("directory") == Path(run["directory"])
        assert saved == {name: None if pd.isna(run[name]) else run[name] for name in saved}


@example(text="50 %\r100 %", goodput=1.0, share=1.0, details={})
@settings(max_examples=25)
@given(text=TEXTS, goodput=NUMBERS, share=NUMBERS, details=st.dictionaries(TEXTS, NUMBERS))
def test_any_text_and_number_survives_both(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    goodput: float,
    share: float,
    details: dict[str, Any],
) -> None:
    root = tmp_path_factory.mktemp("runs")
    save(root, result(reason=text, goodput_mbps=goodput, capacity_share=share, details=details))
    save_tables(load_results(root), root)
    for (row,) in (read_csv(root), read_parquet(root)):
        assert (row["reason"], row["goodput_mbps"], row["capacity_share"]) == (text, goodput, share)
        assert json.loads(row["details"]) == details


def test_saving_leaves_no_other_file_and_replaces_the_old_ones(tmp_path: Path) -> None:
    runs = mixed_runs(tmp_path / "runs")
    for results in (runs, runs.head(1)):
        save_tables(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "runs",
        "results.csv",
        "results.parquet",
    }
    assert len(read_csv(tmp_path)) == len(read_parquet(tmp_path)) == 1


def test_a_file_that_could_not_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half of the ne")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
