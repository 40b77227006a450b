"""What a comparison says in sentences, on made-up goodputs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc.results.measures import signs
from minitopo_dc.results.measures.sentences import REASONS, reason_sentence
from minitopo_dc.results.measures.verdict import Finding, findings
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.results.tables.runs import results_table
from tests.results.measures.test_signs import PLAIN
from tests.results.synthetic_runs import no_result, result

STACKS = {"quic-picoquic": "picoquic", "mpquic-picoquic": "picoquic", "tcp": "Linux"}


def row(transport: str, mode: str, *goodputs: float, variant: str = "") -> list[RunResult]:
    return [
        result(transport, mode, goodput_mbps=each, seed=seed, repetition=seed, variant=variant)
        for seed, each in enumerate(goodputs, start=1)
    ]


def found(*rows: list[RunResult]) -> list[Finding]:
    return findings(results_table([run for each in rows for run in each]), STACKS)


def test_the_fastest_dc_is_set_against_multipath_seed_by_seed() -> None:
    (finding,) = found(
        row("quic-picoquic", "dc", 10, 20, 40, variant="batch"),
        row("quic-picoquic", "dc", 22, 44, 88, variant="least-delay"),
        row("mpquic-picoquic", "multipath", 20, 40, 80),
    )
    assert (finding.first, finding.second, finding.pairs) == ("DC (least-delay)", "MP-QUIC", 3)
    assert (finding.ratio, finding.low, finding.high) == pytest.approx((1.1, 1.1, 1.1))
    assert finding.sentence == (
        "DC (least-delay) 51.3, MP-QUIC 46.7 Mbit/s: "
        "DC (least-delay) is 10 % faster (the same with 3 seeds)."
    )


def test_a_difference_that_is_not_printed_is_none() -> None:
    rows = row("tcp", "sc", 20, 30, 40), row("tcp", "dc", 19.999, 29.998, 39.997)
    assert not found(*rows)
    (finding,) = found(
        row("quic-picoquic", "dc", 19.999, 29.998, 39.997),
        row("mpquic-picoquic", "multipath", 20, 30, 40),
    )
    assert ": no clear difference (" in finding.sentence


def test_a_ratio_of_some_seeds_says_of_how_many() -> None:
    failed = no_result("mpquic-picoquic", "multipath", "failed", "fell back", seed=3)
    (finding,) = found(
        row("quic-picoquic", "dc", 10, 11, 12),
        [*row("mpquic-picoquic", "multipath", 20, 23), failed],
    )
    assert (finding.pairs, finding.seeds) == (2, 3)
    assert finding.sentence.endswith("%, 2 of 3 seeds).")
    assert "MP-QUIC is 104 % faster (" in finding.sentence


def test_scatter_over_seeds_leaves_it_open() -> None:
    (finding,) = found(
        row("quic-picoquic", "dc", 20, 50, 60), row("mpquic-picoquic", "multipath", 30, 40, 50)
    )
    assert finding.low < 1 < finding.high
    assert ": no clear difference (-" in finding.sentence


def test_one_seed_has_no_interval() -> None:
    (finding,) = found(row("quic-picoquic", "dc", 10), row("mpquic-picoquic", "multipath", 20))
    assert math.isnan(finding.low)
    assert "MP-QUIC is 100 % faster (1 seed, so no interval)." in finding.sentence
    assert json.loads(json.dumps(finding.to_json(), allow_nan=False))["low"] is None


def test_dc_below_one_leg_alone_is_a_warning() -> None:
    (warning,) = found(
        row("tcp", "sc", 79, 78, 80, variant="leg 1"),
        row("tcp", "dc", 22, 21, 23, variant="batch"),
        row("tcp", "dc", 90, 91, 89, variant="least-delay"),
    )
    assert warning.warning
    assert (warning.first, warning.second) == ("DC (batch)", "one leg alone (leg 1)")
    assert warning.sentence == (
        "Warning: DC (batch) 22.0, one leg alone (leg 1) 79.0 Mbit/s: "
        "one leg alone (leg 1) is 259 % faster (231 to 290 %, 3 seeds)."
    )


def test_the_best_dc_against_multipath_is_first_and_stacks_are_named_where_there_are_several() -> (
    None
):
    made = found(
        row("tcp", "dc", 10, 11, variant="batch"),
        row("tcp", "dc", 20, 22, variant="credit"),
        row("quic-picoquic", "dc", 10, 11),
        row("mpquic-picoquic", "multipath", 20, 22),
    )
    assert [each.second for each in made] == ["MP-QUIC"]
    splits = found(
        split_row("batch", 200.0, 10, 11),
        split_row("credit", 200.0, 12, 14),
        row("mpquic-picoquic", "multipath", 20, 23),
        row("tcp", "dc", 9, 9.5),
        row("tcp", "sc", 20, 20.5),
    )
    assert splits[0].second == "MP-QUIC"
    stacks = {each.second: each.sentence.partition(" DC")[0] for each in splits}
    assert stacks == {
        "MP-QUIC": "picoquic:",
        "DC (batch, t-Reordering 200.0 ms)": "picoquic:",
        "one leg alone": "Warning: Linux:",
    }


@pytest.mark.parametrize("name", REASONS)
def test_every_number_that_tells_a_reason_has_a_sentence_of_its_own(name: str) -> None:
    assert reason_sentence("DC", name, 0.5, 0.25).startswith(f"DC {REASONS[name].did} (")
    assert " for " not in reason_sentence("DC", name, 0.5, math.nan).rpartition("(")[2]
    assert REASONS.keys() == signs.REASONS.keys()


def test_other_stacks_are_not_set_against_each_other() -> None:
    assert not found(row("tcp", "dc", 10, 11), row("mpquic-picoquic", "multipath", 20, 21))


def test_runs_without_goodput_count_for_nothing() -> None:
    failed = no_result("mpquic-picoquic", "multipath", "disturbed", "this machine: ...", seed=1)
    assert not found(row("quic-picoquic", "dc", 10, 11), [failed])


def test_the_reason_is_that_of_the_slower_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from minitopo_dc.results.measures import verdict

    runs = [
        result("tcp", "sc", goodput_mbps=79, directory="fast"),
        result("tcp", "dc", goodput_mbps=22, directory="slow"),
    ]
    signs = {Path("slow"): replace(PLAIN, lost=0.05), Path("fast"): PLAIN}
    monkeypatch.setattr(verdict, "signs", signs.__getitem__)
    (finding,) = found(runs)
    assert finding.sentence.endswith(". DC lost more packets (5 % for 0 %).")
    assert finding.to_json()["sign"] == "lost"


def split_row(split: str, t_reordering_ms: float | str, *goodputs: float) -> list[RunResult]:
    settings = {"pdcp.split": split, "pdcp.t_reordering_ms": t_reordering_ms}
    variant = f"{split}, t-Reordering {t_reordering_ms} ms"
    runs = row("quic-picoquic", "dc", *goodputs, variant=variant)
    return [replace(each, settings=settings) for each in runs]


def names(*rows: list[RunResult]) -> list[tuple[str, str]]:
    return [(each.first, each.second) for each in found(*rows)]


def test_the_best_adaptive_split_is_set_against_the_papers_of_the_same_t_reordering() -> None:
    assert names(
        split_row("batch", 50.0, 10, 11),
        split_row("batch", 200.0, 12, 13),
        split_row("least-delay", 50.0, 20, 21),
        split_row("credit", 50.0, 15, 16),
    ) == [("DC (least-delay, t-Reordering 50.0 ms)", "DC (batch, t-Reordering 50.0 ms)")]


def test_without_the_papers_split_the_two_best_are_set_against_each_other() -> None:
    rows = [split_row(name, 200.0, at, at + 1) for name, at in (("credit", 9), ("threshold", 7))]
    third = split_row("least-delay", 200.0, 20, 21)
    first, second = "least-delay", "credit"
    same = "t-Reordering 200.0 ms"
    assert names(*rows, third) == [(f"DC ({first}, {same})", f"DC ({second}, {same})")]


def test_the_shortest_t_reordering_is_set_against_the_longest() -> None:
    values: tuple[float | str, ...] = ("infinity", 50.0, 200.0, "adaptive")
    rows = [split_row("batch", value, 10 + at, 11 + at) for at, value in enumerate(values)]
    assert names(*rows) == [
        ("DC (batch, t-Reordering 50.0 ms)", "DC (batch, t-Reordering infinity ms)")
    ]
