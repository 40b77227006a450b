"""What is said of losses that are so few that the seed decides, on made-up runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitopo_dc.results import load_results
from minitopo_dc.results.measures.expected_losses import few_losses
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import result, save, save_element


def run(root: Path, number: int, packets: int, lost: int, **downlink: Any) -> None:
    """A run over a leg that lost so many packets, and another that carried none."""
    legs = [{"downlink": {"rate_mbps": 20} | downlink}] * 2
    made = Scenario.check({"transport": "quic", "mode": "dc", "legs": legs}, "test")
    directory = save(root, result(seed=number, repetition=number))
    made.save(directory / "scenario.yaml")
    zeros = {"time_ns": 0, "delivered_bytes": 0, "dropped_queue": 0, "dropped_loss": 0}
    counted = {"pushed_packets": packets + 7, "dropped_queue": 7, "dropped_loss": lost}
    rows = [{**zeros, "leg": 1, **counted}, {**zeros, "leg": 2, "pushed_packets": 0}]
    save_element(directory, "gnb", "legs", rows)


def test_runs_of_different_lengths_have_the_shortest_and_the_longest(tmp_path: Path) -> None:
    run(tmp_path, 1, 1000, 2, loss_percent=0.1)
    run(tmp_path, 2, 3000, 2, loss_percent=0.1)
    (sentence,) = few_losses(load_results(tmp_path))
    assert "of 1,000 packets (the fewest of a run), 3.00 " in sentence
    assert "of 3,000 packets (the most). Lost: 2. More repetitions" in sentence


def test_a_run_without_its_files_says_nothing(tmp_path: Path) -> None:
    save(tmp_path, result())
    assert few_losses(load_results(tmp_path)) == []
