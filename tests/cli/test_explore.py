"""`minitopo-dc explore` before its server starts; in a browser: tests/exploration."""

from __future__ import annotations

import socket

import pytest

from minitopo_dc.cli import explore, main


def test_a_missing_package_is_one_line_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explore, "find_spec", lambda name: None if name == "voila" else object())
    assert main(["explore", "--no-browser", "--port", str(_free_port())]) == 2
    words = 'minitopo-dc: explore needs voila: pip install "minitopo-dc[notebooks]"\n'
    assert capsys.readouterr().err == words


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["explore", "--no-browser", "--port", str(port)]) == 2
    words = f"minitopo-dc: --port: {port}: Address already in use; give another\n"
    assert capsys.readouterr().err == words


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "--port", "70000"]) == 2
    assert "--port: 70000; allowed: 1 to 65535" in capsys.readouterr().err


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
