"""Tables of means have the measures in order, with their intervals."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.results.tables.summary import mean_tables


def test_a_table_of_means_begins_with_the_main_measure_and_has_intervals() -> None:
    runs = pd.DataFrame({"way": "DC", "aaa": 1.0, "completion_s": 2.0, "leg_bytes_1": [2e6, 4e6],
                         "capacity_share": 0.5, "goodput_mbps": [11.0, 12.0]})  # fmt: skip
    numbers, shown = mean_tables(runs, ["way"])
    assert list(shown) == [
        *("way", "n", "goodput (Mbit/s)", "completion (s)", "capacity share", "aaa"),
        "leg 1 delivered (MB)",
    ]
    assert numbers["goodput_mbps_low"][0] == pytest.approx(11.5 - 12.7062 * 0.5, abs=1e-4)
    assert shown["leg 1 delivered (MB)"][0].startswith("3.00 ±")
