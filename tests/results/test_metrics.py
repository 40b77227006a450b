from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.results.metrics import capacity_share, goodput_mbps

SIZES = st.integers(1, 10**12)
SECONDS = st.floats(1e-3, 1e5)


def test_ten_megabytes_in_four_seconds_are_20_mbps() -> None:
    assert goodput_mbps(10_000_000, 4.0) == 20.0


@given(SIZES, SECONDS)
def test_goodput_times_time_is_the_size(size: int, seconds: float) -> None:
    assert goodput_mbps(size, seconds) * 1e6 * seconds / 8 == pytest.approx(size)


@given(SIZES, SECONDS, st.integers(2, 9))
def test_goodput_grows_with_size_as_it_falls_with_time(
    size: int, seconds: float, factor: int
) -> None:
    once = goodput_mbps(size, seconds)
    assert goodput_mbps(size * factor, seconds) == pytest.approx(once * factor)
    assert goodput_mbps(size, seconds * factor) == pytest.approx(once / factor)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_transfer_takes_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="completion_s"):
        goodput_mbps(1, seconds)


@given(SIZES, st.integers(0, 10**12))
def test_a_share_is_one_only_when_every_bit_was_of_the_file(size: int, unused: int) -> None:
    share = capacity_share(size, size * 8 + unused)
    assert 0 < share <= 1
    assert (share == 1) == (unused == 0) or unused < size * 1e-9


@given(SIZES, SECONDS, st.integers(1, 10**12))
def test_a_share_is_goodput_over_mean_capacity(size: int, seconds: float, bits: int) -> None:
    mean_mbps = bits / seconds / 1e6
    assert capacity_share(size, bits) == pytest.approx(goodput_mbps(size, seconds) / mean_mbps)


def test_a_share_of_no_capacity_is_an_error() -> None:
    with pytest.raises(ValueError, match="available_bits"):
        capacity_share(1, 0)
