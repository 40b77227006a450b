"""Measures by their names, in the tables of Python campaigns."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.results.measures import named


def test_a_flow_s_rates_are_read_from_the_columns_of_a_python_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named, "arrived_copies", lambda _: {1: 2.0})
    rates = {"flow_1_goodput_mbps": [10.0], "flow_2_goodput_mbps": [5.0]}
    runs = pd.DataFrame({"status": ["ok"], "run": ["runs/a"], **rates})
    more = named.with_measures(runs, "flow_2_mbps", "links_flow_1_mbps", "links_jain_index")
    assert more.iloc[0, -3:].tolist() == [5.0, 20.0, pytest.approx(25**2 / (2 * (400 + 25)))]
