"""Drives, good and bad ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc import cli
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.trace import (
    ENVIRONMENTS,
    CellLog,
    TraceError,
    channel_statistics,
    channels_of,
    read_channels,
    read_trace,
    synthesise_drive,
)

ROAD = ENVIRONMENTS["road"]
PLAIN = replace(
    ROAD,
    spacing_m=1000.0,
    setback=(0.2, 0.2),
    setback_spread=(0.0, 0.0),
    offset=0.5,
    jitter=1e-9,
    power_dbm=(-95.0, -95.0),
    power_sd_db=0.0,
    common_sd_db=0.0,
    own_sd_db=0.0,
    carrier_sd_db=0.0,
    stop_every_m=1e9,
    speed_kmh=36.0,
)
"""Regular and without chance: 10 m each second."""


def best_of(log: CellLog, operator: str, carrier: str = "1") -> list[tuple[str, float]]:
    """The strongest cell of each second."""
    return [
        max(
            ((c.cell, c.rsrp_dbm) for c in second if c[:2] == (operator, carrier)),
            key=lambda cell: cell[1],
        )
        for second in log.seconds
    ]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_same_seed_makes_the_same_drive_however_long_and_another_one_another(name: str) -> None:
    environment = ENVIRONMENTS[name]
    one, again, other = (synthesise_drive(seed, 60, environment) for seed in (1, 1, 2))
    assert one == again
    assert one.seconds != other.seconds
    assert synthesise_drive(1, 90, environment).seconds[:60] == one.seconds
    assert one.name == f"{name}-1"


@given(st.integers(0, 10**6), st.sampled_from(sorted(ENVIRONMENTS)))
def test_what_is_heard_is_above_the_threshold_and_near_its_carrier_s_strongest(
    seed: int, name: str
) -> None:
    environment = ENVIRONMENTS[name]
    log = synthesise_drive(seed, 30, environment)
    assert set(log.carriers()) <= {(o, c) for o in ("OP1", "OP2") for c in ("1", "2")}
    for second in log.seconds:
        assert len({cell.name for cell in second}) == len(second)
        for carrier in {cell[:2] for cell in second}:
            powers = [cell.rsrp_dbm for cell in second if cell[:2] == carrier]
            assert min(powers) >= environment.threshold_dbm - 0.1
            assert max(powers) - min(powers) <= environment.detection_db + 0.2


def test_a_site_is_passed_each_spacing_and_the_other_operator_s_in_between() -> None:
    log = synthesise_drive(1, 400, PLAIN)
    changes = {}
    for operator in ("OP1", "OP2"):
        cells = [cell for cell, _ in best_of(log, operator)]
        changes[operator] = [second for second, (a, b) in enumerate(pairwise(cells)) if a != b]
    assert [b - a for a, b in pairwise(changes["OP1"])] == [100] * 3
    assert changes["OP2"][0] - changes["OP1"][0] in (-50, 50)


def test_power_falls_by_37_6_db_a_decade() -> None:
    """At 200 m beside a site and 500 m along the road from it."""
    powers = [power for _, power in best_of(synthesise_drive(1, 400, PLAIN), "OP1")]
    assert max(powers) == pytest.approx(-95 + 37.6 * 0.69897, abs=0.06)
    assert min(powers) == pytest.approx(-95 + 37.6 * 0.26828, abs=0.06)


def test_nothing_changes_while_the_bus_stops() -> None:
    bus = replace(ROAD, stop_every_m=100.0, stop_s=20, speed_kmh=36.0)
    seconds = synthesise_drive(1, 31, bus).seconds
    assert len(set(seconds[:11])) == 11
    assert set(seconds[10:31]) == {seconds[10]}


def test_shadowing_is_correlated_over_the_distance_driven() -> None:
    """At standstill it stays; at speed the steps are those of the exponential correlation."""
    alone = replace(PLAIN, spacing_m=1e6, threshold_dbm=-1e9, own_sd_db=6.0, correlation_m=50.0)
    powers = [power for _, power in best_of(synthesise_drive(1, 2000, alone), "OP1")]
    mean = sum(powers) / len(powers)
    deviations = [power - mean for power in powers]
    variance = sum(d * d for d in deviations)
    lagged = sum(a * b for a, b in zip(deviations, deviations[5:], strict=False))
    assert lagged / variance == pytest.approx(0.368, abs=0.12)


def test_a_site_s_carriers_fade_alike_but_not_quite() -> None:
    def spread(carrier_sd_db: float) -> float:
        lone = replace(
            PLAIN,
            spacing_m=1e6,
            threshold_dbm=-1e9,
            own_sd_db=6.0,
            second_carrier_db=(-5.0, -5.0),
            second_carrier_sd_db=0.0,
            carrier_sd_db=carrier_sd_db,
        )
        log = synthesise_drive(1, 500, lone)
        main, second = (best_of(log, "OP1", carrier) for carrier in ("1", "2"))
        return pstdev(a - b for (_, a), (_, b) in zip(main, second, strict=True))

    assert spread(0.0) == pytest.approx(0, abs=0.1)
    assert spread(2.0) == pytest.approx(2, abs=0.5)


def test_dense_stretches_have_more_cells() -> None:
    town = replace(
        PLAIN,
        spacing_m=3000.0,
        dense_spacing_m=300.0,
        dense_share=0.5,
        cycle_m=60_000.0,
        threshold_dbm=-100.0,
        speed_kmh=360.0,
    )
    visible = [len(second) for second in synthesise_drive(1, 600, town).seconds]
    assert sum(visible[50:250]) > 2 * sum(visible[350:550])


def test_the_fitted_drive_is_near_the_published_numbers() -> None:
    """Two hours scatter; studies/cellular/measured.md has the fit over 33."""
    log = synthesise_drive(1, 7200, replace(ENVIRONMENTS["entire"], speed_kmh=90.0))
    statistics = channel_statistics(channels_of(log), log)
    assert statistics.available_mean == pytest.approx(2.97, abs=0.25)
    means = {level: row.mean_mbps for level, row in statistics.capacity.items()}
    published = {"OP1 SP": 25.74, "OP2 SP": 19.37, "Best Single Path": 36.57, "Multipath": 46.15}
    assert means == {level: pytest.approx(mean, rel=0.2) for level, mean in published.items()}


def test_noise_changes_the_power_of_the_same_cells_by_its_standard_deviation() -> None:
    quiet, noisy = (
        [cell for second in synthesise_drive(1, 1000, each).seconds for cell in second]
        for each in (ROAD, replace(ROAD, noise_db=2.0))
    )
    assert [cell.name for cell in noisy] == [cell.name for cell in quiet]
    changes = [one.rsrp_dbm - other.rsrp_dbm for one, other in zip(noisy, quiet, strict=True)]
    assert pstdev(changes) == pytest.approx(2.0, rel=0.05)


def test_a_drive_where_nothing_is_heard_and_one_of_no_time_are_refused() -> None:
    with pytest.raises(ValueError, match="no cell in any second"):
        synthesise_drive(1, 10, replace(ROAD, threshold_dbm=0.0))
    with pytest.raises(ValueError, match="must be 1 to"):
        synthesise_drive(1, 0, ROAD)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spacing_m", 0),
        ("speed_kmh", -1),
        ("correlation_m", 0),
        ("stop_every_m", 0),
        ("dense_share", 1.5),
        ("dense_share", 0.5),
        ("scale", 0),
    ],
)
def test_an_environment_out_of_range_is_named(field: str, value: float) -> None:
    changed: dict[str, Any] = {"dense_spacing_m": 0.0, field: value}
    with pytest.raises(ValueError, match=field):
        replace(PLAIN, **changed)


LOG = "time_s,operator,carrier,cell,rsrp_dbm\n"
WIDE = "time_s,channel_1_mbps,channel_2_mbps,channel_1_cell,channel_2_cell\n"
BOTH = "A/1/x,B/1/y\n"

GAP = f"0,5,1,{BOTH}4,5,1,{BOTH}", "drive.csv:3: time 4 after 0 (allowed: each second once)"


def written(directory: Path, text: str) -> Path:
    path = directory / "drive.csv"
    path.write_text(text, encoding="utf-8")
    return path


def scenario(directory: Path, drive: Path, case: int | str) -> Path:
    """Two legs that follow the drive's channels by a handover rule."""
    legs = [f"{{downlink: {{trace: {drive}, trace_column: channel_{n}_mbps}}}}" for n in (1, 2)]
    path = directory / "s.yaml"
    path.write_text(
        "transport: mpquic-picoquic\nmode: multipath\nclock: virtual\ncongestion_control: cubic\n"
        f"legs: [{', '.join(legs)}]\nhandover: {{case: {case}}}\ntimeout_s: 9\n"
    )
    return path


def test_a_bad_file_is_the_same_error_for_each_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = str(written(tmp_path, LOG + "5,A,1,x,-80\n3,A,1,x,-80\n"))
    for words in (["cells", drive], ["channels", drive, str(tmp_path / "channels.csv")]):
        assert cli.main(["trace", *words]) == 2
        assert "drive.csv:3: time 3 goes backwards" in capsys.readouterr().err
    written(tmp_path, WIDE + GAP[0])
    for words in (
        ["trace", "cells", drive],
        ["trace", "info", drive, "--column", "channel_2_mbps"],
        ["run", str(scenario(tmp_path, Path(drive), 2)), "--output", str(tmp_path / "results")],
    ):
        assert cli.main(words) == 2, words
        assert GAP[1] in capsys.readouterr().err, words


def test_a_log_of_cells_is_no_capacity_of_a_leg(tmp_path: Path) -> None:
    drive = written(tmp_path, LOG + "0,A,1,x,-80\n")
    for read in (read_channels, lambda path: read_trace(path, column="channel_1_mbps")):
        with pytest.raises(TraceError, match=r"drive\.csv:1: .*trac"):
            read(drive)


def test_a_floor_that_no_channel_reaches_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drive = written(tmp_path, LOG + "0,A,1,x,-120\n")
    words = ["trace", "channels", str(drive), str(tmp_path / "out.csv"), "--floor", "50"]
    assert cli.main(words) == 2
    assert "drive drive.csv: no channel has any capacity in any second" in capsys.readouterr().err


def test_an_operator_that_vanishes_loses_its_path(tmp_path: Path) -> None:
    gone = "".join(f"{second},5,0,A/1/x,\n" for second in range(2, 20))
    drive = written(tmp_path, f"{WIDE}0,5,1,{BOTH}1,5,1,{BOTH}{gone}")
    derived = resolve_scenario(Scenario.load(scenario(tmp_path, drive, 2)))
    plan = derived.resolved_flows[0].paths
    assert plan is not None
    assert [tuple(event) for event in plan.events] == [(7, "abandon", 2)]  # 5 s after it vanished
