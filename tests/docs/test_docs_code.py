"""The Python and YAML of the pages works: it is run, or validated as what its mark says.

A mark is an HTML comment right above a block, which a reader of the page does not see. Python has
and commands have none or one of `run with: ...`, `run as: root`, `not run: ...` and `IN_ORDER`,
YAML has `checked as: ...`. Python has run here, commands in `test_docs_how_to`.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.runs.check import check_scenario
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.element import ElementSettings
from tests import REPOSITORY
from tests.docs.pages import (
    DATA,
    IN_ORDER,
    NOT_RUN,
    PAGES,
    RUN_AS_ROOT,
    RUN_WITH,
    Block,
    blocks,
    comment,
    save_files,
    tokens,
)
from tests.docs.results import WITH, python

LANGUAGES = {"python", "yaml", "sh", "text"}
BLOCKS = [block for page in PAGES for block in blocks(page)]
PYTHON = [block for block in BLOCKS if block.language == "python" and block.mark != IN_ORDER]
YAML = [block for block in BLOCKS if block.language == "yaml"]

CHECKED_AS = "checked as: "
REASONS = {
    "python": ("needs root", "needs a checkout", "needs a shared object"),
    "sh": (
        *("sets a machine up", "changes the machine", "takes ten minutes", "opens a shell"),
        *("needs a Minitopo checkout", "needs a measured trace", "needs a browser"),
        *("needs a cluster", "needs the guest", "changes the checkout", "takes long"),
        "like a command that is run",
    ),
}
"""Why a block is not run. Imports of Python are, and a command's options are checked."""
PART = "part of the {} above"
TABLE = re.compile("table: ")
"""The mark of a table that `scripts/reference.py` makes."""


def marks(block: Block) -> list[pytest.MarkDecorator]:
    """Return the marks of a block's test: examples of whole pages of runs are `long`."""
    if block.mark == RUN_AS_ROOT:
        return [pytest.mark.root, pytest.mark.long]
    return [pytest.mark.long] * (block.page.stem in ("advise", "api", "campaigns"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A place that a block may write to, with the data of a checkout."""
    for folder in DATA:
        (tmp_path / folder).symlink_to(REPOSITORY / folder)
    return tmp_path


def test_every_block_says_what_it_is() -> None:
    assert not [str(block) for block in BLOCKS if block.language not in LANGUAGES]


def test_every_mark_is_known_and_stands_above_a_block() -> None:
    texts = [comment(token) for page in PAGES for token in tokens(page)]
    marks = [block.mark for block in BLOCKS if block.mark is not None]
    assert sorted(marks) == sorted(text for text in texts if text and not TABLE.match(text))
    assert not [str(block) for block in BLOCKS if not is_known(block)]


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, marks=marks(block))
        for block in PYTHON
        if not (block.mark or "").startswith(NOT_RUN)
    ],
    ids=str,
)
def test_python_runs(block: Block, checkout: Path) -> None:
    if block.mark is not None and block.mark != RUN_AS_ROOT:
        WITH[block.mark.removeprefix(RUN_WITH)](checkout)
    (checkout / "example.py").write_text(block.code, encoding="utf-8")
    python(["example.py"], checkout)


@pytest.mark.parametrize(
    "block", [block for block in PYTHON if (block.mark or "").startswith(NOT_RUN)], ids=str
)
def test_python_that_is_not_run_imports_what_there_is(block: Block) -> None:
    pytest.importorskip("mininet")
    for statement in ast.walk(ast.parse(block.code)):
        if isinstance(statement, ast.ImportFrom):
            assert statement.module is not None
            module = importlib.import_module(statement.module)
            assert all(hasattr(module, alias.name) for alias in statement.names)


@pytest.mark.parametrize("block", YAML, ids=str)
def test_yaml_is_what_its_mark_says(
    block: Block, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_files(block.page, checkout)
    monkeypatch.chdir(checkout)
    kind, document = whole(block)
    VALIDATE[kind](document, str(block))


def whole(block: Block) -> tuple[str, Any]:
    """What a block is checked as; a part in its place in the last whole one above it."""
    kind, document = (block.mark or "").removeprefix(CHECKED_AS), yaml.safe_load(block.code)
    if kind in VALIDATE:
        return kind, document
    whole_kind, path = part(kind)
    above = [
        other
        for other in YAML
        if other.page == block.page
        and other.line < block.line
        and other.mark == CHECKED_AS + whole_kind
    ][-1]
    outer = yaml.safe_load(above.code)
    place = outer
    for key in path:
        place = place[key]
    place.update(document)
    return whole_kind, outer


def part(mark: str) -> tuple[str, list[str]]:
    """`part of the scenario above, legs`: the kind of the whole, and the place in it.

    Raises:
        ValueError: the mark says something else.
    """
    beginning, _, path = mark.partition(", ")
    for kind in VALIDATE:
        if beginning == PART.format(kind):
            return kind, path.split(".") if path else []
    raise ValueError(mark)


def check_a_scenario(document: Any, source: str) -> None:
    """All that is checked before a run, traces too."""
    check_scenario(Scenario.check(document, source))


def check_an_element(document: Any, source: str) -> None:
    """An element's settings, traces too."""
    for leg in ElementSettings.check(document, source).legs:
        leg.radio.capacity()


VALIDATE: dict[str, Callable[[Any, str], None]] = {
    "scenario": check_a_scenario,
    "element": check_an_element,
}


def is_known(block: Block) -> bool:
    """Whether a block has a mark of its language, or none where none is needed."""
    if block.language == "yaml":
        return block.mark is not None and is_checked(block.mark)
    known = [IN_ORDER, RUN_AS_ROOT, *(RUN_WITH + what for what in WITH)]
    reasons = REASONS.get(block.language)
    return block.mark is None or (
        reasons is not None and block.mark in (*known, *(NOT_RUN + why for why in reasons))
    )


def is_checked(mark: str) -> bool:
    kind = mark.removeprefix(CHECKED_AS)
    try:
        return mark.startswith(CHECKED_AS) and (kind in VALIDATE or bool(part(kind)))
    except ValueError:
        return False
