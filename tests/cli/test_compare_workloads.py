"""`compare`: workloads, and legs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from minitopo_dc import cli, load
from minitopo_dc.cli.show import side_by_side
from minitopo_dc.fields import SettingsError
from minitopo_dc.scenario import Clock
from minitopo_dc.workloads import Download, Ping, RequestResponse, Workload
from minitopo_dc.workloads.base import _WORKLOADS, get_workload, workload_names
from tests.cli.test_commands import rows_of, scenario

pytestmark = pytest.mark.usefixtures("without_figures")
PLUGIN = '''
"""A workload of a test's own."""

from minitopo_dc.workloads import Download, workload


@workload("{name}")
class Twice(Download):
    """A download."""

    times: int = 2
'''
QUICK = ["--clock", "virtual", "--jobs", "1", "--repetitions", "2", "--legs", "10", "10"]
QUICK += ["--transports", "quic"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], Download()),
        (["--size", "3"], Download(size_mb=3)),
        (["--workload", "download:duration_s=2.5"], Download(duration_s=2.5)),
        (["--workload", "download:", "--size", "3"], Download(size_mb=3)),
        (["--workload", "ping"], Ping()),
        (["--workload", "ping:count=3,interval_s=0.2,"], Ping(count=3, interval_s=0.2)),
        (
            ["--workload", "request-response:interval_s=0.4,duration_s=20"],
            RequestResponse(interval_s=0.4, duration_s=20),
        ),
    ],
)
def test_a_workload_is_its_name_and_its_parameters(arguments: list[str], wanted: Workload) -> None:
    assert scenario(*arguments).workload == wanted


def compared(*arguments: str, clock: Clock = "real", workload: str = "download") -> set[str]:
    made = rows_of(*arguments, "--workload", workload, clock=clock)
    return {f"{row['transport']} {row['mode']}" for row in made}


def test_requests_are_compared_over_the_transports_that_carry_them() -> None:
    below_ip = {f"{name} {mode}" for name in ("tcp", "quic-picoquic") for mode in ("sc", "dc")}
    found = compared("--modes", "sc", "dc", "multipath", workload="request-response")
    assert found == below_ip | {"mptcp multipath", "mpquic-picoquic multipath"}


@pytest.mark.parametrize("named", [[], ["--transports", "icmp"]])
def test_pings_are_compared_in_the_one_mode_that_they_have(named: list[str]) -> None:
    assert compared(*named, workload="ping") == {"icmp sc"}


def test_what_no_transport_of_the_clock_carries_is_one_error() -> None:
    with pytest.raises(SettingsError, match="workload ping"):
        compared(clock="virtual", workload="ping")


def run(directory: Path, *arguments: str) -> tuple[Path, int]:
    output = directory / "out"
    return output, cli.main(["compare", *arguments, "--output", str(output)])


def test_a_transport_that_does_not_carry_the_workload_is_refused_before_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--transports", "quic-ngtcp2", "--workload", "request-response"]
    output, code = run(tmp_path, "--clock", "virtual", *named)
    assert (code, output.exists()) == (2, False)
    assert capsys.readouterr().err == (
        "minitopo-dc: workload: transport quic-ngtcp2 does not carry workload request-response; "
        "allowed: download\n"
    )


def test_beside_others_it_is_a_row_that_is_unsupported_and_named_beforehand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--transports", "quic", "quic-ngtcp2", "--modes", "sc", "--repetitions", "1"]
    asked = ["--clock", "virtual", "--jobs", "1", *named, "--legs", "20", "20", "--workload"]
    asked.append("request-response:count=2")
    reason = "workload: transport quic-ngtcp2 does not carry workload request-response"
    output, code = run(tmp_path, *asked, "--dry-run")
    assert (code, output.exists()) == (0, False)
    assert f"unsupported here: leg 1 (quic-ngtcp2): {reason}" in capsys.readouterr().out
    output, code = run(tmp_path, *asked, "--json")
    assert code == 0
    status = {"leg 1 (quic)": "ok", "leg 1 (quic-ngtcp2)": "unsupported"}
    assert dict(load(output)[["way", "status"]].to_numpy()) == status
    rows = json.loads(capsys.readouterr().out)
    assert {row["way"]: row["status"] for row in rows} == status


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Requests over QUIC in two modes, twice, on the virtual clock."""
    workload = "request-response:count=5,interval_s=0.05"
    modes = ["--modes", "sc", "dc"]
    output, code = run(tmp_path_factory.mktemp("asked"), *QUICK, *modes, "--workload", workload)
    assert code == 0
    return output


def test_the_results_are_tables_a_figure_of_the_rows_and_a_directory_for_each_run(
    asked: Path,
) -> None:
    assert {path.name for path in asked.iterdir()} == {
        *("runs", "runs.csv", "runs.parquet", "campaign.json", "data-model.json", "lock"),
        *("packets.png", "request-response.png"),
        *("timeline.png", "verdict.json"),
    }
    assert len(list(asked.glob("runs/*/result.json"))) == 2 * 3


def test_the_table_of_requests_has_answers_and_delays_and_no_goodput(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    workload = "request-response:count=5,interval_s=0.05"
    _, code = run(tmp_path, *QUICK, "--modes", "dc", "--workload", workload)
    primary, *shown = capsys.readouterr().out.splitlines()
    assert code == 0
    assert primary.startswith("Leg 1 is primary (least delay)")
    assert shown[0].split() == ["median", "95th", "longest"]
    assert shown[1].split()[:4] == ["no", "delay", "percentile", "delay"]
    assert shown[2].split() == [
        *("way", "runs", "answered", "answer", "ms", "ms", "ms", "MB", "MB")
    ]
    row = next(line.split() for line in shown if line.startswith("DC (papers')"))
    assert row[:6] == ["DC", "(papers')", "2", "ok", "5", "0"]
    median, p95, largest = map(float, row[6:9])
    assert 15 < median <= p95 <= largest


@pytest.fixture
def forgotten_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads that plugins register are unknown to later tests."""
    known = {name: get_workload(name) for name in workload_names()}
    monkeypatch.setattr(_WORKLOADS, "_found", known)


@pytest.mark.usefixtures("forgotten_workloads")
def test_a_plugin_s_download_is_carried_by_who_carries_a_download(tmp_path: Path) -> None:
    path = tmp_path / "carried.py"
    path.write_text(PLUGIN.format(name="compare-carried"), encoding="utf-8")
    chosen = ["--plugin", str(path), "--workload", "compare-carried", "--size", "0.05"]
    output, code = run(tmp_path, *QUICK, "--modes", "sc", *chosen)
    assert code == 0
    found, _ = (json.loads(path.read_text()) for path in output.glob("runs/*/result.json"))
    assert (found["workload"], found["status"]) == ("compare-carried", "ok")
    assert found["size_bytes"] == 50_000


def test_the_better_leg_alone_is_the_measured_one_and_not_the_one_with_the_higher_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = ["--legs", "30", "20", "--delay", "60", "5", "--jitter", "0", "--size", "0.3"]
    named = [*QUICK, "--modes", "sc", "--repetitions", "1"]
    output, code = run(tmp_path, *named, *links)
    assert code == 0
    printed = capsys.readouterr().out
    assert "\nleg 2 " in printed
    assert "The better leg alone is leg 2: " in " ".join(printed.split())
    runs = load(output).set_index("way")["goodput_mbps"]
    assert runs["leg 2"] > 1.5 * runs["leg 1"]
    assert run(tmp_path, *named, *links)[1] == 0  # it is resumed, with nothing left to run


def runs(row: str, *values: float, first_seed: int = 1) -> pd.DataFrame:
    seeds = range(first_seed, first_seed + len(values))
    table = {"row": row, "seed": list(seeds), "value": list(values)}
    return pd.DataFrame(table)


@pytest.mark.parametrize(
    ("second", "seed", "expected"),
    [(99, 2, (20, 99, 79, 1)), (16, 7, (15, 16, 1, 0))],  # no seed in both: means, no interval
)
def test_only_runs_of_a_seed_that_is_in_both_are_compared(
    second: float, seed: int, expected: tuple[float, ...]
) -> None:
    (row,) = side_by_side(runs("dc", 10, 20), runs("dc", second, first_seed=seed)).itertuples()
    assert (row.first, row.second, row.difference, row.pairs) == expected
    assert str(row.low) == str(row.high) == "nan"
