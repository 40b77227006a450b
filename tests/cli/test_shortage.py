"""What a machine lacks, or a terminal cannot show, is told in a line and is no mistake of ours."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc import cli, clocks, files
from minitopo_dc.cli.entry import unexpected
from minitopo_dc.results.run_result import RunResult

SCENARIO = """
transport: quic
mode: sc
clock: virtual
legs: [{rate_mbps: 1}]
workload: {size_mb: 0.1}
"""
MINITOPO_DC = [sys.executable, "-m", "minitopo_dc.cli"]
NO_MEMORY = "this process got no more memory (ulimit -v, a container's limit, or all is used)"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A run of a small scenario."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return ["run", str(tmp_path / "s.yaml"), "--output", str(tmp_path / "run")]


def failing(error: BaseException) -> Any:
    def fail(*_: object) -> RunResult:
        raise error

    return fail


def test_a_run_on_a_full_disk_names_no_result_that_is_not_there(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(files, "fsync", failing(full))
    assert cli.main(command) == 1
    said = capsys.readouterr()
    why = "a file could not be written: No space left on device"
    assert "Result:" not in said.out
    assert said.err.splitlines()[-1] == (
        f"minitopo-dc: no result is kept in {tmp_path / 'run'}: {why}"
    )
    assert not list((tmp_path / "run").glob("*crash*"))
    assert not list((tmp_path / "run").glob("result.json*"))


def test_a_run_that_an_error_ends_keeps_its_result_and_where_it_was(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(clocks, "runner_on", lambda _: failing(RuntimeError("a mistake")))
    assert cli.main(command) == 1
    assert f"Result: {tmp_path / 'run' / 'result.json'}" in capsys.readouterr().out.replace(
        "\n", ""
    )
    assert RunResult.load(tmp_path / "run").reason == "RuntimeError: a mistake"
    assert "a mistake" in (tmp_path / "run" / "crash.txt").read_text()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), NO_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), NO_MEMORY),
        (ImportError("x.so: failed to map segment from shared object"), NO_MEMORY),
        (OSError(errno.EFBIG, ""), f"a file could not be written: {os.strerror(errno.EFBIG)}"),
    ],
)
def test_what_the_machine_lacks_is_one_line(
    error: Exception,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("minitopo_dc.cli.build.clean", failing(error))
    assert cli.main(["clean"]) == 1
    assert capsys.readouterr().err == f"minitopo-dc: {words}\n"


def test_an_output_on_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        listed = subprocess.run(
            [*MINITOPO_DC, "campaign", "list"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    why = "a file could not be written: No space left on device"
    assert (listed.returncode, listed.stderr.decode()) == (1, f"minitopo-dc: {why}\n")


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}],
)
def test_what_a_terminal_cannot_show_is_replaced(
    environment: dict[str, str], command: list[str]
) -> None:
    ended = subprocess.run(
        [*MINITOPO_DC, *command], env=os.environ | environment, capture_output=True, check=False
    )
    assert (ended.returncode, b"unexpected" in ended.stderr) == (0, False)
    assert ended.stdout.isascii()
    assert b"Result:" in ended.stdout


def test_where_the_home_takes_no_files_figures_are_drawn_without_a_warning(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "XDG" not in name}
    environment.pop("MPLCONFIGDIR", None)
    words = ["trace", "cells", str(tmp_path / "cells.csv"), "--figure", str(tmp_path / "drive.png")]
    made = ["trace", "synthesise-drive", str(tmp_path / "cells.csv"), "--seconds", "20"]
    for command in (made, words):
        ended = subprocess.run(
            [*MINITOPO_DC, *command],
            env=environment | {"HOME": "/proc/none"},
            capture_output=True,
            check=True,
        )
        assert ended.stderr == b""
    assert (tmp_path / "drive.png").exists()


def test_a_traceback_that_a_full_disk_does_not_take_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("traceback.format_exception", failing(OSError(errno.ENOSPC, "")))
    assert "its traceback could not be written" in unexpected(RuntimeError("a mistake"))
    assert list(tmp_path.iterdir()) == []


def test_a_trace_that_a_full_disk_does_not_take_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["trace", "synthesise-drive", "/dev/full", "--seconds", "10"]) == 1
    assert capsys.readouterr().err == (
        "minitopo-dc: a file could not be written: No space left on device\n"
    )
