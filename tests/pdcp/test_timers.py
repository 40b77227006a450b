"""The timers of PDCP: values of the standard, and those of no standard."""

from __future__ import annotations

import pytest

from minitopo_dc.pdcp import DISCARD_TIMER_MS, INFINITE, T_REORDERING_MS, Timer

MS = 1_000_000


def test_values_of_the_standard_become_nanoseconds() -> None:
    for value in T_REORDERING_MS:
        assert Timer.t_reordering(value) == Timer.t_reordering(float(value)) == Timer(value * MS)
    for value in DISCARD_TIMER_MS:
        assert Timer.discard(value) == Timer(value * MS)
    assert Timer.t_reordering("infinity") == Timer.discard("infinity") == INFINITE == Timer(None)
    assert Timer.t_reordering("adaptive") == Timer(is_adaptive=True) != INFINITE


@pytest.mark.parametrize("value", [-1, 3, 199, 0.5, "200", "inf"])
def test_a_t_reordering_of_no_standard_value_is_refused(value: float | str) -> None:
    words = r"t-Reordering .* ms: must be one of 0, 1, 2, .*, 3000, infinity, or adaptive"
    with pytest.raises(ValueError, match=words):
        Timer.t_reordering(value)


@pytest.mark.parametrize("value", [0, 11, 1501, -1, "adaptive"])
def test_a_discard_timer_of_no_standard_value_is_refused(value: float | str) -> None:
    words = r"discardTimer .* ms: must be one of 10, 20, .*, 1500, infinity$"
    with pytest.raises(ValueError, match=words):
        Timer.discard(value)


def test_a_negative_timer_is_refused() -> None:
    with pytest.raises(ValueError, match="a timer of -1 ns; allowed: 0 or more"):
        Timer(-1)
