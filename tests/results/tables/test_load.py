"""Tables of runs are saved and loaded."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minitopo_dc.files import replacing
from minitopo_dc.results import ResultError, load_results, save_tables
from tests.results.synthetic_runs import no_result, result, save

NO_NUMBERS = dict.fromkeys(("goodput_mbps", "completion_s", "capacity_share", "leg_bytes"))


def test_a_run_is_a_row_with_all_its_fields_and_a_column_a_leg(tmp_path: Path) -> None:
    run = result(details={"streams": 1})
    directory = save(tmp_path, run)
    save(tmp_path, result("tcp", "sc", leg_bytes=[10_400_000]))
    save(tmp_path, no_result("mpquic", "multipath", "unsupported", "no cargo"))
    table = load_results(str(tmp_path))  # a directory may be given as text
    one_leg, row, missing = table.to_dict("records")
    assert (row["transport"], row["goodput_mbps"]) == ("quic", run.goodput_mbps)
    assert (row["leg_bytes"], row["details"]) == (run.leg_bytes, {"streams": 1})
    assert Path(row["directory"]) == directory
    assert [row["leg_bytes_1"], row["leg_bytes_2"]] == run.leg_bytes
    assert pd.isna(one_leg["leg_bytes_2"])  # and not zero
    assert table["leg_bytes_2"].dtype == "Int64"
    assert math.isnan(missing["goodput_mbps"])
    assert (missing["leg_bytes"], missing["reason"]) == (None, "no cargo")


def test_a_directory_that_was_moved_is_found_where_it_is(tmp_path: Path) -> None:
    directory = save(tmp_path / "old", result(directory="somewhere/else"))
    (tmp_path / "old").rename(tmp_path / "new")
    (place,) = load_results(tmp_path / "new")["directory"]
    assert Path(place) == tmp_path / "new" / directory.name


def test_a_run_that_wrote_no_result_is_no_row(tmp_path: Path) -> None:
    save(tmp_path, result())
    (tmp_path / "tcp-sc-1").mkdir()
    (tmp_path / "tcp-sc-1" / "result.partial").write_text("{")
    assert len(load_results(tmp_path)) == 1


def test_no_run_at_all_is_an_error_that_names_the_directory(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=str(tmp_path)):
        load_results(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", "{}", '{"transport": "tcp"}', "\xff", None]
)
def test_what_is_no_result_is_an_error_that_names_the_file(
    tmp_path: Path, content: str | None
) -> None:
    path = save(tmp_path, result()) / "result.json"
    path.write_bytes(path.read_bytes()[:100] if content is None else content.encode("latin-1"))
    with pytest.raises(ResultError, match=str(path)):
        load_results(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "fine"}, "status"),
        ({"mode": "triple"}, "mode"),
        ({"goodput_mbps": float("nan")}, "goodput_mbps"),
        ({"completion_s": None}, "completion_s"),
        ({"leg_bytes": []}, "leg_bytes"),
        ({"colour": "blue"}, "colour"),
        ({"reason": "\udc80"}, "surrogate"),
        (
            {"status": "failed", "reason": "it died"},
            r"goodput_mbps: 20\.0 of a run with status fail",
        ),
        ({"status": "failed", "reason": " ", **NO_NUMBERS}, "reason: empty"),
    ],
)
def test_a_wrong_field_is_an_error_that_names_file_and_field(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = save(tmp_path, result()) / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ResultError, match=f"{path}.*{words}"):
        load_results(tmp_path)


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


@example(text="50 %\r100 %", goodput=1.0, share=1.0, details={})
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


def test_a_file_that_could_not_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half of the ne")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
