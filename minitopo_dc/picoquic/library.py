"""The compiled extension: what it is made of, where it is, and how it is loaded."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.shipped import checkout

MODULE = "minitopo_dc_picoquic"
COMMAND = "minitopo-dc build picoquic"
"""What makes the extension."""


class Source(NamedTuple):
    """A source distribution that is pinned."""

    requirement: str
    sha256: str


SOURCE = Source(
    "aiopquic==0.6.1", "72579146e0f22859a5a7c197246604fef460b9e1b578a2910156dff7679efd29"
)
"""It carries picoquic 1.1.53 and the picotls that goes with it."""
PICOQUIC_VERSION = "1.1.53.0"
"""As picoquic.h of `SOURCE` says."""
HELPER = ("coupled.c", "endpoint.c", "events.c", "paths.c", "random.c", "streams.c")
"""The C code of this project's own: what lets Python use picoquic with few calls."""
MADE_OF = ("helper.h", "endpoint.h", *HELPER, "build.py", "sources.py")
"""What else changes the extension: its own code, and how it is compiled."""
_HERE = Path(__file__).parent


class NotBuiltError(MinitopoDcError, RuntimeError):
    """The extension is not here; the text says how to get it."""


def build_directory() -> Path:
    """Where the extension is to be: in a checkout of one's own its `.cache`, else the user's."""
    root = checkout()
    if root is not None and os.access(root, os.W_OK):
        return _of_checkout(root)
    return _of_user()


def find() -> Path | None:
    """The extension; None when it is not here. That of another's checkout does, too."""
    root = checkout()
    places = [build_directory(), _of_user(), *([] if root is None else [_of_checkout(root)])]
    name = extension_name()
    return next((place / name for place in places if (place / name).exists()), None)


def extension_name() -> str:
    """Of the file: it changes with all that it is made of, and with the Python it is for."""
    parts = [SOURCE.sha256.encode(), *((_HERE / name).read_bytes() for name in MADE_OF)]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    return f"{digest}/{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"


def missing() -> str | None:
    """Why picoquic cannot be used here, and what to do; None when it can."""
    return None if find() else f"picoquic is not built (get it: {COMMAND})"


@functools.cache
def library() -> Any:
    """The extension: `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here, or cannot be loaded.
    """
    path = find()
    if path is None:
        raise NotBuiltError(missing())
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:  # the system's OpenSSL is another one now, for example
        raise NotBuiltError(f"{path}: {error} (get it anew: {COMMAND})") from error
    return module


def _of_checkout(root: Path) -> Path:
    return root / ".cache" / "picoquic"


def _of_user() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "minitopo-dc" / "picoquic"
