"""The command line: what options mean, and what wrong ones are answered."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitopo_dc as dc
from minitopo_dc import cli, clocks
from minitopo_dc.cli import entry
from minitopo_dc.cli.options import MODES
from minitopo_dc.cli.options.rows import base_scenario, over_each_leg, rows
from minitopo_dc.cli.options.scenario import with_assignments
from minitopo_dc.clocks import chosen_jobs
from minitopo_dc.fields import SettingsError
from minitopo_dc.runners.quic import stacks_of
from minitopo_dc.runners.sans_io.runner import StackRunner
from minitopo_dc.scenario import Clock, Scenario
from minitopo_dc.units import NS_PER_S
from minitopo_dc.ways import scenario_of_row, ways_of
from minitopo_dc.workloads import Download


def parsed(*arguments: str) -> argparse.Namespace:
    return entry.parser().parse_args(["compare", *arguments])


def scenario(*arguments: str) -> Scenario:
    return base_scenario(parsed(*arguments))


def rows_of(*arguments: str, clock: Clock = "virtual") -> list[dict[str, Any]]:
    given = parsed(*arguments, "--clock", clock)
    return rows(given, base_scenario(given))


def test_one_value_is_for_all_legs_and_several_with_commas_or_spaces_are_one_a_leg() -> None:
    assert scenario("--legs", "20", "10").legs == scenario("--legs", "20,10").legs
    made = scenario("--legs", "20", "10", "--delay", "10", "30", "--loss", "1")
    assert [leg.downlink.rate_mbps for leg in made.legs] == [20, 10]
    assert [leg.downlink.delay_ms for leg in made.legs] == [10, 30]
    assert [leg.downlink.loss_percent for leg in made.legs] == [1, 1]


def test_a_delay_may_be_the_curve_by_which_it_follows_the_capacity() -> None:
    made = scenario("--legs", "20", "20", "--delay", "power", "5")
    assert [leg.downlink.delay_curve for leg in made.legs] == ["power", None]
    assert [leg.uplink.delay_ms for leg in made.legs] == [10, 5]


SET: dict[str, Callable[[Any], Any]] = {
    "legs.*.downlink.rlc.mode=um": lambda made: "mode='um'" in repr(made.legs[1].downlink.rlc),
    "legs.1.downlink.loss_percent=0.1": lambda made: (
        [leg.downlink.loss_percent for leg in made.legs] == [0, 0.1]
    ),
    "legs.0.outages=[[3, 5.5]]": lambda made: made.legs[0].outages == ((3, 5.5),),
    "legs.*.uplink.delay_ms=5": lambda made: (
        [(leg.downlink.delay_ms, leg.uplink.delay_ms) for leg in made.legs] == [(10, 5), (10, 5)]
    ),
    "pdcp.t_reordering_ms=40": lambda made: made.pdcp.t_reordering_ms.setting == 40,
    "pdcp.ratio=[9, 1]": lambda made: made.pdcp.ratio == (9, 1),
    "pdcp.report_ms=0.02s": lambda made: made.pdcp.report_ms == 20,
    "pdcp.legs=[2, 1]": lambda made: made.pdcp.legs == (2, 1),
    "pdcp.delivery=off": lambda made: made.pdcp.delivery == "off",
    "pdcp.numbering=late": lambda made: made.pdcp.numbering == "late",
    "pdcp.flow_control={backhaul_ms: 5}": lambda made: "backhaul_ms=5" in repr(made.pdcp),
    "ip_version=6": lambda made: made.ip_version == 6,
    "timeout_s=2min": lambda made: made.timeout_s == 120,
    "virtual.core=python": lambda made: made.virtual.core == "python",
    "workload.size_mb=3": lambda made: made.workload == Download(size_mb=3),
}


@pytest.mark.parametrize("words", SET)
def test_any_field_of_a_scenario_can_be_set(words: str) -> None:
    legs = ("--legs", "20", "20")
    assert not SET[words](scenario(*legs))
    assert SET[words](scenario(*legs, "--set", words))
    given = Scenario.check(scenario(*legs).model_dump(exclude_unset=True), "test")
    arguments = argparse.Namespace(set=[words], command="run")
    assert SET[words](with_assignments(given, arguments))


DUAL = [("tcp", "dc", "batch"), ("tcp", "dc", "credit"), ("tcp", "dc-duplicate", "batch")]
STEERED = [("tcp", "atsss", "credit"), ("mptcp", "atsss", None)]
SMALLEST = [("tcp", "atsss", "smallest-delay"), ("mptcp", "atsss", None)]
EACH = f"{' '.join(MODES)} --split batch,credit"


@pytest.mark.parametrize(
    ("options", "clock", "expected"),
    [
        ("atsss", "real", SMALLEST),
        ("atsss", "virtual", SMALLEST),
        (EACH, "real", [("tcp", "sc", None), *DUAL, *STEERED, ("mptcp", "multipath", None)]),
    ],
)
def test_a_transport_runs_in_its_modes_with_a_row_for_each_split_below_ip(
    options: str, clock: Clock, expected: list[tuple[str, str, str | None]]
) -> None:
    made = rows_of("--transports", "tcp,mptcp", "--modes", *options.split(), clock=clock)
    told = [(row["transport"], row["mode"], row.get("pdcp", {}).get("split")) for row in made]
    assert told == expected


def test_a_comparison_has_the_papers_and_the_deployable_dual_connectivity() -> None:
    given = parsed("--clock", "virtual", "--transports", "tcp", "--xn", "3", "--legs", "20", "9")
    base = base_scenario(given)
    made = [scenario_of_row(base, row) for row in rows(given, base)]
    assert [row.dc_name for row in made] == ["", "papers'", "deployable, Xn 3 ms"]
    assert [*ways_of(made)] == ["leg 1", "DC (papers')", "DC (deployable, Xn 3 ms)"]


def test_without_a_stack_aioquic_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StackRunner, "obstacle", lambda _: "not built")
    found = {row["transport"] for row in rows_of()}
    assert found == {"tcp", "mptcp", "quic", "mpquic-picoquic"}


def test_numbers_of_options_may_have_a_unit() -> None:
    legs = ("--legs", "20Mbit", "1Gbit/s", "--uplink", "500kbit")
    more = ("--delay", "0.008s", "--loss", "0.1%", "--size", "500kB")
    made = scenario(*legs, *more)
    assert [leg.downlink.rate_mbps for leg in made.legs] == [20, 1000]
    assert [leg.uplink.rate_mbps for leg in made.legs] == [0.5, 0.5]
    assert {(leg.uplink.delay_ms, leg.uplink.loss_percent) for leg in made.legs} == {(8, 0.1)}
    assert made.workload == Download(size_mb=0.5)


def test_one_column_of_uplinks_is_that_of_the_legs_with_a_trace(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("time_s,down_mbps,up_mbps\n0,20,2\n1,10,1\n")
    columns = ("--trace-column", "down_mbps", "--uplink-column", "up_mbps")
    for more, mbps in ((), 20), (("--uplink", "5"), 5):
        first, second = scenario("--legs", str(table), "12", *columns, *more).legs
        assert (first.uplink.capacity().rate_at(0), second.uplink.rate_mbps) == (2e6, mbps)


@pytest.mark.parametrize(
    ("legs", "alone"), [(["20", "100"], [1, 2]), (["20", "20"], [1]), (["5", "9", "5"], [1, 2])]
)
def test_each_different_leg_runs_alone(legs: list[str], alone: list[int]) -> None:
    given = parsed("--legs", *legs, "--transports", "quic")
    found = over_each_leg(rows(given, base_scenario(given)), base_scenario(given).legs)
    assert [row["leg"] for row in found if row["mode"] == "sc"] == alone
    assert {row["leg"] for row in found if row["mode"] == "dc"} == {1}


def test_the_virtual_clock_compares_what_runs_on_it_unless_told_otherwise() -> None:
    kernel = [*(("tcp", mode) for mode in ("sc", "dc", "dc")), ("mptcp", "multipath")]

    def of_stack(name: str) -> list[tuple[str, str]]:
        modes = ("sc", "dc", "dc")
        return [*((f"quic-{name}", mode) for mode in modes), (f"mpquic-{name}", "multipath")]

    def pairs(*options: str) -> list[tuple[str, str]]:
        return [(row["transport"], row["mode"]) for row in rows_of(*options)]

    assert pairs() == [*kernel, *(pair for name in stacks_of() for pair in of_stack(name))]
    assert pairs("--stacks", "noq") == [*kernel, *of_stack("noq")]
    assert pairs("--congestion-control", "bbr") == [*kernel, *of_stack("picoquic")]
    assert {row["transport"] for row in rows_of("--transports", "tcp")} == {"tcp"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stacks", "tquic"], "--stacks: tquic; allowed: picoquic, noq"),
        (["--stacks", "noq", "noq"], "--stacks: noq noq; allowed: picoquic, noq"),
        (["--stacks", "noq", "--transports", "tcp"], "--stacks: not with --transports"),
    ],
)
def test_a_stack_that_is_none_or_beside_transports_is_refused(
    options: list[str], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        rows_of(*options)


def test_a_receive_buffer_is_for_transports_that_have_the_option() -> None:
    named = ["--transports", "tcp", "quic", "quic-ngtcp2", "--modes", "sc"]
    found = rows_of(*named, "--set", "options.receive_buffer_bytes=1", clock="real")
    buffer = {"receive_buffer_bytes": 1}
    assert [row["options"] for row in found] == [{}, buffer, buffer]


def test_the_virtual_clock_has_a_run_a_processor_and_the_real_one_a_single_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(7)))
    assert parsed().jobs is None
    assert (chosen_jobs(None, "virtual"), chosen_jobs(None, "real")) == (7, 1)
    assert (chosen_jobs(3, "virtual"), chosen_jobs(1, "real")) == (3, 1)
    with pytest.raises(SettingsError, match="--jobs"):
        chosen_jobs(2, "real")


def test_a_trace_can_be_made_described_and_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, mahimahi = tmp_path / "t.csv", tmp_path / "t.mahimahi"
    assert (
        cli.main(["trace", "synthesise", str(made), "--seconds", "5000ms", "--mean", "750kB/s"])
        == 0
    )
    assert cli.main(["trace", "convert", str(made), str(mahimahi)]) == 0
    assert cli.main(["trace", "info", str(mahimahi)]) == 0
    assert json.loads(capsys.readouterr().out)["mean_mbps"] == pytest.approx(6, rel=0.01)
    mahimahi.write_text("1\n2\n500\n")
    assert cli.main(["trace", "info", str(mahimahi)]) == 0
    assert "as short as 500 ms" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["trace", "convert", str(made), str(made), "--step", "0.5ms"]) == 2


def test_a_log_of_cqi_becomes_the_rates_of_a_carrier_s_leg(tmp_path: Path) -> None:
    log, rates = tmp_path / "log.csv", tmp_path / "rates.csv"
    log.write_text("time_s,cqi,rank,blocks\n0,8,4,100\n1,8,2,50\n", encoding="utf-8")
    options = ["--carrier", "nr-tdd-100", "--layers-column", "rank", "--share-column", "blocks"]
    assert cli.main(["trace", "convert", str(log), str(rates), *options]) == 0
    leg = dc.Leg(carrier="nr-tdd-100", trace=rates)
    of_cqi_8 = dc.nr().downlink.rate_mbps
    assert of_cqi_8 is not None
    bits = leg.downlink.capacity().bits_between(0, 2 * NS_PER_S)
    assert bits / 1e6 == pytest.approx(of_cqi_8 * (1 + 0.25), rel=1e-3)
    assert leg.uplink == dc.nr().uplink


@pytest.mark.usefixtures("without_figures")
def test_a_run_over_a_trace_with_a_gap_says_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("0,10\n1,10\n2,10\n3,10\n24.5,10\n25.5,10\n")
    options = ["--repetitions", "1", "--size", "10kB", "--transports", "quic-picoquic"]
    options += ["--modes", "sc", "dc", "--legs", str(path), str(path), "--clock", "virtual"]
    options += ["--jobs", "1"]
    arguments = ["compare", *options, "--output", str(tmp_path / "out")]
    assert cli.main(arguments) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "gap" in line]
    assert told == [
        "minitopo-dc: trace t.csv: a gap of 21.5 s (21.5 median steps) from 3.00 s on, over which "
        "the value before holds; read as times of 'column 1' in s, rates of 'column 2' in Mbit/s: "
        "mean 10.0 Mbit/s over 26.5 s"
    ]


def test_a_drive_can_be_made_described_and_turned_into_channels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells, channels = str(tmp_path / "cells.csv"), str(tmp_path / "channels.csv")
    made = ["trace", "synthesise-drive", cells, "--environment", "road", "--seconds", "20"]
    assert cli.main(made) == 0
    assert cli.main(["trace", "channels", cells, channels, "--scale", "0.5"]) == 0
    assert cli.main(["trace", "info", cells]) == 0
    of_cells = json.loads(capsys.readouterr().out)
    assert cli.main(["trace", "info", channels]) == 0
    of_channels = json.loads(capsys.readouterr().out)
    assert of_channels["available_shares"] == of_cells["available_shares"]
    level = "Multipath"
    assert of_channels["capacity"][level]["mean_mbps"] == pytest.approx(
        of_cells["capacity"][level]["mean_mbps"] / 2, rel=0.001
    )
    assert cli.main(["trace", "info", channels, "--column", "channel_1_mbps"]) == 0
    assert json.loads(capsys.readouterr().out)["duration_s"] == 20


@pytest.mark.parametrize("seconds", ["1", "nan", "inf"])
def test_a_measurement_too_short_or_too_long_is_one_error(
    seconds: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mininet.net")
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)
    assert cli.main(["calibrate", "--seconds", seconds]) == 2
    assert f"--seconds {seconds}: allowed: 2 to 3600" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [["calibrate"], ["exec", "--", "true"], ["minitopo", "--minitopo", "m", "-t", "t", "-x", "x"]],
)
def test_what_needs_the_real_clock_is_refused_where_it_cannot_run(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: "not root")
    assert cli.main(command) == 2
    assert capsys.readouterr().err == f"minitopo-dc: {command[0]} needs the real clock: not root\n"


def test_calibration_where_ipv6_does_not_work_is_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mininet.net")
    from minitopo_dc.real import elements

    monkeypatch.setattr(clocks, "real_clock_obstacle", lambda: None)
    monkeypatch.setattr(elements, "probe_kernel", lambda: {"IPv6": "no such family"})
    output = ["--output", str(tmp_path / "legs")]
    assert cli.main(["calibrate", "--set", "ip_version=6", *output]) == 1
    error = capsys.readouterr().err
    assert "minitopo-dc: IPv6 does not work here: no such family" in error
    assert "Traceback" not in error


def test_a_parameter_is_of_those_of_several_policies_that_have_it() -> None:
    options = ("--split", "least-delay", "threshold", "--modes", "dc")
    found = rows_of(*options, "--set", "pdcp.parameters.threshold_bytes=25600")
    given = {row["pdcp"]["split"]: row["pdcp"].get("parameters", {}) for row in found}
    assert given == {"least-delay": {}, "threshold": {"threshold_bytes": 25600}}


@pytest.mark.parametrize("split", ["proportional", "bandit", "credit"])
def test_a_policy_has_the_reports_or_the_flow_control_that_it_needs(split: str) -> None:
    made = scenario("--split", split).pdcp
    assert (made.report_ms is None, made.flow_control is None) == (
        split == "credit",
        split != "credit",
    )


def test_a_recording_s_two_files_are_a_leg_s_two_directions(tmp_path: Path) -> None:
    for ending in ("down", "up"):
        (tmp_path / f"drive.{ending}").write_text("1\n2\n")
    drive = tmp_path / "drive"
    legs = scenario("--legs", str(drive), "10").legs
    assert (legs[0].downlink.trace, legs[0].uplink.trace) == (
        tmp_path / "drive.down",
        tmp_path / "drive.up",
    )
    assert legs[1].uplink.rate_mbps == 20
    mine = scenario("--legs", str(drive), "10", "--uplink", "5").legs
    assert (mine[0].downlink.trace, mine[0].uplink.rate_mbps) == (tmp_path / "drive.down", 5)
