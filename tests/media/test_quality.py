from __future__ import annotations

import math

import pytest

from minitopo_dc.media.quality import Session

SEEN = Session(2.0, (1000.0, 3000.0, 3000.0, 1000.0), least_kbps=1000.0, startup_s=0.5, stall_s=1.5)


def test_the_linear_qoe_is_bitrate_less_changes_and_3000_for_each_second_of_waiting() -> None:
    assert SEEN.linear_qoe_kbps == pytest.approx((8000 - 4000 - 3000 * 2.0) / 4)


def test_the_stall_ratio_is_of_the_time_behind_the_first_picture() -> None:
    assert SEEN.stall_ratio == pytest.approx(1.5 / 9.5)


def test_changes_are_counted_where_the_bitrate_changes() -> None:
    assert SEEN.changes_kbps == [2000.0, 2000.0]


def test_the_score_weighs_utility_in_time_and_stalls() -> None:
    assert SEEN.score == pytest.approx((2 * math.log(3) * 2.0 - 5 * 1.5) / 10.0)
