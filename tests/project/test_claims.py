"""Claims about points: numbers over medians, intervals, and verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc import claims
from minitopo_dc.claims import Claim, Known, Points


def runs(values: dict[str, list[list[float]]], status: str = "ok") -> pd.DataFrame:
    """Return runs of ways: for each a list over points, of values of seeds."""
    rows = [
        {"network": point, "way": way, "seed": seed, "goodput_mbps": value, "status": status}
        for way, points in values.items()
        for point, seeds in enumerate(points)
        for seed, value in enumerate(seeds, start=1)
    ]
    return pd.DataFrame(rows)


def gain(known: Known) -> dict[str, Any]:
    return {"gain": known["MP-QUIC"] / known["QUIC"] - 1}


def points(table: pd.DataFrame) -> Points:
    return claims.points(table, ["network"], "way", "goodput_mbps", gain)


def test_a_number_is_of_the_medians_over_seeds() -> None:
    seen = points(runs({"QUIC": [[1, 2, 9]], "MP-QUIC": [[3, 4, 100]]}))
    assert seen.whole["gain"].tolist() == [1.0]
    assert [part["gain"].round(2).tolist() for part in seen.by_seed] == [[2.0], [1.0], [10.11]]


def test_a_run_that_is_not_ok_does_not_count() -> None:
    good = runs({"QUIC": [[1, 1]], "MP-QUIC": [[2, 2]]})
    bad = runs({"MP-QUIC": [[50, 50]]}, status="failed").assign(seed=[3, 4])
    assert points(pd.concat([good, bad])).whole["gain"].tolist() == [1.0]


def test_a_way_without_runs_is_not_run() -> None:
    claim = Claim("more", least=0).number(np.median, points(runs({"QUIC": [[1], [1]]})), "gain")
    assert (claim.verdict, claim.points, claim.effect) == ("not run", 0, "")


def test_a_point_that_lacks_a_way_does_not_count() -> None:
    table = runs({"QUIC": [[1], [1], [1]], "MP-QUIC": [[2], [2]]})
    claim = Claim("more", least=0).every(points(table), "gain")
    assert (claim.points, claim.of_points) == (2, "2 of 3")


@pytest.mark.parametrize(
    ("least", "most", "verdict"),
    [(0.5, 2, "holds"), (1.5, 3, "does not hold"), (0.98, 3, "undecided")],
)
def test_a_number_is_judged_by_its_interval(least: float, most: float, verdict: str) -> None:
    table = runs({"QUIC": [[1.0]] * 4, "MP-QUIC": [[1.95], [1.97], [2.0], [2.02]]})
    claim = Claim("more", least=least, most=most).number(np.mean, points(table), "gain")
    assert claim.verdict == verdict
    assert claim.value == pytest.approx(0.985)
    assert claim.interval.low < 0.985 < claim.interval.high


def test_a_single_point_has_student_s_interval_over_its_seeds() -> None:
    table = runs({"QUIC": [[1, 1, 1]], "MP-QUIC": [[1.9, 2.0, 2.1]]})
    claim = Claim("more", least=0.5).number(np.mean, points(table), "gain")
    assert claim.interval.low == pytest.approx(1 - 4.3027 * 0.1 / 3**0.5, abs=1e-4)
    assert claim.verdict == "holds"


def test_one_run_of_one_point_is_not_enough() -> None:
    seen = points(runs({"QUIC": [[1]], "MP-QUIC": [[2]]}))
    assert Claim("more", least=0).number(np.mean, seen, "gain").verdict == "not enough evidence"
    assert Claim("more", least=0).every(seen, "gain").verdict == "not enough evidence"


def test_one_point_refutes_what_is_claimed_of_every_one() -> None:
    seen = points(runs({"QUIC": [[1], [1]], "MP-QUIC": [[3], [0.9]]}))
    claim = Claim("more", least=0).every(seen, "gain")
    assert claim.verdict == "does not hold"
    assert claim.value == pytest.approx(-0.1)
    assert Claim("at most", most=2).every(seen, "gain").verdict == "holds"


def test_a_share_has_wilson_s_interval() -> None:
    table = runs({"QUIC": [[1.0]] * 20, "MP-QUIC": [[2.0]] * 13 + [[0.5]] * 7})
    claim = Claim("more", least=0.6).share(lambda more: more > 0, points(table), "gain")
    assert claim.effect == "0.650 (0.433 to 0.819)"
    assert claim.verdict == "undecided"


def test_a_statement_of_a_file_has_its_text_source_and_limits(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text("key,claim,source,least,most\nmore,it gains,table 2,0.1,\nless,or not,,,0\n")
    said, seen = claims.statements(file), points(runs({"QUIC": [[1], [1]], "MP-QUIC": [[2], [3]]}))
    more = said["more"].every(seen, "gain")
    assert (more.text, more.source, more.limit) == ("it gains", "table 2", "at least 0.100")
    assert more.verdict == "holds"
    less = said["less"].share(lambda gain: gain > 5, seen, "gain")
    assert (less.source, less.limit, less.value) == ("", "at most 0", 0)
    assert said["less"].number(np.median, seen, "gain").verdict == "does not hold"


def test_several_labels_and_measures_are_joined() -> None:
    table = runs({"QUIC": [[1], [2]], "MP-QUIC": [[2], [6]]}).assign(queue=50, loss=0.5)
    seen = claims.points(
        table,
        ["network"],
        ["way", "queue"],
        ["goodput_mbps", "loss"],
        lambda known: {"mbps": known["goodput_mbps", "MP-QUIC", 50],
                       "loss": known["loss", "QUIC", 50]},
    )  # fmt: skip
    assert seen.known("mbps", "loss").to_numpy().tolist() == [[2, 0.5], [6, 0.5]]


def test_verdicts_are_summed_up_in_a_sentence() -> None:
    seen = points(runs({"QUIC": [[1], [1]], "MP-QUIC": [[3], [0.9]]}))
    judged = [
        Claim("one", least=0).every(seen, "gain"),
        Claim("two", most=5).every(seen, "gain"),
        Claim("three", most=4).every(seen, "gain"),
    ]
    assert claims.summary([claims.table(judged)]) == "Of 3 claims 2 hold, 1 do not hold."
