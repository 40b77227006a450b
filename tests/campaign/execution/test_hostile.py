"""Campaign files and directories that are wrong: one clear message each."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.campaign.execution.store import Store, StoreError
from minitopo_dc.campaign.file.plan import count_plan, read_plan
from minitopo_dc.campaign.file.scenarios import Overrides
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import SettingsError
from tests.campaign.campaigns import document, experiment, fail, pretend, run_with, write


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (document(base={"legs": 5, "transport": "quic", "mode": "sc"}), "legs: 5 is no list"),
        (experiment(base={"legs": 5}, grid={"legs.0.downlink.rate_mbps": [1]}), "leads into 5"),
        (experiment(grid={"legs.².downlink.rate_mbps": [1]}), "² is no index in legs"),
        (
            experiment(base={"pdcp.batch": "=9**99999"}, grid={"leg": [1]}),
            "a whole number of more than 10000 bits",
        ),
        (experiment(base={"pdcp.batch": "=" + "(" * 900}, grid={"leg": [1]}), "pdcp.batch"),
        (experiment(grid={f"label.{n}": list(range(9)) for n in range(9)}), "387,420,489 cells"),
        (experiment(design={"points": 10**30, "factors": {"leg": [1, 2]}}), "allowed: 1 to 10,000"),
        (document(repetitions=10**30), "repetitions: .*allowed: 1 to 1,000,000"),
    ],
)
def test_a_wrong_file_is_one_error_with_its_key(
    content: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(SettingsError, match=words) as caught:
        read_plan(path, Overrides(clock="virtual"))
    assert str(path) in str(caught.value)


def test_a_dry_run_counts_a_million_repetitions_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, document(repetitions=1_000_000))
    assert main(["campaign", "run", str(path), "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("4 cells, 4000000 runs on the virtual clock\n")


def test_a_dry_run_counts_what_a_plan_has(tmp_path: Path) -> None:
    content = experiment(grid={"seed": [1, 2, 5, 1], "pdcp.batch": [2, 9]})
    path = write(tmp_path, content | {"repetitions": 3})
    plan = read_plan(path)
    count = count_plan(path, Overrides())
    found = (count.cells, count.runs, count.clock)
    assert found == (len(plan.cells), len(plan.runs), "virtual")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A campaign that is done."""
    return run_with(tmp_path, document(repetitions=1), pretend)


def test_a_stray_file_among_the_runs_is_none(root: Path) -> None:
    before = Store(root).done()
    (root / "runs" / "notes.txt").write_text("mine")
    assert Store(root).done() == before
    assert main(["campaign", "status", str(root)]) == 0


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "5", "null", "{}", "[" * 100_000, '{"clock": 1}'),
        *('{"file": 5, "cells": [], "clock": "virtual", "version": "full", "fields": {}}',),
        *('{"file": {}, "cells": 5, "clock": "virtual", "version": "full", "fields": {}}',),
    ],
)
def test_a_damaged_plan_is_one_message(
    text: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "plan.json").write_text(text)
    assert main(["campaign", "status", str(root)]) == 2
    assert str(root / "plan.json") in capsys.readouterr().err


@pytest.mark.parametrize("name", ["clock", "version", "fields", "cells"])
@pytest.mark.parametrize("value", [5, None, "x", [1], {"a": 1}])
def test_a_damaged_field_of_a_plan_is_one_message(name: str, value: Any, root: Path) -> None:
    plan = json.loads((root / "plan.json").read_text())
    (root / "plan.json").write_text(json.dumps(plan | {name: value}))
    with pytest.raises(StoreError, match=r"plan\.json"):
        Store(root).plan()


@pytest.mark.parametrize(
    "change", [{"status": 5}, {"reason": None}, {"leg_bytes": "x"}, {"details": []}, {"more": 1}]
)
def test_a_result_that_was_never_whole_is_damaged(change: dict[str, Any], root: Path) -> None:
    path = next(root.glob("runs/*/result.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    (path.parent / "checksums.json").unlink()
    [(name, why)] = Store(root).damaged().items()
    assert name == path.parent.name
    assert why.startswith(f"malformed run: {path}: ")
    assert name not in Store(root).done()


def test_a_directory_where_nothing_may_be_written_tells_its_state(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "results.csv").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["campaign", "status", str(root)]) == 0
    assert "read-only, so no tables are written" in capsys.readouterr().out
    assert not (root / "results.csv").exists()


def test_a_report_that_cannot_be_written_names_its_directory(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    where = str(tmp_path / "file" / "report")
    assert main(["campaign", "report", str(root), "--output", where]) == 2
    assert "--output: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["runs", "working", "lock"])
def test_a_directory_with_something_in_the_way_is_one_message(name: str, tmp_path: Path) -> None:
    plan = read_plan(write(tmp_path, document()))
    root = tmp_path / "out"
    root.mkdir()
    (root / name).mkdir() if name == "lock" else (root / name).write_text("")
    with pytest.raises(StoreError, match="give another directory"), Store(root).open(plan):
        pass


@pytest.mark.parametrize("name", ["result.json", "scenario.yaml", "checksums.json"])
@pytest.mark.parametrize("content", [b"", b"x", None])
def test_a_damaged_file_of_a_run_is_named_and_the_run_is_done_again(
    name: str, content: bytes | None, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Store(root).done()
    damaged = next(root.glob(f"runs/*/{name}"))
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
    elif name == "checksums.json":
        damaged.mkdir()
    assert main(["campaign", "status", str(root)]) == 1
    assert f"damaged: {damaged.parent}: {name}" in capsys.readouterr().out.replace("\n", "")
    run_with(root.parent, document(repetitions=1), pretend)
    assert Store(root).damaged() == {}
    assert Store(root).done().keys() == before.keys()


def test_a_run_that_was_recorded_without_checksums_is_whole(root: Path) -> None:
    before = Store(root).done()
    for sums in root.glob("runs/*/checksums.json"):
        sums.unlink()
    assert Store(root).damaged() == {}
    assert Store(root).done() == before


def test_what_has_the_place_of_a_run_gives_way(root: Path) -> None:
    before = Store(root).done()
    first = sorted(root.glob("runs/*"))[0]
    first.rename(root / "elsewhere")
    first.write_text("mine")
    run_with(root.parent, document(repetitions=1), pretend)
    assert Store(root).done().keys() == before.keys()


@pytest.mark.parametrize("log", ["client.err", "gnb-element.log", None])
def test_a_run_that_failed_for_want_of_room_is_done_again(log: str | None, tmp_path: Path) -> None:
    words = os.strerror(errno.ENOSPC)

    def full(scenario: Scenario, directory: Path) -> RunResult:
        if log is not None:
            (directory / log).write_text(f"curl: (23) {words}\n")
        result = fail(scenario, directory)
        return replace(result, reason=words) if log is None else result

    with pytest.raises(StoreError, match="the disk is full"):
        run_with(tmp_path, document(repetitions=1), full)
    root = run_with(tmp_path, document(repetitions=1), pretend)
    assert {result.status for result in Store(root).done().values()} == {"ok"}


def test_a_quota_is_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "posix_fallocate", none_left)
    with pytest.raises(StoreError, match="the disk is full"):
        run_with(tmp_path, document(repetitions=1), fail)
