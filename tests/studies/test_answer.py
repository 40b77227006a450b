"""The report of the answer, on made-up runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.studies.digests import module


def _report() -> Any:
    return module("which_is_better", "answer_report")


def test_a_rule_that_separates_both_sides_loses_nothing_where_it_was_not_made() -> None:
    sizes = np.tile([1.0, 10.0], 20)
    index = pd.MultiIndex.from_arrays([range(40), sizes], names=["point", "size_mb"])
    ratios = pd.Series(np.where(sizes > 5, 2.0, 0.5), index)
    table = _report().rule("made up", ratios)
    assert table["rule"].iloc[0].startswith("DC where size_mb is above ")
    regrets = [float(text.split()[0]) for text in table["regret held out (%)"]]
    assert regrets[0] == 0
    assert regrets[1] + regrets[2] == pytest.approx(
        50, abs=0.2
    )  # half the goodput, where it is wrong


def test_legs_with_jitter_have_the_best_of_their_own_dual_connectivities() -> None:
    ways = {"dc-jitter": 2.0, "dc-papers": 1.0, "mpquic": 1.0, "leg-1": 1.0}
    runs = pd.DataFrame(
        [("jitter", way, 1, 5.0, True, "ok", mbps) for way, mbps in ways.items()],
        columns=["experiment", "way", "point", "jitter_ms", "reorder", "status", "goodput_mbps"],
    )
    runs.attrs["labels"] = ["experiment", "way", "point", "jitter_ms", "reorder"]
    sides = module("which_is_better", "report").air_sides(runs)
    assert sides["jitter of 5 ms out of order"].tolist() == [2.0]


def test_what_others_get_is_over_what_they_get_beside_one_more_such() -> None:
    runs = pd.DataFrame(
        [
            (point, way, "2", "ok", own, first, second)
            for point in (1, 2)
            for way, own, first, second in (
                ("leg-1", 4.0, 3.0, 5.0),
                ("dc", 8.0, 6.0, 6.0),
                ("multipath", 12.0, 2.0, 2.0),
                ("multipath, LIA", 4.0, 4.0, 4.0),
            )
        ],
        columns=[
            *("point", "way", "changed", "status"),
            *(f"flow_{flow}_goodput_mbps" for flow in (1, 2, 3)),
        ],
    )
    table = _report().others(runs)
    assert [text.split()[0] for text in table["own"]] == ["2.00", "3.00", "1.00"]
    assert [text.split()[0] for text in table["theirs"]] == ["1.50", "0.50", "1.00"]
