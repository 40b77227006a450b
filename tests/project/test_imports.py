"""The layout's import rules (pyproject.toml, [tool.importlinter]) hold, and each of them bites."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import REPOSITORY

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def lint_imports(checkout: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache", *options]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the library that a test may spoil."""
    shutil.copytree(REPOSITORY / "minitopo_dc", tmp_path / "minitopo_dc")  # links followed
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_library_keeps_every_import_rule() -> None:
    done = lint_imports(REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("rule", "module", "line"),
    [
        ("layers", "minitopo_dc/pdcp/formats/codec.py", "import minitopo_dc.link"),
        ("layers", "minitopo_dc/pdcp/formats/codec.py", "import minitopo_dc.trace"),
        ("layers", "minitopo_dc/trace/model.py", "import minitopo_dc.settings"),
        ("cores", "minitopo_dc/link/leg.py", "import minitopo_dc.pdcp"),
        ("layers", "minitopo_dc/settings/base.py", "import minitopo_dc.real.element"),
        ("real-layers", "minitopo_dc/real/element/kernel/loop.py", "import minitopo_dc.real.run"),
        ("cli-layers", "minitopo_dc/cli/options/scenario.py", "import minitopo_dc.cli.entry"),
        ("layers", "minitopo_dc/a_module_without_a_place.py", ""),
        ("sans-io", "minitopo_dc/pdcp/formats/codec.py", "import time"),
        ("sans-io", "minitopo_dc/link/leg.py", "import asyncio"),
        ("sans-io", "minitopo_dc/trace/model.py", "import socket"),
        ("picoquic", "minitopo_dc/picoquic/connection.py", "import time"),
        ("element", "minitopo_dc/real/element/kernel/loop.py", "import mininet.net"),
        ("element", "minitopo_dc/settings/base.py", "import minitopo_dc.runners"),
        ("real", "minitopo_dc/real/run/plan.py", "import minitopo_dc.real.element.process"),
        ("results", "minitopo_dc/results/tables/load.py", "import socket"),
        ("layers", "minitopo_dc/runners/options.py", "import minitopo_dc.runs.results"),
        ("runners", "minitopo_dc/runners/options.py", "import minitopo_dc.pdcp"),
        ("virtual", "minitopo_dc/virtual/loop.py", "import minitopo_dc.real.element"),
        ("topologies", "minitopo_dc/topologies/two_path.py", "import minitopo_dc.runs"),
    ],
)
def test_an_import_against_a_rule_is_found(copy: Path, rule: str, module: str, line: str) -> None:
    with (copy / module).open("a", encoding="utf-8") as spoilt:
        spoilt.write(f"\n{line}\n")
    done = lint_imports(copy, "--contract", rule)
    assert done.returncode == 1
    assert "BROKEN" in done.stdout


@pytest.mark.parametrize("command", ["run", "exec", "clean", "minitopo", "compare", "campaign"])
def test_a_command_starts_without_what_it_may_not_need(command: str) -> None:
    """A second each. What makes tables has pandas from its beginning on."""
    slow = {"scipy", "distributed", "sklearn", "matplotlib"}
    slow |= {"pandas"} if command not in ("compare", "campaign") else set()
    program = f"import sys; from minitopo_dc.cli import entry; entry.parser(['{command}'])\n"
    program += f"print(*{slow} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
