"""Numbers as people read them: significant digits, and a unit that fits."""

from __future__ import annotations

import math

import pytest

from minitopo_dc.numbers import amount, duration, significant, with_spread


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *(
            (12.5499, "12.5"),
            (9.996, "10.0"),
            (0.04822, "0.0482"),
            (1234.5, "1230"),
            (-3.0, "-3.00"),
        ),
        *((0, "0"), (math.nan, "-"), (math.inf, "inf"), (99.96, "100"), (1e-9, "1.00e-09")),
        (999_999.0, "1000000"),
    ],
)
def test_three_digits_are_significant(value: float, shown: str) -> None:
    assert significant(value) == shown


@pytest.mark.parametrize(
    ("value", "deviation", "shown"),
    [(12.63, 0.1234, "12.6 ± 0.12"), (9.08, 0.0024, "9.08 ± 0.002"), (1234, 56.7, "1230 ± 57")],
)
def test_a_deviation_has_two_digits_and_one_place_more_than_its_mean(
    value: float, deviation: float, shown: str
) -> None:
    assert with_spread(value, deviation) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (312, "312 B"), (48_230, "48.2 kB"), (999_700, "1.00 MB"), (2.5e9, "2.50 GB")],
)
def test_bytes_have_the_unit_in_which_they_are_one_to_a_thousand(count: float, shown: str) -> None:
    assert amount(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.864, "0.86 s"), (80, "80 s"), (312, "5.2 min"), (11_200, "3.1 h")]
)
def test_times_are_not_hundred_thousandths_of_an_hour(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
