"""The mesh: what its features do, and the fit of its legs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.link import WifiParameters
from minitopo_dc.results.files import ResultError
from minitopo_dc.results.measures.named import with_measures
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.virtual.run import run_virtual
from tests import REPOSITORY
from tests.studies.digests import module, program
from tests.virtual.scenarios import rows, scenario

connection, features, fit, limits = (
    module("mesh", name) for name in ("connection", "features", "fit", "limits")
)

OPTIMUM = 100_000.0
"""Bytes: 8 Mbit/s and 0.1 s."""


def run(
    directory: Path, downlink: dict[str, Any], size_mb: float = 1, **options: Any
) -> dict[str, int]:
    """A download over one leg, logged by both ends; the last counters of its downlink."""
    leg = {"downlink": {"jitter_ms": 0, "queue_packets": 10_000, **downlink}}
    leg["uplink"] = {"rate_mbps": 1000, "delay_ms": 10, "jitter_ms": 0}
    wanted = scenario(
        mode="sc",
        legs=[leg],
        congestion_control="cubic",
        workload={"size_mb": size_mb},
        options={"qlog": True, "receive_buffer_bytes": 33_554_432, **options},
    )
    result = run_virtual(wanted, directory)
    assert result.status == "ok", result.reason
    return {name: int(value) for name, value in rows(directory / "gnb-legs.csv")[-1].items()}


def test_an_idle_fast_leg_has_its_delay_and_neither_loss_nor_disorder(tmp_path: Path) -> None:
    run(tmp_path, {"rate_mbps": 10_000, "delay_ms": 10}, ack_every=2)
    found = features.connection_features(tmp_path)
    assert tuple(found) == features.FEATURES
    assert found["mean_delay_ms"] == pytest.approx(10, abs=0.1)
    assert found["delay_variation_ms2"] < 0.01
    assert found["packet_loss"] == found["out_of_order"] == 0
    assert found["ack_frequency"] == pytest.approx(0.5, abs=0.05)
    assert sum(found[f"{state}_share"] for state in features.STATES) == pytest.approx(1)


def test_what_never_arrived_is_what_the_leg_dropped(tmp_path: Path) -> None:
    counted = run(tmp_path, {"rate_mbps": 50, "delay_ms": 10, "loss_percent": 2})
    log = connection.connection_log(tmp_path)
    missing = int(log.packets["received_s"].isna().sum())
    assert 0 <= counted["dropped_loss"] - missing <= 2  # all but a few packets have content
    assert missing > 5
    loss = features.connection_features(tmp_path)["packet_loss"]
    assert loss == pytest.approx(missing / len(log.packets))
    found = limits.behaviour(tmp_path)
    assert found.lost_packets - found.spurious_losses >= missing
    assert found.cuts > 0


def test_reordering_makes_false_losses(tmp_path: Path) -> None:
    moving = {"rate_mbps": 20, "delay_ms": 20, "jitter_ms": 5, "reorder": True}
    counted = run(tmp_path, moving, slow_start_exit="off")
    assert counted["dropped_loss"] == counted["dropped_queue"] == 0
    found = limits.behaviour(tmp_path)
    assert found.kind == "false loss"
    assert found.cuts > 0
    assert found.false_cuts >= found.cuts - 1  # a packet may still be away at the end
    assert features.connection_features(tmp_path)["out_of_order"] > 0.01


def test_a_threshold_that_is_too_small_makes_an_early_exit(tmp_path: Path) -> None:
    run(tmp_path, {"rate_mbps": 100, "delay_ms": 50}, slow_start_exit=0.0, pacing_slow_start=100)
    found = limits.behaviour(tmp_path)
    assert found.kind == "early exit"
    assert found.exit_bytes < found.optimum_bytes
    assert found.optimum_bytes == pytest.approx(100e6 / 8 * 0.06, rel=0.02)


def test_features_and_behaviours_are_measures_of_runs(tmp_path: Path) -> None:
    run(tmp_path / "a", {"rate_mbps": 50}, size_mb=0.1)
    runs = pd.DataFrame({"run": ["a"], "status": ["ok"]})
    runs.attrs["directory"] = str(tmp_path)
    row = with_measures(runs, "cwnd_mean_kb", "early_exit").iloc[0]
    assert row["cwnd_mean_kb"] == features.connection_features(tmp_path / "a")["cwnd_mean_kb"]
    assert row["early_exit"] == limits.behaviour(tmp_path / "a").early_exit


def test_a_run_without_qlogs_is_told_what_it_lacks(tmp_path: Path) -> None:
    scenario(mode="sc", options={}).save(tmp_path / "scenario.yaml")
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(ResultError, match="options: qlog: true"):
        features.connection_features(tmp_path)


def test_dispersion_is_nought_of_a_clock_one_of_poisson_and_large_of_bursts() -> None:
    assert features.dispersion(np.full(1000, 3.0), 10) == pytest.approx(0)
    random = np.random.default_rng(1)
    assert features.dispersion(random.exponential(2.0, 100_000), 10) == pytest.approx(1, abs=0.1)
    bursts = np.tile(np.array([0.0] * 9 + [10.0]), 1000)
    assert features.dispersion(bursts, 1) == pytest.approx(9, abs=0.1)
    assert features.dispersion(bursts, 10) == pytest.approx(0)
    assert math.isnan(features.dispersion(np.ones(5), 10))


def logged(windows: list[tuple[float, int, float]], cuts: tuple[Any, ...] = ()) -> Any:
    """A connection of 1 s; each window with its time and threshold."""
    packets = pd.DataFrame(
        [(number, 0.01 * number, 0.01 * number + 0.05, 1200) for number in range(96)],
        columns=["number", "sent_s", "received_s", "bytes"],
    )
    packets.loc[7, "received_s"] = math.nan
    columns = ["time_s", "cwnd_bytes", "in_flight_bytes", "ssthresh_bytes"]
    table = pd.DataFrame([(t, cwnd, cwnd, at) for t, cwnd, at in windows], columns=columns)
    lost = tuple(number for cut in cuts for number in cut.lost)
    return connection.ConnectionLog(packets, 48, table, lost, cuts, 0.1)


NONE = math.nan
GROWING = [(0.0, 20_000, NONE), (0.2, 60_000, NONE)]


@pytest.mark.parametrize(
    ("windows", "cuts", "kind"),
    [
        ([*GROWING, (0.4, 120_000, NONE)], (), "normal"),
        ([*GROWING, (0.4, 60_000, 60_000.0)], (), "early exit"),
        ([*GROWING, (0.4, 120_000, 120_000.0)], (), "normal"),
        ([*GROWING, (0.4, 42_000, 42_000.0)], (connection.Cut(0.4, 60_000, (7,)),), "normal"),
        ([*GROWING, (0.4, 42_000, 42_000.0)], (connection.Cut(0.4, 60_000, (5, 7)),), "normal"),
        ([*GROWING, (0.4, 42_000, 42_000.0)], (connection.Cut(0.4, 60_000, (5, 6)),), "false loss"),
        ([*GROWING, (0.4, 50_000, 50_000.0)], (connection.Cut(0.6, 60_000, (5,)),), "early exit"),
    ],
)
def test_a_behaviour_follows_from_window_threshold_and_losses(
    windows: list[tuple[float, int, float]], cuts: tuple[Any, ...], kind: str
) -> None:
    assert limits.behaviour_of(logged(windows, cuts), OPTIMUM / 0.1 * 8).kind == kind


def test_the_mean_window_is_over_time() -> None:
    found = limits.behaviour_of(logged([(0.0, 20_000, NONE), (0.5, 120_000, NONE)]), 8e6)
    assert found.mean_cwnd_bytes == pytest.approx(70_000)
    assert found.reached_optimum


EXAMPLES = REPOSITORY / "examples" / "mesh"
fit, mesh = module("mesh", "fit"), module("mesh", "clients")


def test_the_campaigns_clients_are_the_fitted_ones() -> None:
    fits = fit.fits()
    assert fits["fitted_mbps"].to_numpy() == pytest.approx(fits["tcp_mbps"].to_numpy(), rel=1e-3)
    assert dict(fits["wireless_hops"]) == mesh.HOPS
    for client, leg in mesh.CLIENTS.items():
        row, down = fits.loc[client], leg.downlink
        assert leg.uplink == down
        assert down.delay_ms == row["delay_ms"]
        rate = down if leg.wifi is None else leg.wifi
        assert rate.rate_mbps == row["rate_mbps"]
        if leg.wifi is not None:
            assert leg.wifi.load_percent == row["load_percent"]
            assert len(leg.wifi.every_hop()) == row["wireless_hops"]


def test_the_leg_of_the_aggregation_with_tcp_is_that_of_rp6_without_jitter() -> None:
    cases = program("mesh").cases("sample")
    made = next(case for case, labels in cases if labels["experiment"] == "tcp-aggregation")
    still = {way: {"jitter_ms": 0} for way in ("downlink", "uplink")}
    assert made.legs[0] == mesh.CLIENTS["RP6"].evolve(**still, wifi={"aggregation": "none"})


def test_a_scenario_file_is_a_case_of_the_campaign() -> None:
    cases = {
        labels["client"]: case
        for case, labels in program("mesh").cases("full")
        if labels["experiment"] == "clients" and labels["way"] == "modern" and case.seed == 1
    }
    for client, case in cases.items():
        written = Scenario.load(EXAMPLES / f"{client.lower()}.yaml").on_clock("virtual")
        assert written == case
        check_scenario(written)


TABLE_6 = REPOSITORY / "studies/mesh/reference/wmn_table_6_frame_aggregation.csv"
TCP = {"data": 1500, "payload": 1448, "acknowledgement": 52}
"""Full segments with timestamps over IPv4, an ACK of nothing else."""
QUIC = {"data": 1378, "payload": 1350, "acknowledgement": 68}
"""Datagrams of 1,350 bytes and of 40 bytes with an ACK frame, over UDP and IPv4."""


@pytest.mark.parametrize(
    ("sizes", "mpdus", "mbps"),
    [
        *zip([TCP] * 4, [1, 2, 4, 10], [24.1, 30.1, 39.9, 49.6], strict=True),
        *zip([QUIC] * 4, [1, 2, 4, 10], [23.2, 29.1, 39.1, 49.2], strict=True),
    ],
)
def test_goodput_by_mpdus_in_a_txop_is_that_of_the_table(
    sizes: dict[str, int], mpdus: int, mbps: float
) -> None:
    assert round(fit.goodput_bps(WifiParameters(), mpdus, **sizes) / 1e6, 1) == mbps


@pytest.mark.parametrize(("name", "sizes"), [("tcp", TCP), ("quic", QUIC)])
def test_without_aggregation_it_is_within_a_tenth_of_the_published(
    name: str, sizes: dict[str, int]
) -> None:
    published = pd.read_csv(TABLE_6, index_col="transport")["aggregation_off_mbps"][name]
    assert fit.goodput_bps(WifiParameters(), 1, **sizes) / 1e6 == pytest.approx(published, rel=0.1)
