"""Parts that are built when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitopo_dc as dc
from minitopo_dc import clocks
from minitopo_dc.clocks import PARTS, build_missing
from minitopo_dc.extension.make import BuildError

BASE = dc.Scenario(
    legs=[dc.Leg(rate_mbps=20)], transport="quic-picoquic", mode="sc", clock="virtual"
)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The parts that are built, none of which is here."""
    names: list[str] = []

    def lacking(name: str) -> Any:
        def build(say: Callable[[str], None]) -> Path:
            names.append(name)
            say("getting the sources")
            raise BuildError("no cc; Debian: apt-get install gcc")

        return (lambda: "not built"), build

    for name in PARTS:
        monkeypatch.setitem(PARTS, name, lacking(name))
    clocks._build_once.cache_clear()
    return names


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, ["the native core", "picoquic"]),
        ({"transport": "quic"}, ["the native core"]),
        ({"virtual": {"core": "python"}}, ["picoquic"]),
        ({"clock": "real", "transport": "tcp"}, []),
    ],
)
def test_what_a_scenario_uses_is_built(
    changes: dict[str, Any], parts: list[str], builds: list[str]
) -> None:
    build_missing([BASE.evolve(**changes)])
    assert builds == parts


def test_each_part_is_tried_once_a_line_says_what_to_install_and_what_is_here_is_not_built(
    builds: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build_missing([BASE, BASE])
    build_missing([BASE])
    assert builds == ["the native core", "picoquic"]
    lines = capsys.readouterr().err.splitlines()
    assert lines[3:] == [
        "minitopo-dc: picoquic is not here yet: building it, once",
        "minitopo-dc: getting the sources",
        "minitopo-dc: picoquic cannot be built: no cc; Debian: apt-get install gcc: what needs it "
        "is unsupported here",
    ]
    clocks._build_once.cache_clear()
    for name, (_, build) in PARTS.items():
        monkeypatch.setitem(PARTS, name, (lambda: None, build))
    build_missing([BASE])
    assert len(builds) == 2


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_damaged_part_is_built_anew_with_a_line(
    clock: str,
    builds: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build = PARTS["the native core"][1]
    monkeypatch.setitem(PARTS, "the native core", (lambda: "it is damaged (get it)", build))
    build_missing([BASE.evolve(transport="quic", clock=clock)])
    assert builds == ["the native core"]
    said = capsys.readouterr().err.splitlines()[0]
    assert said == "minitopo-dc: the native core is damaged: building it anew"


@pytest.mark.usefixtures("builds")
@pytest.mark.parametrize(
    "use", [dc.run, lambda scenario: dc.compare({"a": scenario, "b": scenario})]
)
def test_a_run_and_a_comparison_build_first(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(clocks, "_build_once", stop)
    with pytest.raises(OSError, match="native core"):
        use(BASE)
