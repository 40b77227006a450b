"""Tables of runs are saved and loaded."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minitopo_dc.campaign.store import TEXT_TABLE, Facts, load, make_table
from minitopo_dc.campaign.store import save as save_table
from minitopo_dc.files import replacing
from minitopo_dc.results import ResultError
from minitopo_dc.results.tables.runs import results_table, with_results
from tests.results.synthetic_runs import no_result, result, save

NO_NUMBERS = dict.fromkeys(("goodput_mbps", "completion_s", "capacity_share", "leg_bytes"))


def test_a_run_is_a_row_with_its_measures_and_a_column_a_leg(tmp_path: Path) -> None:
    run = result(details={"streams": 1})
    save(tmp_path, run)
    save(tmp_path, result("tcp", "sc", leg_bytes=[10_400_000]))
    save(tmp_path, no_result("mpquic", "multipath", "unsupported", "no cargo"))
    table = load(str(tmp_path))  # a directory may be given as text
    missing, row, one_leg = table.to_dict("records")
    assert (row["transport"], row["goodput_mbps"]) == ("quic", run.goodput_mbps)
    assert (row["run"], row["streams"]) == ("quic-dc-1", 1)
    assert [row["leg_bytes_1"], row["leg_bytes_2"]] == run.leg_bytes
    assert pd.isna(one_leg["leg_bytes_2"])  # and not zero
    assert math.isnan(missing["goodput_mbps"])
    assert (missing["mode"], missing["reason"]) == ("multipath", "no cargo")


def test_a_run_s_own_directory_is_a_table_of_one_row(tmp_path: Path) -> None:
    (row,) = load(save(tmp_path, result())).to_dict("records")
    assert (row["run"], row["transport"], row["seed"]) == (".", "quic", 1)


def test_all_that_a_result_has_is_beside_the_labels(tmp_path: Path) -> None:
    run = result(details={"streams": 1}, directory="somewhere/else")
    (row,) = with_results(load(save(tmp_path, run))).to_dict("records")
    assert (row["leg_bytes"], row["details"]) == (run.leg_bytes, {"streams": 1})
    assert Path(row["directory"]) == tmp_path / "quic-dc-1"


def test_a_label_that_has_the_name_of_a_field_is_another_column() -> None:
    table = results_table([result()], [{"clock": "ours", "mode": "dc"}])
    assert table.attrs["labels"] == ["run.clock", "mode"]
    assert table[["run.clock", "clock"]].to_numpy().tolist() == [["ours", "real"]]


def test_a_run_that_wrote_no_result_is_no_row(tmp_path: Path) -> None:
    save(tmp_path, result())
    (tmp_path / "tcp-sc-1").mkdir()
    (tmp_path / "tcp-sc-1" / "result.partial").write_text("{")
    assert len(load(tmp_path)) == 1


def test_no_run_at_all_is_an_error_that_names_the_directory(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=str(tmp_path)):
        load(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", "{}", '{"transport": "tcp"}', "\xff", None]
)
def test_what_is_no_result_is_an_error_that_names_the_file(
    tmp_path: Path, content: str | None
) -> None:
    path = save(tmp_path, result()) / "result.json"
    path.write_bytes(path.read_bytes()[:100] if content is None else content.encode("latin-1"))
    with pytest.raises(ResultError, match=str(path)):
        load(tmp_path)


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
        load(tmp_path)


# Neither UTF-8 nor Parquet has half a surrogate pair.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.floats(1e-3, 1e6)


@example(text="50 %\r100 %", goodput=1.0)
@example(text="0", goodput=1.0)
@given(text=TEXTS, goodput=NUMBERS)
def test_any_text_and_number_survives_both_files(
    tmp_path_factory: pytest.TempPathFactory, text: str, goodput: float
) -> None:
    root = tmp_path_factory.mktemp("runs")
    row = {"way": text, "seed": 1, "status": "ok", "reason": "", "goodput_mbps": goodput}
    facts = Facts(title="", notes="", labels=["way"], cases=1, seeds=[], version="full")
    save_table(make_table([row | {"run": "runs/1"}], ["way"], [], root), facts, root)
    read = pd.read_csv(root / TEXT_TABLE, keep_default_na=False, dtype={"way": str})  # "0" is text
    for table in (read, load(root)):
        assert table[["way", "goodput_mbps"]].to_numpy().tolist() == [[text, goodput]]


def test_a_file_that_could_not_be_completed_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as partial:
        partial.write_text("half of the ne")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
