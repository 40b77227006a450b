"""Policies on estimates of their legs against the same ones on the legs themselves."""

from __future__ import annotations

import pytest

from benchmarks.estimates import AT_ONCE, SPLITS, shares_of_ideal
from tests.native.extension import needs_native
from tests.picoquic.extension import needs_picoquic


@needs_native
@needs_picoquic
@pytest.mark.parametrize("split", SPLITS)
def test_statuses_at_once_are_nearly_as_good_as_seeing_the_legs(split: str) -> None:
    ratios = shares_of_ideal(split, 10, 0.25, AT_ONCE)
    assert sum(ratio >= 0.97 for ratio in ratios) >= 9
