"""Run the notebooks from a clean kernel and save their outputs: `scripts/notebooks.py [FILE ...]`.

What they write goes to a directory that is gone afterwards, so that no earlier run has a part in
the outputs. A digest of the cells with code is saved beside them, which tells outputs that are old.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from minitopo_dc.cli.screen import progress
from minitopo_dc.interruption import interruptible

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "notebooks"
LIMIT_S = 600
"""Of a cell: five times what a whole notebook may take on two cores."""
PNG, COLOURS = "image/png", 96
HTML, FRAME = "text/html", "<iframe"


def read(path: Path) -> Any:
    """Return a notebook as nbformat has it."""
    import nbformat  # noqa: PLC0415 (two seconds of a schema's grammar)

    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def digest(notebook: Any) -> str:
    """Return the SHA-256 of a notebook's cells with code."""
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()


def execute(path: Path, place: Path) -> Any:
    """Return a notebook with the outputs of all cells.

    Args:
        path: of the notebook.
        place: an empty directory in which it finds the folders of the checkout beside its own.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    from nbclient import NotebookClient  # noqa: PLC0415 (seconds that readers need not wait)

    for folder in ("studies", "traces"):
        (place / folder).symlink_to(REPOSITORY / folder)
    (place / FOLDER.name).mkdir()
    notebook = read(path)
    resources = {"metadata": {"path": place / FOLDER.name}}
    client = NotebookClient(
        notebook, timeout=LIMIT_S, resources=resources, record_timing=False, coalesce_streams=True
    )
    client.execute()
    return notebook


def shrink(data: Any) -> None:
    """Give the picture of an output as many colours as a figure needs, a third of its bytes.

    A page lives as long as its kernel: what is saved of it is its text.
    """
    if FRAME in data.get(HTML, ""):
        del data[HTML]
    if PNG in data:
        picture = Image.open(BytesIO(base64.b64decode(data[PNG]))).convert("RGB")
        file = BytesIO()
        picture.quantize(COLOURS).save(file, "png", optimize=True)
        data[PNG] = base64.b64encode(file.getvalue()).decode("ascii")


def refresh(path: Path) -> None:
    """Run a notebook and save it with its outputs."""
    import nbformat  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        notebook = execute(path, Path(place))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            shrink(output.get("data", {}))
    # The kernel's version is this machine's.
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook.metadata["outputs_of"] = digest(notebook)
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    chosen = [*map(Path, sys.argv[1:])] or sorted(FOLDER.glob("*.ipynb"))
    with interruptible("the notebooks that are done are saved"):
        for name in progress(chosen, lambda path: path.name):
            refresh(name)
