"""Studies with few claims."""

from __future__ import annotations

import pytest

from tests.studies.digests import program, runs_of

MBPS = {"LTE alone": 15.0, "WiFi alone": 20.0, "DC 1:1": 22.0, "DC 1:2": 28.0,
        "DC least-delay": 32.0, "DC credit": 33.0, "MP-QUIC": 32.0}  # fmt: skip


@pytest.mark.parametrize(
    ("adaptive", "verdicts"),
    [
        (1.0, ["holds", "holds", "holds"]),
        (0.7, ["holds", "does not hold", "does not hold"]),
        (0.5, ["does not hold", "does not hold", "does not hold"]),
    ],
)
def test_claims_are_about_the_best_of_each_kind(adaptive: float, verdicts: list[str]) -> None:
    runs = runs_of("lwa", "quick")
    factor = runs["way"].map(lambda way: adaptive if way in ("DC least-delay", "DC credit") else 1)
    runs = runs.assign(goodput_mbps=runs["way"].map(MBPS) * factor, status="ok")
    judged = program("lwa")._module.judged(runs)
    assert [claim.verdict for claim in judged] == verdicts
