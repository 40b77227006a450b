"""The settings files of programs: written as they are read, and what is wrong is told in a line."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runners.aioquic.runner import ClientSettings
from minitopo_dc.runners.base import Transfer, get_runner
from minitopo_dc.runners.programs import ProgramSettings
from minitopo_dc.workloads import RequestResponse
from tests.runners.test_contract import TRANSFER
from tests.runners.told import told

PROGRAMS = (
    *("aioquic.client", "aioquic.server", "picoquic.client", "picoquic.server", "tcp.server"),
    *("tcp.client", "mptcp.endpoints", "ngtcp2", "icmp"),
)


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return replace(TRANSFER, directory=tmp_path, workload=RequestResponse(), begin_ns=7)


Refusal = Callable[[str, type[ProgramSettings]], str]


@pytest.fixture
def refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Refusal:
    """What a program says of its file before it ends; without the file's name."""
    file = tmp_path / "told.json"
    monkeypatch.setattr(sys, "argv", ["program", str(file)])

    def error_text(content: str, kind: type[ProgramSettings]) -> str:
        file.write_text(content, encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            kind.given()
        assert ended.value.code == 2
        return capsys.readouterr().err.removesuffix("\n").removeprefix(f"{file}:").strip()

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
    change: dict[str, Any],
    words: str,
    transfer: Transfer,
    refusal: Refusal,
) -> None:
    values = told(get_runner("quic").client_command(transfer)) | change
    said = refusal(json.dumps(values), ClientSettings)
    assert said.startswith(words)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("content", "words"),
    [("{\n1", "2: no JSON: "), ("", "1: no JSON: "), ("[]", "[] is no mapping")],
)
def test_a_file_that_holds_no_settings_is_told(
    content: str,
    words: str,
    refusal: Refusal,
) -> None:
    assert refusal(content, ClientSettings).startswith(words)


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_a_program_takes_one_argument(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", *arguments])
    with pytest.raises(SystemExit):
        ClientSettings.given()
    assert capsys.readouterr().err.startswith("give one argument: ")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_ends_at_a_file_that_is_not_there(
    program: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["program", str(tmp_path / "none.json")])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(f"minitopo_dc.runners.{program}", run_name="__main__")
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none.json'}: No such file or directory\n"
