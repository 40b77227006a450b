"""Parameters of a campaign's file: where they stand, and what the command line may give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.file.expressions import compute
from minitopo_dc.campaign.file.parameters import changed, numbers_of, placed
from minitopo_dc.settings import SettingsError


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("it's a#b.csv", "it's a#b.csv"),
        (-2, -2),
        (0.47, 0.47),
        (None, None),
        (True, True),
        ([1, "a"], [1, "a"]),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_a_parameter_is_a_value_within_an_expression(value: Any, written: Any) -> None:
    assert compute(placed("= [$x][0]", {"x": value}), {}) == written


def test_a_negative_number_keeps_its_sign_under_a_power() -> None:
    assert compute(placed("= $x ** 2", {"x": -3}), {}) == 9


def test_the_longest_name_of_a_parameter_is_the_one_that_is_meant() -> None:
    assert placed("= $a-b + $a - $a_b", {"a": 1, "a-b": 2, "a_b": 3}) == "= 2 + 1 - 3"


def test_a_parameter_before_a_minus_is_that_parameter() -> None:
    assert placed("= $a-1", {"a": 5}) == "= 5-1"


def test_a_text_that_is_no_expression_keeps_its_marks() -> None:
    assert placed("costs $a", {"a": 5}) == "costs $a"


def test_a_parameter_alone_is_its_value() -> None:
    assert placed({"trace": ["$a", 1]}, {"a": {"x": 2}}) == {"trace": [{"x": 2}, 1]}


@pytest.mark.parametrize("parameters", [{}, {"lte_1": "a.csv"}])
def test_an_unknown_parameter_in_an_expression_is_an_error(parameters: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"\$lte: unknown; allowed: (lte_1|none)"):
        placed("= $lte", parameters)


def test_a_file_of_the_command_line_is_relative_to_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.csv").write_text("0,5\n")
    monkeypatch.chdir(tmp_path)
    assert changed({"a": "x.csv"}, [("a", "mine.csv")]) == {"a": str(tmp_path / "mine.csv")}


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("0.5", 0.5), ("8s", "8s"), ("nan", "nan")])
def test_a_number_in_place_of_a_number_is_a_number(text: str, number: Any) -> None:
    assert changed({"a": 5}, [("a", text)]) == {"a": number}


def test_a_number_in_place_of_a_text_stays_a_text() -> None:
    assert changed({"column": "down"}, [("column", "5")]) == {"column": "5"}


def test_a_text_in_place_of_a_number_is_refused_within_an_expression() -> None:
    values = changed({"a": 5}, [("a", "8s")])
    with pytest.raises(SettingsError, match="--parameter a: '8s': allowed: a number"):
        placed("= 2 * $a", values, numbers_of({"a": 5}))
