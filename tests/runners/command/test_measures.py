"""Numbers in what programs wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.command.runner import read_measures, value_at
from minitopo_dc.workloads import Measure

REPORT = {"end": {"sum": {"bits_per_second": 9.5e6}, "streams": [{"rtt": 12}, {"rtt": 15}]}}


def read(directory: Path, text: str, **fields: Any) -> float:
    (directory / "client.out").write_text(text)
    return read_measures({"mine": Measure.check(fields, "test")}, directory)["mine"]


@pytest.mark.parametrize(
    ("path", "value"), [("end.sum.bits_per_second", 9.5e6), ("end.streams.1.rtt", 15)]
)
def test_a_path_leads_through_objects_and_lists(path: str, value: float, tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(REPORT), json_path=path) == value


def test_json_may_be_the_last_line_only(tmp_path: Path) -> None:
    assert read(tmp_path, 'connecting\n{"a": 1}\n\n', json_path="a") == 1


def test_a_number_is_scaled(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(REPORT), json_path="end.sum.bits_per_second", scale=1e-6)
    assert found == pytest.approx(9.5)


def test_the_last_match_of_a_regular_expression_counts(tmp_path: Path) -> None:
    text = "took 3 s\n total 4.5e1 s\n"
    assert read(tmp_path, text, regex=r"([\d.e]+) s$") == 45


def test_a_regular_expression_sees_lines(tmp_path: Path) -> None:
    assert read(tmp_path, "x 1\ny 2\nz 3\n", regex=r"^y (\d+)$") == 2


def test_a_file_of_the_run_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "load.json").write_text('{"ms": 7}')
    assert read(tmp_path, "", json_path="ms", file="page/load.json") == 7


@pytest.mark.parametrize(
    ("text", "fields", "words"),
    [
        ("", {"json_path": "a"}, "client.out: neither the whole nor its last line is JSON"),
        ("[1]", {"json_path": "a"}, r"json_path a: no a at the top \(a list of 1\)"),
        ('{"a": [1]}', {"json_path": "a.1"}, r"no 1 in a \(a list of 1\)"),
        ('{"a": {"b": 1}}', {"json_path": "a.c"}, r"no c in a \(there: b\)"),
        ('{"a": 1}', {"json_path": "a.c"}, r"no c in a \(there: '1'\)"),
        ('{"a": "12"}', {"json_path": "a"}, "'12' is no number"),
        ('{"a": true}', {"json_path": "a"}, "'True' is no number"),
        ('{"a": null}', {"json_path": "a"}, "'None' is no number"),
        ('{"a": NaN}', {"json_path": "a"}, "'nan' is no number"),
        ("x", {"regex": r"(\d+) ms"}, r"no match of regex \(\\d\+\) ms"),
        ("1,024 ms", {"regex": r"(\S+) ms"}, "'1,024' is no number"),
        ("inf ms", {"regex": r"(\S+) ms"}, "'inf' is no number"),
        (" ms", {"regex": r"(\d+)? ms"}, "'None' is no number"),
        ("", {"json_path": "a", "file": "none"}, "none: No such file or directory"),
    ],
)
def test_what_is_no_number_fails_the_run_and_says_why(
    text: str, fields: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(TransferFailed, match=f"measure mine: .*{words}"):
        read(tmp_path, text, **fields)


JSON = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@given(JSON, st.data())
def test_every_place_has_a_path(document: Any, data: st.DataObject) -> None:
    path, value = [], document
    while value and isinstance(value, list | dict):
        keys = list(range(len(value))) if isinstance(value, list) else list(value)
        key = data.draw(st.sampled_from(keys))
        path.append(str(key))
        value = value[key]
    if path:
        assert value_at(document, ".".join(path)) == value


@given(JSON, st.text())
def test_no_path_breaks_it(document: Any, path: str) -> None:
    try:
        value_at(document, path)
    except ValueError as error:
        assert f"json_path {path}: no " in str(error)
