"""The verdict on made-up runs: who is chosen, when it is decided, what is said."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from minitopo_dc.advice import Request, advise_on, base_of
from minitopo_dc.advice.criterion import criterion
from minitopo_dc.advice.sequence import Asked, decide
from minitopo_dc.advice.sides import QUIC, sides_of
from minitopo_dc.advice.verdict import Verdict
from minitopo_dc.scenario import Scenario
from tests.advice.made_up import LEGS, Clock, Goodput, by_name, made_up, name_of, runs


def decided(
    root: Path, goodput: Goodput, until: float = math.inf, clock: Clock | None = None
) -> Verdict:
    base = base_of(LEGS)
    (sides,) = sides_of(base, QUIC)
    asked = Asked(base, sides, criterion(base.workload), root)
    with runs(goodput, clock) as made:
        return decide(asked, made, until, str)


def test_the_better_side_is_named_with_numbers_and_an_interval(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.005, proportional=33, multipath_cubic=30, leg_1=20))
    assert found.outcome == "better"
    assert found.sentence.startswith("Dual Connectivity with proportional 3")
    assert ", MP-QUIC 30." in found.sentence or ", MP-QUIC 29." in found.sentence
    assert "Mbit/s: Dual Connectivity is better (+" in found.sentence
    assert found.stopped == "decided"


def test_multipath_is_the_better_one(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.005, least_delay=30, multipath_lia=40, leg_1=20))
    assert found.outcome == "worse"
    assert "MP-QUIC (lia) is better (-2" in found.sentence


def test_less_than_the_margin_is_a_tie_however_sure_it_is(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.0001, least_delay=31, multipath_cubic=30, leg_1=20))
    assert found.outcome == "tie"
    assert "a tie (+3.3 %" in found.sentence


@pytest.mark.parametrize(("scatter", "stopped"), [(0.05, "most seeds"), (0.001, "border")])
def test_what_is_on_the_border_is_not_enough_evidence(
    tmp_path: Path, scatter: float, stopped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.advice.sequence.MAX_SEEDS", 14)
    found = decided(tmp_path, by_name(scatter, least_delay=31.5, multipath_cubic=30, leg_1=20))
    assert (found.outcome, found.stopped) == ("open", stopped)
    assert "not enough evidence whether a tie or Dual Connectivity is better" in found.sentence
    reason = list(found.sentences())[1]
    assert "more --time does not help; choose as for a tie, or set --margin." in reason
    assert ("narrower than a quarter of the margin" in reason) == (stopped == "border")
    assert found.to_json()["stopped_reason"] == reason


def test_the_seeds_that_chose_are_not_in_the_verdict(tmp_path: Path) -> None:
    def goodput(scenario: Scenario) -> float:
        lucky = name_of(scenario) == "proportional" and scenario.seed <= 2
        return 100.0 if lucky else 10.0

    found = decided(tmp_path, goodput)
    assert found.dual is not None
    assert found.dual.variant == "proportional"
    assert found.outcome == "tie"


def test_no_time_is_not_enough_evidence_and_more_time_goes_on(tmp_path: Path) -> None:
    goodput = by_name(0.03, least_delay=30, multipath_cubic=30, leg_1=20)
    short = decided(tmp_path, goodput, until=45, clock=Clock())
    assert (short.outcome, short.stopped) == ("open", "time")
    assert any("--time" in each for each in short.sentences())
    kept = {path.name for path in tmp_path.iterdir()}
    long = decided(tmp_path, goodput)
    assert long.outcome == "tie"
    assert kept < {path.name for path in tmp_path.iterdir()}


def test_what_is_finished_says_that_nothing_was_run(tmp_path: Path) -> None:
    request, said = Request(base_of(LEGS), jobs=1), list[str]()
    execute = made_up(by_name(0.005, least_delay=33, multipath_cubic=30, leg_1=20))
    first, second = (
        advise_on(request, request.sides(), tmp_path, announced=said.append, execute=execute)
        for _ in range(2)
    )
    assert said == [
        "the verdict takes at most 60 s (--time)",
        "nothing was run: all runs of this verdict were there already",
    ]
    assert first.sentences == second.sentences


def test_no_time_for_a_run_of_each_is_no_win_of_who_came_first(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(), until=16, clock=Clock())
    assert found.outcome == "open"
    assert found.sentence.startswith("Not enough evidence, as the time was up")


def test_a_leg_that_is_better_alone_is_a_warning(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.005, least_delay=20, multipath_cubic=25, leg_1=29))
    assert any(
        each.startswith("Warning: leg 1 alone is better than both: 2") for each in found.sentences()
    )


def test_runs_that_fail_are_in_no_number_and_are_told(tmp_path: Path) -> None:
    def goodput(scenario: Scenario) -> float:
        fails = name_of(scenario) == "multipath cubic" and scenario.seed == 4
        return 0.0 if fails else by_name(0.001, multipath_cubic=11)(scenario)

    found = decided(tmp_path, goodput)
    assert found.found is not None
    assert found.outcome == "worse"
    assert "MP-QUIC: 1 of 8 runs failed and are left out: it broke" in list(found.sentences())


def test_a_side_that_always_fails_loses(tmp_path: Path) -> None:
    found = decided(tmp_path, lambda each: 0.0 if each.mode == "multipath" else 10.0)
    assert found.outcome == "better"
    assert "multipath had no run that is ok" in found.sentence
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["found"] is None


@pytest.mark.parametrize("seed", range(3))
def test_equal_sides_are_never_told_apart(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minitopo_dc.advice.sequence.MAX_SEEDS", 30)
    noise = by_name(0.2)
    found = decided(
        tmp_path,
        lambda each: noise(each.model_copy(update={"seed": 1000 * seed + each.seed})),
    )
    assert found.outcome in ("tie", "open")


def test_a_program_reads_it(tmp_path: Path) -> None:
    found = decided(tmp_path, by_name(0.005, least_delay=33, multipath_cubic=30, leg_1=20))
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["outcome"] == "dual connectivity"
    assert told["found"]["low"] < told["found"]["difference"] < told["found"]["high"]
    assert told["found"]["difference"] == pytest.approx(10, abs=1)
    assert told["found"]["difference_unit"] == "%"
