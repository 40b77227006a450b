"""What a missing or dying browser says."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.page_load.chromium import BrowserError, chromium


def program(directory: Path, name: str, script: str) -> None:
    file = directory / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("path")
def test_no_browser_is_an_error_that_says_how_to_get_one() -> None:
    with (
        pytest.raises(BrowserError, match=r"no chromium .* apt-get install chromium"),
        chromium([], 5),
    ):
        pass


def test_no_mptcpize_is_an_error(path: Path) -> None:
    program(path, "chromium", "exit 0")
    with pytest.raises(BrowserError, match="no mptcpize"), chromium([], 5, ("mptcpize", "run")):
        pass


def test_a_browser_that_dies_has_its_last_words_in_the_error(path: Path) -> None:
    program(path, "chromium", "echo no dbus here; echo cannot start >&2; exit 3")
    wanted = r"ended before Browser\.getVersion\n  cannot start$"
    with pytest.raises(BrowserError, match=wanted), chromium([], 5) as browser:
        browser.call("Browser.getVersion")


def test_a_browser_is_told_where_its_files_are_and_has_two_pipes(path: Path) -> None:
    answer = r'{"id": 1, "result": {"words": "%s", "home": "%s"}}\000'
    program(path, "chromium", f'printf \'{answer}\' "$*" "$HOME" >&4; read -r _ <&3')
    with chromium(["--mine"], 5) as browser:
        found = browser.call("Browser.getVersion")
        assert f"--user-data-dir={found['home']}/profile --mine" in found["words"]
        assert Path(found["home"]).is_dir()
    assert not Path(found["home"]).exists()
