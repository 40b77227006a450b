"""The parts of each packet's delay add up, and are what the legs were told to do."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitopo_dc.results import packet_delays
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.measures.delays import NETWORK, PARTS, part_delay_ms
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.virtual.run import run_virtual
from tests.quic.extension import needs_picoquic
from tests.virtual.scenarios import leg, scenario

NS = [f"{part}_ns" for part in NETWORK]
LATE = {"split": "least-delay", "numbering": "late", "t_reordering_ms": 40}
XN = {"flow_control": {"backhaul_ms": 5}}
QUIET = {"jitter_ms": 0, "delay_ms": 20}
RADIOS = (
    {"rlc": {"block_error_percent": 30, "harq_retransmissions": 1}},
    {"rlc": {"mode": "um", "in_order": False, "block_error_percent": 20, "discard_ms": 100}},
    {"jitter_ms": 3, "reorder": True},
    {"outages": [[0.1, 0.25]], "changes": [{"at_s": 0.3, "delay_ms": 25}]},
    {"queue_discipline": "codel", "grant_ms": 5},
    {"queue_discipline": "dualpi2"},
    {"loss_percent": 1},
)


def run(directory: Path, **fields: Any) -> RunResult:
    virtual = {"packet_delays": True} | fields.pop("virtual", {})
    common: dict[str, Any] = {"workload": {"size_mb": 0.1}, "options": {}}
    return run_virtual(scenario(**{**common, **fields}, virtual=virtual), directory)


@given(
    radios=st.tuples(*[st.sampled_from(RADIOS)] * 2),
    mode=st.sampled_from(["sc", "dc", "dc-duplicate"]),
    pdcp=st.sampled_from([{}, LATE, LATE | XN]),
    processing=st.sampled_from([0, 1]),
    split_uplink=st.booleans(),
)
@settings(max_examples=6, deadline=None)
def test_the_parts_add_up_to_the_delay(
    radios: tuple[dict[str, Any], ...],
    mode: str,
    pdcp: dict[str, Any],
    processing: float,
    split_uplink: bool,
) -> None:
    fields: dict[str, Any] = {"mode": mode, "legs": [leg(**radio) for radio in radios]}
    if mode == "dc":
        fields |= {"pdcp": pdcp, "split_uplink": split_uplink}
    with TemporaryDirectory() as root:
        directory = Path(root)
        virtual = {"packet_trace": True, "processing_delay_ms": processing}
        run(directory, **fields, virtual=virtual)
        parts = pd.read_csv(directory / "packet-delays.csv")
        trace = pd.read_csv(directory / "packets.csv")
    keys = ["flow", "direction", "packet"]
    ways = [trace[trace["event"] == event].set_index(keys) for event in ("sent", "received")]
    assert len(parts) == len(ways[1]) > 100
    delays = (ways[1]["time_ns"] - ways[0]["time_ns"]).dropna().astype(int)
    assert (
        parts.set_index(keys)[NS].sum(axis="columns")
        == delays.reindex(pd.MultiIndex.from_frame(parts[keys]))
    ).all()
    assert (parts[NS] >= 0).all(axis=None)


def test_transmission_and_propagation_are_those_of_the_leg(tmp_path: Path) -> None:
    run(tmp_path, mode="sc", legs=[leg(**QUIET), leg()])
    table = packet_delays(tmp_path).query("direction == 'downlink'")
    assert np.allclose(table["air_ms"], table["bytes"] * 8 / 20e3, atol=2e-6)
    assert set(table["propagation_ms"]) == {20.0}
    assert table["queue_ms"].max() > 1
    assert not table[["split_ms", "rlc_ms", "reordering_ms"]].any(axis=None)


@pytest.mark.parametrize("cause", [{"grant_ms": 7}, {"outages": [[0.0, 0.1]]}])
def test_a_grant_and_an_outage_are_waited_for_in_the_queue(
    tmp_path: Path, cause: dict[str, Any]
) -> None:
    run(tmp_path, mode="sc", legs=[leg(**QUIET, **cause), leg()])
    first = packet_delays(tmp_path).query("direction == 'downlink'").iloc[0]
    assert first["queue_ms"] == 7.0 if "grant_ms" in cause else 70 < first["queue_ms"] < 100
    assert first["air_ms"] == pytest.approx(first["bytes"] * 8 / 20e3)
    assert first["propagation_ms"] == 20.0


def test_xn_is_before_the_queue(tmp_path: Path) -> None:
    run(tmp_path, pdcp=LATE | XN, legs=[leg(), leg()])
    table = packet_delays(tmp_path).query("direction == 'downlink'")
    assert table["split_ms"].min() >= 5
    whole = table[[f"{part}_ms" for part in NETWORK]].sum(axis="columns")
    assert part_delay_ms(tmp_path, "packet_delay_p95_ms") == pytest.approx(whole.quantile(0.95))


def test_retransmissions_are_in_rlc_and_gaps_in_reordering(tmp_path: Path) -> None:
    run(tmp_path, pdcp=LATE, legs=[leg(**RADIOS[0]), leg(loss_percent=2)])
    by_leg = packet_delays(tmp_path).query("direction == 'downlink'").groupby("leg")
    assert by_leg["rlc_ms"].max()[1] > 5
    assert by_leg["rlc_ms"].max()[2] == 0
    assert by_leg["reordering_ms"].max()[1] > 5


@needs_picoquic
def test_bytes_wait_in_the_receive_buffer_of_a_multipath_transport(tmp_path: Path) -> None:
    multipath = {"mode": "multipath", "transport": "mpquic-picoquic", "options": {"qlog": True}}
    size = {"workload": {"size_mb": 0.5}}
    run(tmp_path, **multipath, **size, legs=[leg(delay_ms=30), leg(loss_percent=1)])
    table = packet_delays(tmp_path).query("direction == 'downlink'")
    assert table["receive_buffer_ms"].max() > 10
    assert table["receive_buffer_ms"].min() == 0
    assert part_delay_ms(tmp_path, "receive_buffer_delay_p95_ms") == pytest.approx(
        table["receive_buffer_ms"].quantile(0.95)
    )


def test_without_a_qlog_the_receive_buffer_is_not_known(tmp_path: Path) -> None:
    run(tmp_path)
    assert packet_delays(tmp_path)["receive_buffer_ms"].isna().all()
    assert math.isnan(part_delay_ms(tmp_path, "receive_buffer_delay_median_ms"))
    assert part_delay_ms(tmp_path, "propagation_delay_median_ms") > 5
    assert set(packet_delays(tmp_path).filter(like="_ms")) == {f"{part}_ms" for part in PARTS}
    run(tmp_path / "2", virtual={"packet_delays": False})
    with pytest.raises(ResultError, match="virtual: packet_delays: true"):
        packet_delays(tmp_path / "2")


def test_wifi_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, legs=[{"wifi": {"rate_mbps": 65}}, leg()])
    assert result.status == "unsupported"
    assert "virtual.packet_delays: leg 1 has wifi" in result.reason


@needs_picoquic
def test_a_run_that_records_its_delays_has_the_results_of_one_that_does_not(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"transport": "quic-picoquic", "legs": [leg(), leg(loss_percent=1)]}
    for records in (True, False):
        directory = tmp_path / str(records)
        run(directory, **fields, pdcp=LATE, virtual={"packet_delays": records})
    for name in ("gnb-legs.csv", "ue-receive.csv", "connections.csv"):
        assert (tmp_path / "True" / name).read_bytes() == (tmp_path / "False" / name).read_bytes()
