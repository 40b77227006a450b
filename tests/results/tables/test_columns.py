"""Columns of tables of runs have names with units, and a run's workload its main measure."""

from __future__ import annotations

import pandas as pd
import pytest

from minitopo_dc.results.tables.columns import main_measure, setting_of, value_name


def test_a_setting_is_a_factor_with_its_value_and_unit() -> None:
    assert setting_of("loss_percent", 0.1) == "loss 0.1 %"
    assert setting_of("control", "cubic") == "cubic"
    assert value_name((1.0, 2)) == "1:2"


@pytest.mark.parametrize(
    ("columns", "main"),
    [
        ({"goodput_mbps": 5.0, "completion_s": 1.0}, "goodput_mbps"),
        ({"goodput_mbps": None, "delay_p95_ms": 30.0, "answered": 5}, "delay_p95_ms"),
        ({"goodput_mbps": None, "frame_delay_p95_ms": 80.0}, "frame_delay_p95_ms"),
        ({"bitrate_mbps": 4.0, "linear_qoe_mbps": 3.5}, "linear_qoe_mbps"),
        ({"seed": 1, "words": 7}, "words"),
        ({"completion_s": 1.0, "leg_bytes_1": 9, "handshake_s": 0.1, "page_ms": 7}, "page_ms"),
        (
            {"completion_s": 1.0, "flow_1_goodput_mbps": 5, "flow_2_delay_p95_ms": 9},
            "flow_2_delay_p95_ms",
        ),
        ({"flow_1_goodput_mbps": 5.0, "flow_2_goodput_mbps": 4, "jain_index": 0.9}, "jain_index"),
        ({"seed": 1}, "goodput_mbps"),
    ],
)
def test_the_main_measure_is_that_of_the_workload(columns: dict[str, float], main: str) -> None:
    assert main_measure(pd.DataFrame([columns])) == main
