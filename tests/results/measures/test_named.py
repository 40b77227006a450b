"""Measures by name, of losses, and of the better leg."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc import InputError, load, run_measures
from minitopo_dc.results import ResultError, with_measures
from minitopo_dc.results.measures.account import few_losses
from minitopo_dc.results.measures.delays import answer_p95_ms, answer_worst_ms
from minitopo_dc.results.measures.row_pairs import better_legs
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import with_results
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import no_result, result, save, save_element, table_of


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


def test_throughput_counts_from_the_first_byte_on() -> None:
    times = {"completion_s": [2.1, 0.1], "first_byte_s": [0.1, 0.1]}
    runs = pd.DataFrame({"status": "ok", "run": ["a", "b"], "size_bytes": 1_000_000, **times})
    values = with_measures(runs, "throughput_mbps")["throughput_mbps"].tolist()
    assert values == pytest.approx([4, math.nan], nan_ok=True)


def test_a_misspelt_measure_is_named_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(InputError, match=r"given_upp; .*given_up\b"):
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


Rows = dict[str, list[RunResult]]


def row(leg: int, *goodputs: float, transport: str = "tcp") -> Rows:
    return {
        f"leg {leg} ({transport})": [
            result(transport, "sc", goodput_mbps=goodput, seed=seed)
            for seed, goodput in enumerate(goodputs, start=1)
        ]
    }


def shown(runs: Rows) -> list[str]:
    return list(dict.fromkeys(better_legs(table_of(runs))[0]["way"]))


def test_of_each_transport_the_leg_with_the_higher_mean_goodput_is_kept() -> None:
    runs = row(1, 8, 9) | row(2, 7, 12) | row(1, 5, transport="quic") | row(2, 4, transport="quic")
    runs["DC (batch)"] = [result("tcp", "dc")]
    assert shown(runs) == ["leg 2 (tcp)", "leg 1 (quic)", "DC (batch)"]
    assert better_legs(table_of(runs))[1][0] == (
        "The better leg alone is leg 2 (tcp): goodput 9.50 Mbit/s; leg 1 (tcp) goodput 8.50 Mbit/s."
    )


def test_only_ways_that_are_named_by_their_leg_are_left_out() -> None:
    runs = {"CUBIC": [result("tcp", "sc")], "Reno": [result("tcp", "sc", goodput_mbps=1.0)]}
    assert shown(runs) == ["CUBIC", "Reno"]


@pytest.mark.parametrize(
    ("workload", "measure", "first", "second", "better"),
    [
        ("request-response", "delay_median_ms", 120.0, 12.0, "leg 2"),
        ("request-response", "delay_median_ms", 12.0, 120.0, "leg 1"),
        ("video", "linear_qoe_mbps", 1.0, 2.0, "leg 2"),
        ("realtime", "late_share", 0.1, 0.2, "leg 1"),
    ],
)
def test_without_a_goodput_it_is_what_is_felt_or_the_lower_delay(
    workload: str, measure: str, first: float, second: float, better: str
) -> None:
    none: dict[str, Any] = {"workload": workload, "goodput_mbps": None}
    runs = {
        f"leg {leg}": [result("tcp", "sc", details={measure: value}, **none)]
        for leg, value in ((1, first), (2, second))
    }
    assert shown(runs) == [better]


def test_a_leg_with_failed_runs_is_neither_the_better_one_nor_left_out() -> None:
    failed = {"leg 1 (tcp)": [no_result("tcp", "sc", "failed", "died")]}
    assert shown(failed | row(2, 3)) == ["leg 1 (tcp)", "leg 2 (tcp)"]


def test_what_cannot_run_is_one_row_without_a_word() -> None:
    runs = {f"leg {leg}": [no_result("tcp", "sc", "unsupported", "no")] for leg in (1, 2)}
    assert shown(runs) == ["leg 1"]
    assert better_legs(table_of(runs))[1] == []


def run(root: Path, number: int, packets: int, lost: int, **downlink: Any) -> None:
    """A run over a leg that lost so many packets, and another that carried none."""
    legs = [{"downlink": {"rate_mbps": 20} | downlink}] * 2
    made = Scenario.check({"transport": "quic", "mode": "dc", "legs": legs}, "test")
    directory = save(root, result(seed=number))
    made.save(directory / "scenario.yaml")
    zeros = {"time_ns": 0, "delivered_bytes": 0, "dropped_queue": 0, "dropped_loss": 0}
    counted = {"pushed_packets": packets + 7, "dropped_queue": 7, "dropped_loss": lost}
    rows = [{**zeros, "leg": 1, **counted}, {**zeros, "leg": 2, "pushed_packets": 0}]
    save_element(directory, "gnb", "legs", rows)


def test_runs_of_different_lengths_have_the_shortest_and_the_longest(tmp_path: Path) -> None:
    run(tmp_path, 1, 1000, 2, loss_percent=0.1)
    run(tmp_path, 2, 3000, 2, loss_percent=0.1)
    (sentence,) = few_losses(with_results(load(tmp_path)))
    assert "of 1,000 packets (the fewest of a run), 3.00 " in sentence
    assert "of 3,000 packets (the most)." in sentence
    assert " lost 2 packets at random, so few that it depends on the seed; at 0.1 % " in sentence
    assert len(sentence) <= 2 * 110


def test_a_run_without_its_files_says_nothing(tmp_path: Path) -> None:
    save(tmp_path, result())
    assert few_losses(with_results(load(tmp_path))) == []
