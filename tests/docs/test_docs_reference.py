"""The reference pages have what the code has: each field, column and key, and every file."""

from __future__ import annotations

import importlib.util
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minitopo_dc.campaign.campaign import Campaign
from minitopo_dc.campaign.executors import local
from minitopo_dc.comparison import RowCampaign
from minitopo_dc.results import load_results, load_series
from minitopo_dc.runs.perform import Retries
from minitopo_dc.scenario import Scenario
from tests import REPOSITORY
from tests.campaign.cases import batches
from tests.docs.pages import DOCS

CODE = re.compile("`([^`]+)`")


def script() -> ModuleType:
    """Load `scripts/reference.py`, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("reference", REPOSITORY / "scripts/reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


REFERENCE = script()


def test_no_reference_page_is_stale() -> None:
    assert REFERENCE.stale() == [], "python scripts/reference.py writes them"


def test_every_table_is_in_a_page() -> None:
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in REFERENCE.PAGES)
    assert {name for name in REFERENCE.TABLES if f"<!-- table: {name} -->\n" not in pages} == set()


def test_words_are_of_names_that_there_are() -> None:
    """A field that has gone leaves no words behind."""
    shown = {name for rows in map(REFERENCE.table, REFERENCE.TABLES) for name in names(rows)}
    known = {name for words in REFERENCE.WORDS.values() for key in words for name in key.split()}
    assert known - shown - {"pathAt_c2r_<id>"} == set()


def names(rows: list[str]) -> list[str]:
    """Return the names in the first column of a table."""
    return [name for row in rows for name in CODE.findall(row.split("|")[1])]


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
    comparison = RowCampaign(root, [Scenario.check(base | more, "test") for more in ({}, requests)])
    with comparison.held(), local(1) as workers:
        ended = dict(comparison.run(comparison.runs, workers, Retries()))
    assert [result.status for result in ended.values()] == ["ok", "ok"]
    return root


OF_SOME_LEGS = (
    *("dropped_early", "marked_packets"),
    *("ect0_packets", "ect1_packets", "ce_packets", "dropped_mtu"),
)
"""Columns of legs with a queue discipline or an MTU."""


@pytest.mark.parametrize(
    ("series", "absent"),
    [
        *((name, ()) for name in ("client-rate", "connections", "packets")),
        ("legs", OF_SOME_LEGS),
        ("transmit", ("marked_sdus",)),
        ("receive", ("t_reordering_ns", "missing_by_order")),
    ],
)
def test_a_recorded_series_has_the_columns_of_its_table(
    comparison: Path, series: str, absent: tuple[str, ...]
) -> None:
    labels = load_series(comparison, "client-rate").columns[:-2]
    columns = {str(name) for name in load_series(comparison, series)} - {*labels, "run.leg"}
    columns |= {"leg"} if series == "legs" else set()
    general = {re.sub(r"^(pdus|bytes)_\d+$", r"\1_LEG", name) for name in columns}
    general = {re.sub(r"_histogram_\d+$", "_histogram_N", name) for name in general}
    assert general == set(REFERENCE.COLUMNS[series]()) - set(absent)


def test_the_table_of_runs_has_the_columns_of_its_table(comparison: Path) -> None:
    table = load_results(comparison / load_results(comparison)["id"][0])
    columns = {re.sub(r"^leg_bytes_\d+$", "leg_bytes_LEG", str(name)) for name in table}
    assert columns == set(REFERENCE.results())


def test_every_file_that_is_left_is_in_the_table(comparison: Path, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    Campaign(campaign, batches(2, 100)).run()
    page = (DOCS / "data-model.md").read_text(encoding="utf-8")
    rows = page.partition("## Files")[2].partition("With several flows")[0].splitlines()
    patterns = [name.rstrip("/") for row in rows if row.startswith("|") for name in files(row)]
    directories = {path.name for path in comparison.iterdir() if path.is_dir()}
    left = {path.name for root in (comparison, campaign) for path in root.rglob("*")}
    left -= directories | {path.name for path in (campaign / "runs").iterdir()}
    assert [name for name in left if not any(fnmatch(name, part) for part in patterns)] == []


def files(row: str) -> list[str]:
    """Return the files and folders that a row of the table of files names."""
    cells = CODE.findall(row.partition("|")[2].partition("|")[2])
    return [part for name in cells for part in (name, *name.split("/")) if part]
