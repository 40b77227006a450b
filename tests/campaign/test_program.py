"""A campaign's file: loaded, its mistakes shown, its report tried, run by the command."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from minitopo_dc import Campaign, InputError, load
from minitopo_dc.campaign.plan import load_program
from minitopo_dc.cli import main
from tests.campaign.cases import HEAD

FILE = f'''"""Batches over two legs

Smaller ones
are better.
"""
{HEAD}

def cases(version):
    for batch in (2, 100) if version == "full" else (2,):
        for way in ("a", "b"):
            yield dc.Scenario(**base, pdcp={{"batch": batch}}), {{"batch": batch, "way": way}}

def seeds(version):
    return (1, 2)
'''
QUICK = ("--quick", "--jobs", "1")
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a campaign's file that ends with these lines."""

    def write(more: str = "", text: str = FILE) -> Path:
        path = tmp_path / "campaign.py"
        path.write_text(text + more, encoding="utf-8")
        return path

    return write


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command gives to the report, which writes nothing."""
    written: list[dict[str, Any]] = []

    def write_report(directory: Path, runs: pd.DataFrame, **more: Any) -> Path:
        written.append({"runs": runs, "directory": directory, **more})
        return directory / "index.html"

    module = types.ModuleType("minitopo_dc.report")
    vars(module)["write_report"] = write_report
    monkeypatch.setitem(sys.modules, "minitopo_dc.report", module)
    return written


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", r"campaign\.py: cases: allowed is a function cases\(version\)"),
        ("def cases(): ...\n", r"cases: allowed is a function cases\(version\)"),
        (FILE + "report = 1\n", r"report: allowed is a function report\(runs\)"),
    ],
)
def test_a_file_without_cases_is_refused(text: str, words: str, write: Write) -> None:
    with pytest.raises(InputError, match=words):
        load_program(write(text=text))


def test_a_mistake_is_shown_as_python_shows_it(write: Write) -> None:
    with pytest.raises(InputError, match=r'campaign\.py", line \d+\n.*\n.*\nSyntaxError'):
        load_program(write("def report(runs:\n"))
    path = write("import nothing_of_the_kind\n")
    with pytest.raises(InputError) as refused:
        load_program(path)
    shown = str(refused.value).splitlines()
    assert shown[1] == "Traceback (most recent call last):"
    assert shown[2] == f'  File "{path}", line {len(FILE.splitlines()) + 1}, in <module>'
    assert shown[-1] == "ModuleNotFoundError: No module named 'nothing_of_the_kind'"
    program = load_program(write("def cases(version):\n    return [dc.Scenario(**base, leg=9)]\n"))
    with pytest.raises(InputError, match=r"in cases\n    return \[dc\.Scenario"):
        program.cases("full")


def test_modules_beside_it_are_its_own(tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "beside.py").write_text(f"VALUE = {value}\n")
        (folder / "campaign.py").write_text("import beside\ndef cases(version): return []\n")
    programs = [load_program(tmp_path / name / "campaign.py") for name in ("one", "two")]
    assert [program._module.beside.VALUE for program in programs] == [1, 2]


@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ("runs.pivot_table(index='batch', columns='way', values='goodput_mbsp')", True),
        ("runs[['batch', 'goodput_mbsp']]", True),
        ("runs.goodput_mbsp", True),
        ("runs.groupby('bach').mean()", True),
        ("goodput", True),
        ("runs.pivot(index='seed', columns='batch', values='goodput_mbps')[100]", False),
        ("runs.set_index('way')['goodput_mbps'].loc['a']", False),
        ("runs['goodput_mbps'].iloc[0]", False),
        ("max(runs['completion_s'])", False),
        ("runs['a_runner_s_own_number']", False),
    ],
)
def test_a_misspelt_column_is_found_before_a_run_and_missing_rows_are_no_mistake(
    body: str, is_wrong: bool, write: Write, tmp_path: Path
) -> None:
    program = load_program(write(f"def report(runs):\n    yield 'One', {body}\n"))
    campaign = Campaign(tmp_path / "c", program.cases("full"))
    wrong = pytest.raises(InputError, match="in report\n") if is_wrong else nullcontext()
    with wrong:
        program.try_report(campaign.empty_table(), campaign.label_values)


def test_a_report_may_ask_for_labels_and_cases_that_were_left_out(
    write: Write, reports: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FILE.replace('"way": way}', '"way": way} | ({"other": 1} if batch == 100 else {})')
    path = write("def report(runs):\n    yield 'One', runs.set_index('batch').other[100]\n", text)
    command = ["campaign", "run", str(path), "--output", str(tmp_path / "c"), "--jobs", "1"]
    assert main([*command, "--only", "batch=2", "--seeds", "7"]) == 0
    ((title, words),) = reports[-1]["sections"]
    assert title == "not shown"
    assert words.endswith("KeyError: 100")
    assert f"{path} needs runs that this table lacks" in capsys.readouterr().err


def test_the_command_runs_it_and_writes_the_report(
    write: Write, reports: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("def report(runs):\n    yield 'Runs', runs\n")
    root = tmp_path / "c"
    command = ["campaign", "run", str(path), "--output", str(root), "--jobs", "1"]
    assert main([*command, "--only", "batch=2", "--seeds", "7"]) == 0
    assert load(root)[["batch", "way", "seed"]].to_numpy().tolist() == [[2, "a", 7], [2, "b", 7]]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert f"{root}: 4 runs, 4 ok" in captured.out
    assert "4 runs on the virtual clock" in captured.err
    assert reports[-1]["title"] == "Batches over two legs"
    ((title, content),) = reports[-1]["sections"]
    assert (title, len(content)) == ("Runs", 8)
    facts = json.loads((root / "campaign.json").read_text())
    assert (facts["cases"], facts["seeds"], facts["labels"]) == (4, [1, 2], ["batch", "way"])


def test_reading_results_never_runs_the_file_and_follows_no_hostile_table(
    write: Write, reports: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write()
    root = tmp_path / "c"
    assert main(["campaign", "run", str(path), *QUICK, "--output", str(root)]) == 0
    assert json.loads((root / "campaign.json").read_text())["version"] == "quick"
    path.write_text("raise SystemExit('it was run')\n")
    (root / "campaign.py").write_text("raise SystemExit('it was run')\n")
    assert main(["campaign", "report", str(root)]) == 0
    assert main(["campaign", "status", str(root)]) == 0
    assert reports[-1]["sections"] == []
    path.write_text(FILE + "def report(runs):\n    yield 'Runs', runs\n")
    assert main(["campaign", "report", str(root), "--file", str(path)]) == 0
    assert reports[-1]["sections"][0][0] == "Runs"
    assert "2 runs, 2 ok" in capsys.readouterr().out
    table = load(root)
    table["status"], table["run"] = "missing", "../../elsewhere"  # which leads nowhere
    table.to_parquet(root / "runs.parquet")
    assert (load(root)["status"] == "missing").all()
    (root / "runs.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match=r"runs\.parquet: "):
        load(root)
    (root / "campaign.json").write_text('{"title": 1}')
    with pytest.raises(InputError, match=r"campaign\.json: title: 1"):
        load(root)


def test_a_dry_run_tells_how_long_runs_on_the_real_clock_take(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = 'base.update({"clock": "real", "workload": {"size_mb": 20}})\n'
    cases = "def cases(version): return [(dc.Scenario(**base), {})]\n"
    command = ["campaign", "run", str(write(text=HEAD + slow + cases)), "--dry-run"]
    assert main([*command, "--output", str(tmp_path / "c")]) == 0
    words = "1 runs on the real clock, about 9.0 s"  # 160 Mbit at 40, and 5
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--only", "batch"], "--only batch: allowed: LABEL=VALUE"),
        (["--only", "bacth=2"], "no such label; has batch, way; did you mean batch?"),
        (["--only", "batch=3"], "--only batch=3: has 2, 100"),
    ],
)
def test_a_wrong_choice_is_one_line(
    options: list[str], words: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "run", str(write()), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
