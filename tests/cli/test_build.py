"""`minitopo-dc build tquic`: in a checkout by its script, elsewhere one error that says how."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitopo_dc import cli
from minitopo_dc.cli import build
from minitopo_dc.runners.tquic import CACHE

SCRIPT = '#!/bin/sh\nmkdir -p "{folder}"\n{rest}\n'


def checkout(root: Path, rest: str) -> Path:
    script = root / "scripts" / "tquic.sh"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(folder=root / CACHE / "bin", rest=rest))
    script.chmod(0o755)
    return root


def test_what_was_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "checkout", lambda: checkout(tmp_path, ""))
    assert cli.main(["build", "tquic"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / ".cache/tquic/bin")


def test_a_reason_of_the_script_is_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = f"echo cargo is too old > {tmp_path / CACHE / 'unavailable'}"
    monkeypatch.setattr(build, "checkout", lambda: checkout(tmp_path, rest))
    assert cli.main(["build", "tquic"]) == 1
    assert capsys.readouterr().err == "minitopo-dc: cargo is too old\n"


def test_a_script_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "checkout", lambda: checkout(tmp_path, "exit 3"))
    assert cli.main(["build", "tquic"]) == 1
    assert "scripts/tquic.sh ended with 3" in capsys.readouterr().err


def test_without_a_checkout_cargo_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "checkout", lambda: None)
    assert cli.main(["build", "tquic"]) == 1
    assert "cargo install tquic_tools" in capsys.readouterr().err
