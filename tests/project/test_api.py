"""The API: what `minitopo_dc` offers, that it costs nothing until used, that pages use it."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import minitopo_dc
from minitopo_dc.errors import InputError
from minitopo_dc.registry import load_plugins
from tests import REPOSITORY

CORES = tuple(f"minitopo_dc.{name}" for name in ("pdcp", "link", "trace", "capture"))
MODULES = tuple(
    f"minitopo_dc.{name}"
    for name in (
        *("campaign", "claims", "mininet", "plots", "plugins", "report", "results", "statistics"),
    )
)
PUBLIC = ("minitopo_dc", *CORES, *MODULES, "minitopo_dc.capture.layers")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_of_the_api_can_be_had_and_is_documented(name: str) -> None:
    if name == "minitopo_dc.mininet":
        pytest.importorskip("mininet.net", reason="Mininet is not installed")
    module = importlib.import_module(name)
    assert module.__doc__
    things = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    functions = {name: thing for name, thing in things.items() if inspect.isroutine(thing)}
    assert [name for name, function in functions.items() if not function.__doc__] == []


def test_the_top_of_the_api_is_short() -> None:
    assert len(minitopo_dc.__all__) <= 32


def test_a_name_that_is_none_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="attribute quic_client"):
        getattr(minitopo_dc, "quic_client")  # noqa: B009


SLOW = {"scipy", "distributed", "sklearn", "matplotlib"}
IMPORT = "from minitopo_dc.cli import {}"
BEFORE_SETUP = {"pydantic", "pydantic_core", "numpy", "pandas", "yaml"}
"""What setup.py has not: it builds the native core before anything is installed."""


@pytest.mark.parametrize(
    ("program", "slow"),
    [
        ("import minitopo_dc.extension.make, minitopo_dc.native.library", BEFORE_SETUP),
        (IMPORT.format("run, exec, build, minitopo"), {"pandas", *SLOW}),
        (IMPORT.format("compare, campaign"), SLOW),
    ],
)
def test_the_package_and_commands_start_without_what_they_may_not_need(
    program: str, slow: set[str]
) -> None:
    """A second each. What makes tables has pandas from its beginning on."""
    program += f"\nimport sys; print(*{slow} & sys.modules.keys())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def code() -> Iterator[tuple[str, str]]:
    """Yield the code that users read: a place and its text."""
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        for block in re.findall(
            r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            yield page.name, block
    for notebook in (REPOSITORY / "notebooks").glob("*.ipynb"):
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                yield notebook.name, "".join(cell["source"])
    for example in (REPOSITORY / "examples").glob("*.py"):
        yield example.name, example.read_text(encoding="utf-8")


def test_pages_notebooks_and_examples_use_the_api_only() -> None:
    imported = [
        (place, module)
        for place, text in code()
        for module in re.findall(r"^\s*(?:from|import) (minitopo_dc[\w.]*)", text, re.MULTILINE)
    ]
    assert len(imported) > 20
    assert [each for each in imported if each[1] not in PUBLIC] == []


def is_error(base: type) -> bool:
    return issubclass(base, Exception) and not issubclass(base, Warning)


def errors_with_built_in_bases_alone() -> Iterator[str]:
    files = [*(REPOSITORY / "minitopo_dc").rglob("*.py"), *(REPOSITORY / "runners").rglob("*.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bases = [getattr(builtins, ast.unparse(base), object) for base in node.bases]
                if bases and all(is_error(base) for base in bases):
                    yield node.name


def test_every_error_has_the_one_base() -> None:
    assert list(errors_with_built_in_bases_alone()) == ["MinitopoDcError"]
    assert issubclass(minitopo_dc.InputError, minitopo_dc.MinitopoDcError)


def test_a_plugin_that_lacks_a_module_s_name_is_refused_with_its_line(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("from minitopo_dc.runners.base import NoSuchName\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"'NoSuchName'.*mine\.py:1"):
        load_plugins([str(plugin)])
