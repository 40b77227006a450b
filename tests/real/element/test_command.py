"""The element's command: its exit status and its one line about what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.real.element import __main__ as command
from minitopo_dc.real.element.loop import ElementError, RealLoop
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.trace import TraceError


class FakeElements:
    """Elements that fail when they are made, or when they run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.when_made: Exception | None = None
        self.when_run: Exception | None = None
        self.made: list[dict[str, Any]] = []
        self.closed = 0

    def make(self, _settings: ElementSettings, _loop: RealLoop, **fields: Any) -> FakeElements:
        if self.when_made:
            raise self.when_made
        self.made.append(fields)
        return self

    def close(self) -> None:
        self.closed += 1

    def run(self, _elements: Sequence[object], _loop: RealLoop) -> None:
        if self.when_run:
            raise self.when_run


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeElements:
    made = FakeElements(tmp_path)
    monkeypatch.setattr(command, "RealElement", made.make)
    monkeypatch.setattr(command, "native_obstacle", lambda _: "it is a fake")
    monkeypatch.setattr(command, "run", made.run)
    return made


def saved(host: str, directory: Path, *legs: dict[str, Any]) -> str:
    path = directory / f"{host}.yaml"
    values = {"host": host, "legs": list(legs), "directory": directory}
    ElementSettings.check(values, "test").save(path)
    return str(path)


def test_the_usage_and_a_directory_that_is_missing_are_told_before_anything_is_made(
    fake: FakeElements, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ([], ["a", "b"]):
        assert command.main(arguments) == 2
        assert capsys.readouterr().err.startswith("usage: python -m minitopo_dc.real.element")
    file = Path(saved("gnb", tmp_path))
    file.write_text(file.read_text().replace(str(tmp_path), "x" * 10_000))
    assert command.main([str(file)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{file}: directory: {'x' * 200}")
    assert told.endswith(": no such directory; make it before\n")
    assert fake.made == []


@pytest.mark.parametrize(
    ("failure", "made", "end"),
    [
        (SettingsError("wrong"), 0, (2, "{file}: wrong\n")),
        (TraceError(Path("t"), 1, "bad", "good"), 0, (2, "{file}: t:1: bad (allowed: good)\n")),
        (PolicyError("no such policy"), 0, (2, "{file}: no such policy\n")),
        (ElementError("cannot run"), 0, (1, "cannot run\n")),
        (None, 1, (0, "")),
        (ElementError("unknown order"), 1, (1, "unknown order\n")),
        (OSError(28, "No space left", "leg1.pcap"), 1, (1, "leg1.pcap: No space left\n")),
        (PolicyError("of one's own"), 1, (2, "{file}: of one's own\n")),
    ],
)
def test_an_element_that_fails_says_why_in_one_line_and_is_closed(
    failure: Exception | None,
    made: int,
    end: tuple[int, str],
    fake: FakeElements,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = saved("gnb", fake.directory)
    fake.when_made, fake.when_run = (None, failure) if made else (failure, None)
    code, words = end
    assert command.main([file]) == code
    assert capsys.readouterr().err == words.format(file=file)
    assert fake.closed == made


def test_elements_of_several_hosts_share_the_paths_of_their_legs(
    fake: FakeElements, tmp_path: Path
) -> None:
    files = []
    for host, direction in (("gnb", "downlink"), ("ue", "uplink")):
        shared = {"wifi": {}, "seed": "1/2/wifi", "direction": direction}
        leg = {"leg": 2, "interface": f"{host}-leg2", "seed": host, "radio": {}, "shared": shared}
        files.append(saved(host, tmp_path, leg))
    assert command.main([files[0], "77", files[1]]) == 0
    gnb, ue = fake.made
    assert (gnb["host"], ue["host"]) == (None, 77)
    assert gnb["paths"][2] is ue["paths"][2]
    assert fake.closed == 2
