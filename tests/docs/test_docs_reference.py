"""The reference pages have what the code has: each field, column and key, and every file."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minitopo_dc import Campaign, load
from minitopo_dc.results import load_series
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
    cases = [(Scenario.check(base | more, "test"), {"way": str(more)}) for more in ({}, requests)]
    runs = Campaign(root, cases).run(jobs=1, progress=False)
    assert runs["status"].tolist() == ["ok", "ok"]
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
    columns = {str(name) for name in load_series(load(comparison), series)} - {"way", "seed"}
    general = {re.sub(r"^(pdus|bytes)_\d+$", r"\1_LEG", name) for name in columns}
    general = {re.sub(r"_histogram_\d+$", "_histogram_N", name) for name in general}
    assert general == set(REFERENCE.COLUMNS[series]()) - set(absent)


def test_a_run_s_result_has_the_fields_of_its_table(comparison: Path) -> None:
    path = next(comparison.glob("runs/*/result.json"))
    assert set(json.loads(path.read_text())) == set(REFERENCE.results())


def test_every_file_that_is_left_is_in_the_table(comparison: Path, tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    Campaign(campaign, batches(2, 100)).run()
    page = (DOCS / "data-model.md").read_text(encoding="utf-8")
    rows = page.partition("## Files")[2].partition("With several flows")[0].splitlines()
    patterns = [name.rstrip("/") for row in rows if row.startswith("|") for name in files(row)]
    left = {path.name for root in (comparison, campaign) for path in root.rglob("*")}
    left -= {path.name for root in (comparison, campaign) for path in (root / "runs").iterdir()}
    assert [name for name in left if not any(fnmatch(name, part) for part in patterns)] == []


def files(row: str) -> list[str]:
    """Return the files and folders that a row of the table of files names."""
    cells = CODE.findall(row.partition("|")[2].partition("|")[2])
    return [part for name in cells for part in (name, *name.split("/")) if part]
