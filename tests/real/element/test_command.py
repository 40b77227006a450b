"""The element's command: its exit status and its one line about what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.link import WifiPath
from minitopo_dc.pdcp import PolicyError
from minitopo_dc.real.element import __main__ as command
from minitopo_dc.real.element.kernel.loop import Loop
from minitopo_dc.real.element.kernel.process import ElementError
from minitopo_dc.real.element.kernel.rules import RuleError
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.trace import TraceError


class FakeElement:
    """An element that fails when it is made, or when it runs."""

    fails_when_made: Exception | None = None
    fails_when_run: Exception | None = None
    closed = 0

    made: ClassVar[list[FakeElement]]

    def __init__(
        self,
        settings: ElementSettings,
        loop: Loop,
        *,
        paths: Mapping[int, WifiPath],
        host: int | None,
    ) -> None:
        self.settings, self.loop, self.paths, self.host = settings, loop, paths, host
        if self.fails_when_made:
            raise self.fails_when_made
        type(self).made.append(self)

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakeElement]:
    class Fresh(FakeElement):
        made: ClassVar[list[FakeElement]] = []

    def run(elements: Sequence[FakeElement], loop: Loop) -> None:
        assert {element.loop for element in elements} == {loop}
        if Fresh.fails_when_run:
            raise Fresh.fails_when_run

    monkeypatch.setattr(command, "Element", Fresh)
    monkeypatch.setattr(command, "lacking", lambda _: "it is a fake")
    monkeypatch.setattr(command, "run", run)
    return Fresh


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "gnb.yaml"
    ElementSettings.check({"host": "gnb", "legs": [], "directory": tmp_path}, "t").save(path)
    return str(path)


def test_a_clean_stop_is_exit_0_and_everything_is_closed(
    fake: type[FakeElement], file: str
) -> None:
    assert command.main([file]) == 0
    assert fake.closed == 1


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_other_than_one_file_is_told_the_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: python -m minitopo_dc.real.element")


@pytest.mark.usefixtures("fake")
def test_a_file_that_is_missing_is_a_mistake_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["/no/such.yaml"]) == 2
    assert capsys.readouterr().err == "/no/such.yaml: No such file or directory\n"


@pytest.mark.parametrize("name", ["/no/such", "x" * 10_000])
def test_a_directory_that_is_missing_is_a_mistake_before_anything_is_made(
    name: str, fake: type[FakeElement], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(file)
    path.write_text(path.read_text().replace(str(path.parent), name))
    assert command.main([file]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{file}: directory: {name[:200]}")
    assert told.endswith(": no such directory; make it before\n")
    assert fake.made == []


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        (SettingsError("wrong"), (2, "{file}: wrong")),
        (TraceError(Path("t"), 1, "wrong", "right"), (2, "{file}: t:1: wrong (allowed: right)")),
        (PolicyError("no such policy"), (2, "{file}: no such policy")),
        (ElementError("cannot run"), (1, "cannot run")),
        (RuleError("iptables: no"), (1, "iptables: no")),
    ],
)
def test_an_element_that_cannot_be_made_says_why_and_of_which_file_in_one_line(
    failure: Exception,
    end: tuple[int, str],
    fake: type[FakeElement],
    file: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake.fails_when_made = failure
    code, told = end
    assert command.main([file]) == code
    assert capsys.readouterr().err == f"{told.format(file=file)}\n"
    assert fake.closed == 0


def test_an_element_that_fails_while_it_runs_is_closed(
    fake: type[FakeElement], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.fails_when_run = ElementError("unknown order")
    assert command.main([file]) == 1
    assert capsys.readouterr().err == "unknown order\n"
    assert fake.closed == 1


def test_a_file_that_cannot_be_written_is_named_in_one_line(
    fake: type[FakeElement], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.fails_when_run = OSError(28, "No space left on device", "gnb-leg1.pcap")
    assert command.main([file]) == 1
    assert capsys.readouterr().err == "gnb-leg1.pcap: No space left on device\n"
    assert fake.closed == 1


def test_elements_of_several_hosts_share_a_loop_and_the_paths_of_their_legs(
    fake: type[FakeElement], tmp_path: Path
) -> None:
    files = []
    for host, direction in (("gnb", "downlink"), ("ue", "uplink")):
        shared = {"wifi": {}, "seed": "1/2/wifi", "direction": direction}
        leg = {"leg": 2, "interface": f"{host}-leg2", "seed": host, "radio": {}, "shared": shared}
        files.append(str(tmp_path / f"{host}.yaml"))
        settings = {"host": host, "legs": [leg], "directory": tmp_path}
        ElementSettings.check(settings, "t").save(Path(files[-1]))
    assert command.main([files[0], "77", files[1]]) == 0
    gnb, ue = fake.made
    assert (gnb.host, ue.host) == (None, 77)
    assert gnb.paths[2] is ue.paths[2]
    assert fake.closed == 2
