"""Stores that are damaged or made by somebody else: counted or refused, never waited for."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile.stores import OPTIONAL_FILES, REQUIRED_FILES, SPECIAL, make_store, put
from minitopo_dc.analysis import ResultError, client_rate, leg_series, load_results
from minitopo_dc.campaign.execution.store import Store, seal
from minitopo_dc.cli import main
from minitopo_dc.runs.results import RunResult
from tests.campaign.campaigns import document, pretend, run_with

PATIENCE_S = 60
"""Of a test on a busy machine; each takes less than one."""


class HangError(BaseException):
    """It does not end; no handler of errors is to take it for one."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that waits; a line on the screen stays one."""
    monkeypatch.setenv("COLUMNS", "2000")

    def end(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


FILES = ("plan.json", "results.csv", "results.parquet", "lock")
RUN_FILES = (*OPTIONAL_FILES, *REQUIRED_FILES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A campaign of two runs that is done."""
    return make_store(tmp_path / "a", "legs")


def only_run(root: Path) -> Path:
    return sorted((root / "runs").iterdir())[0]


def ended(root: Path, action: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """A command's status and words, of which none says that nobody foresaw it."""
    capsys.readouterr()
    status = main(["campaign", action, str(root)])
    said = "".join(capsys.readouterr())
    assert "unexpected" not in said, said
    return status, said


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", RUN_FILES)
def test_a_special_file_of_a_run_is_a_damaged_run(
    name: str, kind: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = only_run(root)
    put(run / name, kind)
    assert list(Store(root).damaged()) == [run.name]
    status, said = ended(root, "status", capsys)
    assert status == 1
    [line] = [line for line in said.splitlines() if line.startswith(f"damaged: {run}: ")]
    assert name in line
    if name in ("result.json", "scenario.yaml"):
        with pytest.raises(ResultError, match=re.escape(name)):
            load_results(root / "runs")
    else:
        assert len(load_results(root / "runs")) == 2


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "not sealed"])
@pytest.mark.parametrize("kind", ["pipe", "device", "huge", "deep"])
@pytest.mark.parametrize("name", RUN_FILES)
def test_a_report_names_a_special_file_or_does_without(
    name: str, kind: str, sealed: bool, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = only_run(root)
    put(run / name, kind)
    if not sealed and name != "checksums.json":
        (run / "checksums.json").unlink()
    status, said = ended(root, "report", capsys)
    assert status == 0
    told = said + (root / "report" / "report.html").read_text()
    if sealed or name in ("result.json", "environment.json", "gnb-legs.csv", "gnb-summary.json"):
        assert name in told


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("action", ["status", "report"])
@pytest.mark.parametrize("name", FILES)
def test_a_special_file_of_a_store_is_one_error(
    name: str, action: str, kind: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(root / name, kind)
    status, said = ended(root, action, capsys)
    if name == "plan.json" or (name.startswith("results") and kind == "folder"):
        assert (status, said.startswith("minitopo-dc: ")) == (2, True)
        assert said.count("\n") == 1
        assert name in said
    else:
        assert status == 0  # written anew, or not looked at


@pytest.mark.parametrize("kind", ["pipe", "link out", "folder"])
def test_a_special_lock_is_not_waited_for_nor_followed(
    kind: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(root / "lock", kind)
    file = root.parent / "campaign.yaml"
    before = [each.name for each in root.parents[1].iterdir()]
    assert main(["campaign", "run", str(file), "--output", str(root)]) in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
    assert [each.name for each in root.parents[1].iterdir()] == before


@pytest.mark.parametrize("name", ["runs", "runs/RUN"])
def test_a_folder_that_is_a_link_is_not_followed(
    name: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = root / name.replace("RUN", only_run(root).name)
    elsewhere = root.parent / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    status, said = ended(root, "status", capsys)
    assert (status, "link" in said) == (2 if name == "runs" else 1, True)
    assert main(["campaign", "run", str(root.parent / "campaign.yaml"), "--output", str(root)]) in (
        (2,) if name == "runs" else (0, 1)
    )
    assert list(elsewhere.iterdir())


def test_a_digest_of_a_file_elsewhere_is_not_made(root: Path, tmp_path: Path) -> None:
    run = only_run(root)
    (tmp_path / "secret").write_text("x")
    (run / "checksums.json").write_text(
        json.dumps({str(tmp_path / "secret"): "0", "/dev/zero": "0"})
    )
    assert "leads out of" in Store(root).damaged()[run.name]


def test_a_link_from_a_file_to_one_beside_it_is_followed(root: Path) -> None:
    run = only_run(root)
    before = client_rate(run)
    (run / "client-rate.csv").rename(run / "moved.csv")
    (run / "client-rate.csv").symlink_to("moved.csv")
    assert client_rate(run).equals(before)


@pytest.mark.parametrize("rows", ["1e18,5", "inf,5", "0,inf", "0,1e999", "nan,1", f"{'9' * 400},1"])
def test_a_time_without_bounds_is_refused(rows: str, root: Path) -> None:
    run = only_run(root)
    (run / "client-rate.csv").write_text(f"time_s,received_bytes\n0,0\n{rows}\n")
    with pytest.raises(ResultError, match=r"client-rate\.csv"):
        client_rate(run)


@pytest.mark.parametrize(
    "details",
    [
        {"units": 5},
        {"units": {"status": "s"}, "status": 1},
        {"units": {"x": "s"}, "x": "long"},
        {"flows": 5},
        {"flows": [5]},
        {"flows": [{"goodput_mbps": "x"}]},
    ],
)
def test_details_that_no_table_can_hold_are_refused(
    details: dict[str, Any], root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = only_run(root)
    replace(RunResult.load(run), details=details).save(run)
    seal(run)
    with pytest.raises(ResultError, match="details"):
        load_results(root / "runs")
    assert ended(root, "status", capsys)[0] == 1


def test_a_scenario_of_somebody_s_results_imports_no_plugin(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (root / "runs").iterdir():
        plugin = run / "plugin.py"
        plugin.write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
        text = (run / "scenario.yaml").read_text()
        assert "plugins: []" in text
        (run / "scenario.yaml").write_text(text.replace("plugins: []", f"plugins: ['{plugin}']"))
        seal(run)
    plan = json.loads((root / "plan.json").read_text())
    plan["file"]["experiments"]["legs"]["figure"]["kind"] = "rows"
    (root / "plan.json").write_text(json.dumps(plan))
    ended(root, "status", capsys)
    ended(root, "report", capsys)
    assert not (tmp_path / "imported").exists()


def test_a_reference_is_one_of_ours(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = json.loads((root / "plan.json").read_text())
    one = plan["file"]["experiments"]["legs"]
    one["figure"] = {"x": "pdcp.batch", "curves": [{"configuration": "default", "mean": "a"}]}
    one["reference"] = {"table": "/dev/zero", "x": "a"}
    (root / "plan.json").write_text(json.dumps(plan))
    status, said = ended(root, "report", capsys)
    assert (status, said.count("\n")) == (2, 1)
    assert "/dev/zero: leads out of" in said


def test_legs_of_a_folder_in_a_series_place_are_refused(root: Path) -> None:
    put(only_run(root) / "gnb-legs.csv", "folder")
    with pytest.raises(ResultError, match=r"gnb-legs\.csv: no regular file"):
        leg_series(only_run(root))


def as_command(*words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-P", "-m", "minitopo_dc.cli", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.root
@pytest.mark.parametrize("action", ["status", "report"])
def test_root_reads_a_store_as_its_owner(action: str, root: Path, tmp_path: Path) -> None:
    """Who made it may have linked a table's new name to root's files."""
    for place in (*tmp_path.parents, tmp_path, root.parent):
        if place.stat().st_uid == 0 and len(place.parts) > 2:
            place.chmod(place.stat().st_mode | 0o011)
    for path in (root, *root.rglob("*")):
        os.lchown(path, 65_533, 65_533)
    done = as_command("campaign", action, str(root))
    assert done.returncode == 0, done.stderr
    assert "user 65533: read and written as user 65533, not as root" in done.stderr.replace(
        "'s", ""
    )
    made = root / ("results.csv" if action == "status" else "report/report.html")
    assert (made.stat().st_uid, made.stat().st_gid) == (65_533, 65_533)


@pytest.mark.root
def test_root_reads_stores_of_one_owner_only(root: Path, tmp_path: Path) -> None:
    other = run_with(tmp_path / "other", document(repetitions=1), pretend)
    os.chown(other, 65_533, 65_533)
    done = as_command("campaign", "report", str(root), str(other))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "several owners" in done.stderr
