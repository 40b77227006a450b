"""The experimental aggregation benefit, against the examples of its authors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.analysis.tables.reference import read_reference
from minitopo_dc.campaign.report.joined import aggregation_benefit

EXAMPLES = read_reference("mpquic_design_eab_examples.csv", {}).to_dict("records")
RATES = st.floats(0.1, 1000)


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda each: f"multipath {each['multipath_mbps']}"
)
def test_the_authors_examples(example: dict[str, str]) -> None:
    single = [float(example["path_1_mbps"]), float(example["path_2_mbps"])]
    assert aggregation_benefit(float(example["multipath_mbps"]), single) == float(example["eab"])


@given(RATES, st.lists(RATES, min_size=2, max_size=4))
def test_it_is_not_negative_when_multipath_is_at_least_as_good_as_the_best_path(
    multipath: float, single: list[float]
) -> None:
    benefit = aggregation_benefit(multipath, single)
    assert benefit >= -1
    assert (benefit >= 0) == (multipath >= max(single))


def test_a_useless_second_path_leaves_nothing_to_gain() -> None:
    assert aggregation_benefit(5, [5, 0]) == 0


@pytest.mark.parametrize("single", [[5], [], [0, 0]])
def test_without_two_paths_that_deliver_there_is_none(single: list[float]) -> None:
    with pytest.raises(ValueError, match="two paths"):
        aggregation_benefit(1, single)
