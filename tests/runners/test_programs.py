"""The settings files of programs: written as they are read, and what is wrong is told in a line."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.aioquic.runner import ClientSettings
from minitopo_dc.runners.base import get_runner
from minitopo_dc.workloads import RequestResponse
from tests.runners.hosts import transfer_in
from tests.runners.told import told

PROGRAMS = (
    *("aioquic.client", "aioquic.server", "picoquic.client", "picoquic.server", "tcp.server"),
    *("tcp.client", "mptcp.endpoints", "ngtcp2", "icmp"),
)


Said = Callable[[Callable[[], object], str | None], str]


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """What a program with this file, or without one, says before it ends; without its name."""
    file = tmp_path / "told.json"
    monkeypatch.setattr(sys, "argv", ["program", str(file)])

    def error_text(program: Callable[[], object], content: str | None) -> str:
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            program()
        assert ended.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line.removeprefix(f"{file}:").strip()

    return error_text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"port": "x"}, "port: x is no whole number"),
        ({"speed": 1}, "speed: unknown field; known: plugins, address, port, "),
        ({"options": {"qlog": 1}}, "options.qlog: 1 is neither true nor false"),
        ({"workload": {"size_mb": -1}}, "workload: download: size_mb: "),
        ({"workload": {"kind": "request-response", "interval_s": 0}}, "workload: request-response"),
    ],
)
def test_a_wrong_field_is_named(
    change: dict[str, Any], words: str, said: Said, tmp_path: Path
) -> None:
    transfer = transfer_in(tmp_path, RequestResponse(), begin_ns=7)
    values = told(get_runner("quic").client_command(transfer)) | change
    assert said(ClientSettings.given, json.dumps(values)).startswith(words)


@pytest.mark.parametrize(
    ("content", "words"),
    [("{\n1", "2: no JSON: "), ("", "1: no JSON: "), ("[]", "[] is no mapping")],
)
def test_a_file_that_holds_no_settings_is_told(content: str, words: str, said: Said) -> None:
    assert said(ClientSettings.given, content).startswith(words)


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_a_program_takes_one_argument(
    arguments: list[str], said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *arguments])
    assert said(ClientSettings.given, None).startswith("give one argument: ")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_ends_at_a_file_that_is_not_there(program: str, said: Said) -> None:
    run = partial(runpy.run_module, f"minitopo_dc.runners.{program}", run_name="__main__")
    assert said(run, None) == "No such file or directory"
