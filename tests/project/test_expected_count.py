"""The range of counts that are to be expected, against SciPy's distributions."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from minitopo_dc.statistics import expected_count


def ends(distribution: Any) -> tuple[int, int]:
    return distribution.ppf(0.025), distribution.ppf(0.975)


@pytest.mark.parametrize(("packets", "share"), [(4733, 0.001), (20, 0.5), (900, 0.3), (3, 0.9)])
def test_independent_events_are_binomial(packets: int, share: float) -> None:
    found = expected_count(packets * share, packets * share * (1 - share))
    assert (found.low, found.high) == ends(stats.binom(packets, share))


def test_as_much_variance_as_mean_is_poisson() -> None:
    found = expected_count(6.0, 6.0)
    assert (found.low, found.high) == ends(stats.poisson(6.0))


def test_more_variance_than_mean_is_negative_binomial() -> None:
    found = expected_count(6.0, 18.0)
    assert (found.low, found.high) == ends(stats.nbinom(3, 1 / 3))


def test_many_are_normal() -> None:
    found = expected_count(10_000, 10_000)
    assert (found.low, found.high) == (9_804, 10_196)


@pytest.mark.parametrize("all_or_none", [0, 7])
def test_what_is_sure_has_no_range(all_or_none: int) -> None:
    found = expected_count(all_or_none, 0)
    assert (found.low, found.high) == (all_or_none, all_or_none)


def test_in_words() -> None:
    assert expected_count(4.733, 4.728).words == "4.73 ± 2.2 (95 % range 1 to 9)"
