"""The compiled core: its sources, and the extension that is loaded."""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

from minitopo_dc.extension.place import Extension, NotBuiltError
from minitopo_dc.native.calls import connect

_HERE = Path(__file__).parent
SOURCES = tuple(sorted(str(path.relative_to(_HERE)) for path in _HERE.glob("*/*.c")))
HEADERS = tuple(sorted(str(path.relative_to(_HERE)) for path in _HERE.glob("*/*.h")))
EXTENSION = Extension(
    name="native",
    module="minitopo_dc_native",
    title="the native core",
    folder=_HERE,
    made_of=("native.h", *HEADERS, *SOURCES, "build.py", "../picoquic/helper.h"),
)
OTHER = "MINITOPO_DC_NATIVE"
"""The environment variable that names another build of it, e.g. one with sanitizers."""


def missing() -> str | None:
    """Return why the native core cannot be used here and what to do, None when it can."""
    return None if os.environ.get(OTHER) else EXTENSION.missing()


@functools.cache
def library() -> Any:
    """Return the extension, with `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here, or cannot be loaded.
    """
    other = os.environ.get(OTHER)
    module = _load(Path(other)) if other else EXTENSION.load()
    connect(module)
    return module


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(EXTENSION.module, path)
    if spec is None or spec.loader is None:
        raise NotBuiltError(f"{OTHER}: {path} is no extension of this Python")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise NotBuiltError(f"{OTHER}: {error}") from error
    return module
