"""docs/data-model.md has every file and every column that there is, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.comparison_runs import run_comparison
from minitopo_dc.data_model import RENAMED, VERSION
from minitopo_dc.link.any_leg import LegStatistics
from minitopo_dc.link.rlc.parameters import RlcStatistics
from minitopo_dc.link.wifi.parameters import WifiStatistics
from minitopo_dc.media.player import Player
from minitopo_dc.pdcp.statistics import HoldingStatistics, TransmitStatistics, WaitingTime
from minitopo_dc.results import load_results, load_series
from minitopo_dc.results.measures.handovers import COLUMNS as HANDOVERS
from minitopo_dc.results.tables.all_series import DIRECTIONS, RUN_SERIES, TCP_INFO
from minitopo_dc.results.tables.labels import ID
from minitopo_dc.router.delivery import DeliveryStatistics
from minitopo_dc.runners.tcp.info import FIELDS
from minitopo_dc.runs.results import SETTINGS, RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Ping, Realtime, Video, workload_names
from minitopo_dc.workloads.call import frame_rows
from minitopo_dc.workloads.path_reports import COLUMNS as PATHS
from minitopo_dc.workloads.request_response import request_rows
from minitopo_dc.workloads.video import segment_rows
from tests import REPOSITORY
from tests.campaign.cases import batches

PAGE = REPOSITORY / "docs" / "data-model.md"
CODE = re.compile("`([^`]+)`")
PER_LEG = ("pdus", "bytes", "failures", "failed_ns", "probes")
OF_LEGS = {"time_s", "direction", "leg"}
OF_BEARERS = {"time_s", "direction", "bearer"}


def sections() -> dict[str, list[list[str]]]:
    """The tables below each heading, each the lines of its body."""
    found: dict[str, list[list[str]]] = {}
    tables: list[list[str]] = []
    before = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            tables = found.setdefault(line.lstrip("# "), [])
        elif line.startswith("| ---"):
            tables.append([])
        elif line.startswith("|") and before.startswith("|"):
            tables[-1].append(line)
        before = line
    return found


def a_player() -> Player:
    """One that has asked for its first segment."""
    player = Video().player()
    player.next(0)
    return player


def columns(section: str, table: int = 0) -> list[str]:
    """The names in the first column of a table."""
    rows = sections()[section][table]
    return [name for row in rows for name in CODE.findall(row.split("|")[1])]


def counters(statistics: type[Any], beyond: type[Any] | None = None) -> set[str]:
    """The columns of a statistics dataclass, but for those of another."""
    known = {field.name for field in fields(beyond)} if beyond else set()
    return {name for field in fields(statistics) if field.name not in known for name in _of(field)}


def _of(field: Any) -> Iterator[str]:
    if field.name == "waiting" and "WaitingTime" in str(field.type):
        names = (each.name for each in fields(WaitingTime))
        yield from (f"waiting_{name}{'_N' if name == 'histogram' else ''}" for name in names)
    elif field.name in PER_LEG:
        yield f"{field.name}_LEG"
    else:
        yield RENAMED.get(field.name, field.name)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs on the virtual clock that record what they can."""
    root = tmp_path_factory.mktemp("made") / "compared"
    base: dict[str, Any] = {
        "transport": "quic",
        "mode": "dc",
        "clock": "virtual",
        "virtual": {"packet_trace": True},
        "legs": [{"downlink": {"rate_mbps": 20}}] * 2,
        "workload": {"size_mb": 0.02},
    }
    requests = {"workload": {"kind": "request-response", "count": 2, "interval_s": 0.05}}
    results = run_comparison(Scenario.check(base, "test"), [{}, requests], root)
    assert [result.status for result in results] == ["ok", "ok"]
    return root


def test_the_columns_of_every_run(comparison: Path) -> None:
    ours = [field.name for field in fields(RunResult) if field.name != "settings"]
    expected = {ID, *ours, "trust", "repeats", "leg_bytes_LEG", *SETTINGS}
    named = columns("Results")
    assert len(named) == len(set(named))
    assert set(named) == expected
    table = load_results(comparison / load_results(comparison)["id"][0])
    assert {re.sub(r"^leg_bytes_\d+$", "leg_bytes_LEG", str(name)) for name in table} == expected


@pytest.mark.parametrize(
    ("section", "table", "expected"),
    [
        ("legs", 0, OF_LEGS | counters(LegStatistics)),
        ("legs", 1, counters(RlcStatistics, LegStatistics)),
        ("legs", 2, counters(WifiStatistics, LegStatistics)),
        ("transmit", 0, OF_BEARERS | counters(TransmitStatistics)),
        ("transmit", 1, counters(HoldingStatistics, TransmitStatistics)),
        ("receive", 0, OF_BEARERS | counters(DeliveryStatistics)),
        ("paths", 0, set(PATHS)),
        ("handovers", 0, set(HANDOVERS)),
        ("tcp-info", 0, {"time_s", "flow", *FIELDS}),
        ("request-response", 0, {"flow", *request_rows([(0.0, 1.0)])[0]}),
        ("video", 0, {"flow", *segment_rows(a_player(), 0)[0]}),
        ("realtime", 0, {"flow", *frame_rows(Realtime(duration_s=1).plan, 0, {}, 0, up=False)[0]}),
    ],
)
def test_the_columns_of_series(section: str, table: int, expected: set[str]) -> None:
    named = columns(section, table)
    assert len(named) == len(set(named))
    assert set(named) == expected


def test_the_columns_of_segments() -> None:
    player = Video().player()
    player.next(0)
    assert set(columns("video")) == {"flow", *segment_rows(player, 0)[0]}


def test_the_columns_of_echoes() -> None:
    assert Ping.figure is not None
    drawn = {Ping.figure.x, Ping.figure.y, *Ping.figure.lines}
    assert set(columns("ping")) == {"flow", *drawn}


@pytest.mark.parametrize(
    "name", ["client-rate", "connections", "packets", "legs", "transmit", "receive"]
)
def test_the_columns_of_what_a_run_records(comparison: Path, name: str) -> None:
    labels = load_series(comparison, "client-rate").columns[:-2]
    series = map(str, load_series(comparison, name))
    found = [each for each in series if each not in {*labels, "run.leg"}]
    found += ["leg"] if name == "legs" else []
    general = {re.sub(r"^(pdus|bytes)_\d+$", r"\1_LEG", each) for each in found}
    general = {re.sub(r"_histogram_\d+$", "_histogram_N", each) for each in general}
    documented = set(columns(name))
    missing = {"t_reordering_ns", "missing_by_order"} if name == "receive" else set()
    assert general == documented - missing


def test_every_series_has_a_section() -> None:
    recorded = set(workload_names()) - {"download", "command"}
    assert {*DIRECTIONS, *RUN_SERIES, TCP_INFO, *recorded} <= set(sections())


def test_every_renamed_column_is_told_with_its_new_name() -> None:
    rows = sections()["Version"][1]
    old = [name for row in rows for name in CODE.findall(row.split("|")[1])]
    new = [name.lstrip(".") for row in rows for name in CODE.findall(row.split("|")[2])]
    assert set(old) == set(RENAMED)
    assert all(any(value.endswith(each) for each in new) for value in RENAMED.values())
    assert columns("Version") == []
    assert sections()["Version"][0][0].startswith(f"| {VERSION} |")


def test_every_file_that_is_left_is_in_the_table(comparison: Path, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    Campaign(campaign, batches(2, 100)).run()
    patterns = [
        name.rstrip("/")
        for row in sections()["Files"][0]
        for name in CODE.findall(row.split("|")[2])
    ]
    patterns += ["runs"]
    directories = {path.name for path in comparison.iterdir() if path.is_dir()}
    left = {path.name for root in (comparison, campaign) for path in root.rglob("*")}
    left -= directories | {path.name for path in (campaign / "runs").iterdir()}
    assert not [name for name in left if not any(fnmatch(name, each) for each in patterns)]
