"""The compiled core: its sources, the extension that is loaded, and its calls into Python.

Each call from C has a handle of the Python object that it is for. A Python error in such a call
cannot pass through C: the object's `fail` keeps it, C ends at once, and the caller of the C code
raises it then.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from minitopo_dc.extension import Extension, NotBuiltError

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


def connect(module: Any) -> None:
    """Register what the extension calls (`CALLED` of `minitopo_dc.native.build`)."""
    ffi = module.ffi
    thing: Any = ffi.from_handle

    def keep(_kind: type, error: BaseException, traceback: TracebackType) -> None:
        thing(traceback.tb_frame.f_locals["handle"]).fail(error)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_fire(handle: Any) -> None:
        """Let a timer act, as its moment has come."""
        thing(handle).fired()

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_deliver(handle: Any, token: int, ecn: int) -> None:
        """Hand a packet that has arrived, and may arrive again, to its network."""
        thing(handle).deliver(token, ecn)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_forget(handle: Any, token: int) -> None:
        """Tell a network of a packet that will not arrive any more."""
        thing(handle).forget(token)

    @ffi.def_extern(onerror=keep)  # type: ignore[untyped-decorator]
    def python_step(handle: Any, why: int) -> int:
        """Let a host act on what is due; return when to step again (ns)."""
        return int(thing(handle).step(why))

    @ffi.def_extern(onerror=keep, error=-1)  # type: ignore[untyped-decorator]
    def python_ask(handle: Any, now: int, size: int, answer: Any) -> int:
        """Let a split policy write the legs of an SDU; return how many they are."""
        return int(thing(handle).ask(now, size, answer))

    @ffi.def_extern()  # type: ignore[untyped-decorator]
    def python_which(handle: Any, number: int) -> bool:
        """Return whether a packet is to be flushed."""
        return bool(thing(handle)(number))
