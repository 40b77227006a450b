"""The verdict on made-up runs: who is chosen, when it is decided, what is said."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from minitopo_dc.advice import base_of, overhead_s, sequence
from minitopo_dc.advice.candidates import candidates_of, judged_of
from minitopo_dc.advice.sequence import Advice, Runs, decide
from minitopo_dc.results.measures.limiting_factors import Reason
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.scenario import Scenario
from tests.advice.made_up import LEGS, Goodput, by_name, made_up, name_of

SHOWN_RUNS = 2 * 6
"""Two legs, three Dual Connectivities, multipath."""
DC = "DC (deployable, Xn 5 ms)"


def decided(root: Path, goodput: Goodput, number: int | None = None) -> Advice:
    """Decide by made-up runs; with a number, the time is up after so many."""
    base = base_of(LEGS)
    (stack,) = candidates_of(base, [("quic-picoquic", "mpquic-picoquic")], 5)
    until = math.inf if number is None else 0.0
    judged, workers = judged_of(base.workload), made_up(goodput, number)
    return decide(stack, Runs(root, stack.ways, judged, workers, until=until))


def test_the_better_side_is_named_with_numbers_an_interval_and_seeds(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.005, deployable=33, multipath=30, leg_1=20))
    assert (found.outcome, found.stopped) == ("better", "decided")
    what, how_sure, _primary, beside = found.sentences()
    assert what.startswith(f"{DC} 33.0, MP-QUIC 30.0 Mbit/s: {DC} is 10 % faster (")
    assert what.endswith(" %, 4 seeds).")
    assert beside.startswith("Beside them, with the first 2 seeds: DC (papers') ")
    assert how_sure == "The difference is beyond the margin of 5 %."
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["outcome"] == "dual connectivity"
    assert told["found"]["low"] < told["found"]["difference"] < told["found"]["high"]
    assert told["found"]["difference"] == pytest.approx(10, abs=1)
    assert (told["difference_unit"], told["found"]["confidence"]) == ("%", 0.975)


def test_multipath_is_better_and_seeds_that_change_nothing_give_no_interval(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(deployable=30, multipath=40, leg_1=20))
    assert found.outcome == "worse"
    sentence, how_sure, *_ = found.sentences()
    faster = "MP-QUIC is 33 % faster (the same with 4 seeds)."
    assert sentence == f"{DC} 30.0, MP-QUIC 40.0 Mbit/s: {faster}"
    assert how_sure == "The difference is beyond the margin of 5 %."


def test_less_than_the_margin_is_a_tie_however_sure_it_is(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.0001, deployable=31, multipath=30, leg_1=20))
    assert found.outcome == "tie"
    assert found.sentence.startswith("A tie: ")
    assert f": {DC} is 3.3 % faster (" in found.sentence
    assert found.sentence.endswith(", 4 seeds).")
    assert list(found.sentences())[1] == "The difference is within the margin of 5 %."


@pytest.mark.parametrize(("scatter", "stopped"), [(0.05, "most seeds"), (0.001, "border")])
def test_what_is_on_the_border_is_not_enough_evidence(
    tmp_path: Path, scatter: float, stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.advice.sequence.MAX_SEEDS", 14)
    found = decided(tmp_path, by_name(scatter, deployable=31.5, multipath=30, leg_1=20))
    assert (found.outcome, found.stopped) == ("open", stopped)
    assert found.sentence.startswith("Not enough evidence: ")
    how_sure = list(found.sentences())[1]
    assert how_sure.endswith("more --time does not help; choose as for a tie, or set --margin.")


def test_no_time_is_not_enough_evidence_and_more_time_goes_on(tmp_path: Path) -> None:
    goodput = by_name(0.03, deployable=30, multipath=30, leg_1=20)
    first = decided(tmp_path, goodput, 1)  # a run of one side is no win of who came first
    assert first.sentence == "Not enough evidence, as the time was up."
    short = decided(tmp_path, goodput, SHOWN_RUNS + 1)
    assert (short.outcome, short.stopped) == ("open", "time")
    assert "longer --time" in list(short.sentences())[1]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/result.json")}
    assert len(kept) == SHOWN_RUNS + 2
    assert decided(tmp_path, goodput).outcome == "tie"
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_a_leg_that_is_better_alone_is_a_warning(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(deployable=20, multipath=25, leg_1=29))
    warning = "Warning: leg 1 alone was better than both with the first 2 seeds: 29.0 Mbit/s."
    assert warning in list(found.sentences())
    found = decided(tmp_path / "ideal", by_name(ideal=100))  # which is never in the verdict
    assert (found.outcome, found.dual) == ("tie", DC)
    assert "DC (ideal) 100 Mbit/s." in found.beside[1]


def test_runs_that_fail_are_in_no_number_and_are_told(tmp_path: Path) -> None:
    def goodput(scenario: Scenario) -> float:
        fails = name_of(scenario) == "multipath" and scenario.seed == 4
        return 0.0 if fails else by_name(0.001, multipath=11)(scenario)

    found = decided(tmp_path, goodput)
    assert found.look is not None
    assert (found.outcome, found.look.paired.pairs) == ("worse", 5)
    what, *others = found.sentences()
    assert "MP-QUIC: 1 of 6 runs failed and are left out: it broke" in others
    # Five are 10 % faster, and the sixth is taken to be as much slower.
    assert ", 5 of 6 seeds); 1 failed: if it went the other way there, -" in what


def test_a_side_that_always_fails_loses(tmp_path: Path) -> None:
    found = decided(tmp_path, lambda each: 0.0 if each.mode == "multipath" else 10.0)
    assert found.outcome == "better"
    assert found.sentence == "DC is better, as runs of multipath failed."
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["found"] is None


@pytest.mark.parametrize("seed", range(3))
def test_equal_sides_are_not_told_apart(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.advice.sequence.MAX_SEEDS", 10)
    noise = by_name(0.2)

    def goodput(scenario: Scenario) -> float:
        return noise(scenario.model_copy(update={"seed": 1000 * seed + scenario.seed}))

    assert decided(tmp_path, goodput).outcome in ("tie", "open")


def test_what_held_the_slower_side_back_has_the_values_of_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost_more(slower: Path, faster: Path) -> Reason:
        modes = [RunResult.load(run).mode for run in (slower, faster)]
        assert modes == ["multipath", "dc"]
        return Reason("lost", 0.046, 0.021)

    monkeypatch.setattr("minitopo_dc.advice.sequence.reason", lost_more)
    found = decided(tmp_path, by_name(deployable=33, multipath=30, leg_1=20))
    assert found.why == "MP-QUIC lost more packets (4.6 % for 2.1 %)."


def test_seeds_are_added_as_far_as_the_time_goes_by_what_the_last_ones_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run takes 1 s: 2 seeds of 6 ways, then 2, 2, 3, 5 of both, and 2 as there is no room."""
    clock, noise = [0.0], by_name(0.2)
    monkeypatch.setattr(sequence, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def goodput(scenario: Scenario) -> float:
        clock[0] += 1
        return noise(scenario)

    base = base_of(LEGS)
    (stack,) = candidates_of(base, [("quic-picoquic", "mpquic-picoquic")], 5)
    runs = Runs(tmp_path, stack.ways, judged_of(base.workload), made_up(goodput), until=40)
    found = decide(stack, runs)
    assert (clock[0], found.stopped) == (40, "time")
    assert found.look is not None
    assert found.look.paired.pairs == 16
    assert "; a seed takes 2.0 s here and the time is up" in list(found.sentences())[1]


@pytest.mark.parametrize(("imports_s", "kept_s"), [(0.5, 8), (2, 8), (10, 40)])
def test_a_loaded_machine_keeps_more_time_for_what_is_behind_the_runs(
    imports_s: float, kept_s: float
) -> None:
    assert overhead_s(imports_s) == kept_s
