"""The better leg alone, as it was measured."""

from __future__ import annotations

from typing import Any

import pytest

from minitopo_dc.results import results_table
from minitopo_dc.results.measures.better_leg import better_legs
from minitopo_dc.results.run_result import RunResult
from tests.results.synthetic_runs import no_result, result


def row(leg: int, *goodputs: float, transport: str = "tcp", **more: Any) -> list[RunResult]:
    return [
        result(transport, "sc", variant=f"leg {leg}", goodput_mbps=goodput, seed=seed, **more)
        for seed, goodput in enumerate(goodputs, start=1)
    ]


def shown(runs: list[RunResult]) -> list[tuple[str, str]]:
    kept = better_legs(results_table(runs)).runs
    return list(dict.fromkeys(zip(kept["transport"], kept["variant"], strict=True)))


def test_of_each_transport_the_leg_with_the_higher_mean_goodput_is_kept() -> None:
    runs = [
        *row(1, 8, 9),
        *row(2, 7, 12),
        *row(1, 5, transport="quic"),
        *row(2, 4, transport="quic"),
    ]
    better = better_legs(results_table([*runs, result("tcp", "dc", variant="batch")]))
    kept = dict(
        zip(
            better.runs["transport"] + " " + better.runs["mode"],
            better.runs["variant"],
            strict=True,
        )
    )
    assert kept == {"quic sc": "leg 1", "tcp sc": "leg 2", "tcp dc": "batch"}
    assert better.sentences[1] == (
        "tcp over one leg: leg 2 is the better one "
        "(goodput 9.50 Mbit/s; leg 1 goodput 8.50 Mbit/s)."
    )


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
    runs = [
        result("tcp", "sc", variant=f"leg {leg}", details={measure: value}, **none)
        for leg, value in ((1, first), (2, second))
    ]
    assert shown(runs) == [("tcp", better)]


def test_a_leg_with_failed_runs_is_neither_the_better_one_nor_left_out() -> None:
    failed = no_result("tcp", "sc", "failed", "died", variant="leg 1")
    assert shown([failed, *row(2, 3)]) == [("tcp", "leg 1"), ("tcp", "leg 2")]


def test_what_cannot_run_is_one_row_without_a_word() -> None:
    runs = [no_result("tcp", "sc", "unsupported", "no", variant=f"leg {leg}") for leg in (1, 2)]
    assert shown(runs) == [("tcp", "leg 1")]
    assert better_legs(results_table(runs)).sentences == []


def test_a_row_that_was_asked_for_alone_is_kept() -> None:
    assert shown([result("tcp", "sc"), result("quic", "sc", variant="leg 2")]) == [
        *(("quic", "leg 2"), ("tcp", ""))
    ]
