"""The notebooks run from top to bottom on a clean checkout, and their saved outputs are theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from scripts.notebooks import FOLDER, FRAME, digest, execute, read
from tests import REPOSITORY
from tests.quic.extension import needs_picoquic

NAMES = [
    *("cellular", "explore", "first_comparison"),
    *("own_sweep", "video_and_calls", "which_is_better"),
]
WHOLE = ("explore", "first_comparison")
"""Those that are run with the sizes of their saved outputs; the others take minutes with them."""
SHORTEST = "explore"
SIZE = "MINITOPO_DC_NOTEBOOK_SIZE"
MOST_BYTES = 1_000_000


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.ipynb"


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def tables_of(notebook: Any) -> list[str]:
    """Return the tables and sentences of a notebook, without pictures and a page's frame."""
    pages = [output.get("data", {}).get("text/html", "") for output in outputs_of(notebook)]
    return [re.sub(r"<img[^>]*>", "", page) for page in pages if page and FRAME not in page]


def pictures_of(notebook: Any) -> int:
    contents = [output.get("data", {}) for output in outputs_of(notebook)]
    return sum("image/png" in data or "<img" in data.get("text/html", "") for data in contents)


@needs_picoquic
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name != SHORTEST)) for name in NAMES]
)
def test_a_notebook_runs_and_its_saved_numbers_are_those_of_today(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SIZE, "1" if name in WHOLE else "0.1")
    made, saved = execute(path_of(name), tmp_path), read(path_of(name))
    assert pictures_of(made) == pictures_of(saved) >= 2
    assert len(tables_of(made)) == len(tables_of(saved)) >= 2
    assert tables_of(made) == tables_of(saved) or name not in WHOLE


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_notebook_has_the_outputs_of_its_code_and_links_that_lead_somewhere(
    name: str,
) -> None:
    notebook, text = read(path_of(name)), path_of(name).read_text(encoding="utf-8")
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["metadata"]["outputs_of"] == digest(notebook)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert len(text) < MOST_BYTES
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|usr|var)/", text)
    assert str(REPOSITORY) not in text
    pages = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    links = re.findall(r"\]\(([^)#]+)", "\n".join(pages))
    assert links
    assert [link for link in links if not (FOLDER / link).exists()] == []


OUTSIDE = re.compile(
    r"\]\([^)]*\)|!\[[^]]*\]|`[^`]*`"  # addresses, pictures, code
    r"|95 % (?:confidence )?intervals?|\b[45]G\b|G\.114|legs? \d(?: and leg \d)?|\bnetwork \d+"
)
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])")


def test_a_notebook_says_no_number_that_it_does_not_compute_or_check() -> None:
    for name in NAMES:
        cells = read(path_of(name))["cells"]
        known = {float(number) for cell in cells for number in NUMBER.findall(computed(cell))}
        said = [
            number
            for cell in cells
            if cell["cell_type"] == "markdown"
            for number in NUMBER.findall(OUTSIDE.sub("", cell["source"]))
        ]
        assert [
            number for number in said if not known & {float(number), float(number) / 100}
        ] == [], name


def computed(cell: Any) -> str:
    """Return what a cell with code has and prints."""
    outputs = cell.get("outputs", ())
    printed = [output.get("text", "") for output in outputs]
    printed += [output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join([cell["source"], *printed]) if cell["cell_type"] == "code" else ""
