"""Each of the layout's import rules (pyproject.toml) bites; `make lint` shows that they hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests import REPOSITORY

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
AGAINST = [
    ("layers", "pdcp/formats/codec.py", "link"),
    ("layers", "pdcp/formats/codec.py", "trace"),
    ("layers", "trace/model.py", "scenario"),
    ("layers", "fields/base.py", "real.element"),
    ("layers", "runners/options.py", "results.run_result"),
    ("cores", "link/leg.py", "pdcp"),
    ("real-layers", "real/element/kernel/loop.py", "real.run"),
    ("cli-layers", "cli/options/scenario.py", "cli.entry"),
    ("element", "fields/base.py", "runners"),
    ("real", "real/run/plan.py", "real.element.process"),
    ("runners", "runners/options.py", "pdcp"),
    ("virtual", "virtual/loop.py", "real.element"),
    ("topologies", "topologies/two_path.py", "runs"),
]
"""Rules, and a module each that breaks it by importing another one of the library."""
AGAINST_OTHERS = [
    ("sans-io", "pdcp/formats/codec.py", "time"),
    ("sans-io", "link/leg.py", "asyncio"),
    ("sans-io", "trace/model.py", "socket"),
    ("picoquic", "picoquic/connection.py", "time"),
    ("element", "real/element/kernel/loop.py", "mininet.net"),
    ("results", "results/tables/load.py", "socket"),
]
"""The same, by importing what is no part of the library."""


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache"]
    wide = os.environ | {"COLUMNS": "250"}
    return subprocess.run(
        command, cwd=checkout, env=wide, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each rule, by its name, of a copy of the library that breaks all of them."""
    copy = tmp_path_factory.mktemp("spoilt")
    shutil.copytree(
        REPOSITORY / "minitopo_dc",
        copy / "minitopo_dc",  # links followed
        ignore=shutil.ignore_patterns("data", "__pycache__", "*.c"),
    )
    shutil.copy(REPOSITORY / "pyproject.toml", copy)
    (copy / "minitopo_dc" / "a_module_without_a_place.py").touch()
    for _, module, name in (*AGAINST, *AGAINST_OTHERS):
        prefix = "minitopo_dc." if (_, module, name) in AGAINST else ""
        with (copy / "minitopo_dc" / module).open("a", encoding="utf-8") as file:
            file.write(f"\nimport {prefix}{name}\n")
    done = lint_imports(copy)
    assert done.returncode == 1
    text = done.stdout.partition("Broken contracts")[2]
    names = {rule["id"]: rule["name"] for rule in contracts()}
    places = sorted((text.find(f"\n{name}\n"), rule) for rule, name in names.items())
    ends = [place for place, _ in places[1:]] + [len(text)]
    return {
        rule: text[place:end] for (place, rule), end in zip(places, ends, strict=True) if place >= 0
    }


def contracts() -> list[dict[str, str]]:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    rules: list[dict[str, str]] = pyproject["tool"]["importlinter"]["contracts"]
    return rules


@pytest.mark.parametrize(("rule", "module", "name"), [*AGAINST, *AGAINST_OTHERS])
def test_an_import_against_a_rule_is_found(
    spoilt: dict[str, str], rule: str, module: str, name: str
) -> None:
    importer = "minitopo_dc." + module.removesuffix(".py").replace("/", ".")
    imported = f"minitopo_dc.{name}" if (rule, module, name) in AGAINST else name.partition(".")[0]
    assert f"{importer} -> {imported} (l." in spoilt[rule]


def test_a_module_without_a_place_is_found(spoilt: dict[str, str]) -> None:
    assert "a_module_without_a_place" in spoilt["layers"]


@pytest.mark.parametrize(
    ("commands", "may"),
    [(["run", "exec", "clean", "minitopo"], set()), (["compare", "campaign"], {"pandas"})],
)
def test_commands_start_without_what_they_may_not_need(commands: list[str], may: set[str]) -> None:
    """A second each. What makes tables has pandas from its beginning on."""
    slow = {"scipy", "distributed", "sklearn", "matplotlib", "pandas"} - may
    program = f"import sys; from minitopo_dc.cli import entry; entry.parser({commands})\n"
    program += f"print(*{slow} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
