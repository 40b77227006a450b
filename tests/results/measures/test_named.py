"""Measures by their names, of a campaign's table and the files of its runs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc import InputError, run_measures
from minitopo_dc.results import ResultError, with_measures
from minitopo_dc.results.measures import named
from minitopo_dc.results.measures.delays import answer_p95_ms, answer_worst_ms


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


def test_a_flow_s_rates_are_read_from_the_columns_of_a_python_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "arrived_copies", lambda _: {1: 2.0})
    rates = {"flow_1_goodput_mbps": [10.0], "flow_2_goodput_mbps": [5.0]}
    runs = pd.DataFrame({"status": ["ok"], "run": ["runs/a"], **rates})
    more = with_measures(runs, "flow_2_mbps", "links_flow_1_mbps", "links_jain_index")
    assert more.iloc[0, -3:].tolist() == [5.0, 20.0, pytest.approx(25**2 / (2 * (400 + 25)))]


def requests(directory: Path, *delays: str) -> Path:
    directory.mkdir()
    rows = [f"{number},0,0,{delay}" for number, delay in enumerate(delays, 1)]
    lines = ["request,sent_s,answered_s,delay_ms", *rows, ""]
    (directory / "request-response.csv").write_text("\n".join(lines))
    return directory


def test_a_request_without_answer_is_infinitely_late(tmp_path: Path) -> None:
    run = requests(tmp_path / "all", *(str(delay) for delay in range(100, 0, -1)))
    assert (answer_worst_ms(run), answer_p95_ms(run)) == (100, 95)
    run = requests(tmp_path / "some", "", *(str(delay) for delay in range(1, 40)))
    assert (answer_worst_ms(run), answer_p95_ms(run)) == (math.inf, 38)


@pytest.mark.parametrize("text", ["", "request,delay\n1,2\n", "delay_ms\n", "delay_ms\nsoon\n"])
def test_a_broken_table_of_requests_is_one_error_with_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "request-response.csv").write_text(text)
    with pytest.raises(ResultError, match=r"request-response\.csv"):
        answer_worst_ms(tmp_path)
