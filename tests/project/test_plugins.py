"""Runners, workloads, split policies of a user's own package: found, used, told when broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.errors import InputError
from minitopo_dc.fields import SettingsError
from minitopo_dc.registry import Registry, UnknownNameError, load_plugins
from minitopo_dc.scenario import Scenario

PACKAGE = '''
"""A package that this project has never heard of."""

from collections.abc import Sequence
from typing import Any, ClassVar

from minitopo_dc.pdcp import LegView, split_policy
from minitopo_dc.runners.base import runner
from minitopo_dc.runners.aioquic.runner import QuicRunner
from minitopo_dc.workloads import Column, Download, Measurement, workload


@split_policy("{name}-policy")
class Second:
    """Everything on the second leg."""

    def __init__(self, legs: int) -> None:
        self._leg = (legs - 1,)

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        return self._leg


@workload("{name}-objects")
class Objects(Download):
    """A download, counted in objects."""

    columns: ClassVar[tuple[Column, ...]] = (
        *Download.columns,
        Column("objects_per_s", "objects\\n1/s"),
    )
    objects: int = 10

    def details(self, measured: Measurement) -> dict[str, Any]:
        return {{"objects_per_s": self.objects / measured.completion_s}}


@runner("{name}-quic")
class OwnQuic(QuicRunner):
    """QUIC that carries objects too."""

    workloads: ClassVar[tuple[str, ...]] = ("download", "{name}-objects")
'''
ENTRY_POINTS = """
[minitopo_dc.runners]
own = own_package

[minitopo_dc.split_policies]
own = own_package

[minitopo_dc.workloads]
own = own_package
"""
METADATA = "Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n"


def install(directory: Path, code: str) -> dict[str, str]:
    """Put a package with entry points where Python looks; returns the environment for it."""
    (directory / "own_package.py").write_text(code, encoding="utf-8")
    info = directory / "own_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA, encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    path = os.pathsep.join([str(directory), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def minitopo_dc(
    *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "minitopo_dc.cli", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def compare(name: str, *more: str) -> list[str]:
    return [
        *("compare", "--transports", f"{name}-quic", "--modes", "dc", "--repetitions", "1"),
        *("--split", f"{name}-policy", "--workload", f"{name}-objects:objects=4,size_mb=0.5"),
        *("--legs", "20", "20", "--output", "out", *more),
    ]


def check(done: subprocess.CompletedProcess[str], name: str) -> dict[str, Any]:
    """That the run used all three; returns its result."""
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    assert (result["status"], result["transport"]) == ("ok", f"{name}-quic"), result["reason"]
    assert result["workload"] == f"{name}-objects"
    objects_per_s = 4 / result["completion_s"]
    assert result["details"]["objects_per_s"] == pytest.approx(objects_per_s)
    assert result["leg_bytes"][0] < 20_000 < result["leg_bytes"][1]
    return dict(result)


def test_an_installed_package_is_used_in_every_process(tmp_path: Path) -> None:
    environment = install(tmp_path, PACKAGE.format(name="own"))
    options = ["--clock", "virtual", "--json", "--jobs", "2"]
    check(minitopo_dc(*compare("own", *options), cwd=tmp_path, environment=environment), "own")


@pytest.mark.long
def test_a_single_file_is_a_plugin_and_a_kept_scenario_with_it_runs_again(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PACKAGE.format(name="mine"), encoding="utf-8")
    options = ["--plugin", "mine.py", "--clock", "virtual", "--json", "--jobs", "1"]
    first = check(minitopo_dc(*compare("mine", *options), cwd=tmp_path), "mine")
    kept = f"{first['directory']}/scenario.yaml"
    assert str(tmp_path / "mine.py") in (tmp_path / kept).read_text(encoding="utf-8")
    done = minitopo_dc("run", kept, "--output", "again", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["goodput_mbps"] == first["goodput_mbps"], done.stderr


@pytest.mark.long
@pytest.mark.root
def test_a_plugin_is_used_on_the_real_clock(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PACKAGE.format(name="own"), encoding="utf-8")
    options = ["--clock", "real", "--json", "--plugin", "mine.py"]
    check(minitopo_dc(*compare("own", *options), cwd=tmp_path), "own")


def test_a_broken_package_is_one_clear_error(tmp_path: Path) -> None:
    environment = install(tmp_path, "raise RuntimeError('not today')\n")
    done = minitopo_dc("compare", "--clock", "virtual", cwd=tmp_path, environment=environment)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("minitopo-dc: entry point own of group minitopo_dc.")
    assert "own-package" in line
    assert "RuntimeError: not today" in line


def test_an_error_in_a_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("\n\nraise RuntimeError('not today')\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"plugin {path}: RuntimeError: not today \({path}:3\)"):
        load_plugins([str(path)])


def test_a_missing_plugin_of_a_scenario_is_named() -> None:
    fields = {"transport": "quic", "mode": "sc", "legs": [{"downlink": {"rate_mbps": 1}}]}
    with pytest.raises(SettingsError, match=r"^s.yaml: .*no_such_module"):
        Scenario.check({**fields, "plugins": ["no_such_module"]}, "s.yaml")


def test_a_file_is_loaded_once_however_often_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "counted.py"
    path.write_text("import builtins\nbuiltins.loads = getattr(builtins, 'loads', 0) + 1\n")
    import builtins

    assert load_plugins([str(path), str(path)]) == [str(path)] * 2
    assert builtins.loads == 1  # type: ignore[attr-defined]


def test_a_registry_refuses_a_name_that_is_taken_and_lists_what_it_knows() -> None:
    registry: Registry[type] = Registry("thing", "no.such.group", ())
    registry.add("int", int)
    registry.add("int", int)
    with pytest.raises(ValueError, match="thing 'int'"):
        registry.add("int", str)
    with pytest.raises(UnknownNameError, match=r"thing 'float' .*int"):
        registry.get("float")


def test_a_broken_entry_point_is_an_error_each_time_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(group: str) -> None:
        raise InputError(group)

    monkeypatch.setattr("minitopo_dc.registry.load_entry_points", broken)
    registry = Registry[Any]("thing", "own_group", ())
    for _ in range(2):
        with pytest.raises(InputError, match="own_group"):
            registry.names()
