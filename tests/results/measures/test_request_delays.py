"""Delays of requests with those that had no answer."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.delays import answer_p95_ms, answer_worst_ms


def table(directory: Path, *delays: str) -> Path:
    rows = [f"{number},0,0,{delay}" for number, delay in enumerate(delays, 1)]
    lines = ["request,sent_s,answered_s,delay_ms", *rows, ""]
    (directory / "request-response.csv").write_text("\n".join(lines))
    return directory


def test_of_answered_requests_they_are_the_greatest_and_the_95th_of_100(tmp_path: Path) -> None:
    run = table(tmp_path, *(str(delay) for delay in range(100, 0, -1)))
    assert (answer_worst_ms(run), answer_p95_ms(run)) == (100, 95)


def test_a_request_without_answer_is_infinitely_late(tmp_path: Path) -> None:
    run = table(tmp_path, "", *(str(delay) for delay in range(1, 40)))
    assert (answer_worst_ms(run), answer_p95_ms(run)) == (math.inf, 38)


@pytest.mark.parametrize("text", ["", "request,delay\n1,2\n", "delay_ms\n", "delay_ms\nsoon\n"])
def test_a_broken_table_is_one_error_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "request-response.csv").write_text(text)
    with pytest.raises(ResultError, match=r"request-response\.csv"):
        answer_worst_ms(tmp_path)
