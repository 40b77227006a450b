"""Goodput and shares of capacity: how they follow from sizes and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results.metrics import capacity_share, goodput_mbps, jain_index

SIZES = st.integers(1, 10**12)
SECONDS = st.floats(1e-3, 1e5)


@given(SIZES, SECONDS, st.integers(1, 10**12), st.integers(2, 9))
def test_goodput_grows_with_size_as_it_falls_with_time_and_is_a_share_of_the_capacity(
    size: int, seconds: float, bits: int, factor: int
) -> None:
    assert goodput_mbps(10_000_000, 4.0) == 20.0
    once = goodput_mbps(size, seconds)
    assert once * 1e6 * seconds / 8 == pytest.approx(size)
    assert goodput_mbps(size * factor, seconds) == pytest.approx(once * factor)
    assert goodput_mbps(size, seconds * factor) == pytest.approx(once / factor)
    assert capacity_share(size, bits) == pytest.approx(once / (bits / seconds / 1e6))


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=9))
def test_jain_s_index_lies_between_one_has_all_and_all_have_the_same(goodputs: list[float]) -> None:
    assert 1 / len(goodputs) <= jain_index(goodputs) * (1 + 1e-9)
    assert jain_index(goodputs) <= 1 + 1e-9
    assert jain_index([*goodputs[:1] * 3]) == pytest.approx(1)
    assert jain_index([*goodputs[:1], 0, 0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_transfer_takes_time_and_shares_something(seconds: float) -> None:
    with pytest.raises(ValueError, match="completion_s"):
        goodput_mbps(1, seconds)
    with pytest.raises(ValueError, match="available_bits"):
        capacity_share(1, 0)
    with pytest.raises(ValueError, match="none is above 0"):
        jain_index([0, 0])
