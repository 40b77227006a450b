"""The compiled extension: what it is made of, where it is, and how it is loaded."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any, NamedTuple

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


class NotBuiltError(RuntimeError):
    """The extension is not here; the text says how to get it."""


def cache_directory() -> Path:
    """Where the extension is, or is to be: in a checkout its `.cache`, else the user's."""
    root = checkout()
    if root is not None and os.access(root, os.W_OK):
        return root / ".cache" / "picoquic"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "minitopo-dc" / "picoquic"


def extension_name() -> str:
    """Of the file: it changes with all that it is made of, and with the Python it is for."""
    parts = [SOURCE.sha256.encode()]
    parts += [_here(name).read_bytes() for name in ("helper.h", "helper.c", "build.py")]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()[:16]
    return f"{digest}/{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"


def missing() -> str | None:
    """Why picoquic cannot be used here, and what to do; None when it can."""
    if (cache_directory() / extension_name()).exists():
        return None
    return f"picoquic is not built (get it: {COMMAND})"


@functools.cache
def library() -> Any:
    """The extension: `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here.
    """
    reason = missing()
    if reason is not None:
        raise NotBuiltError(reason)
    path = cache_directory() / extension_name()
    spec = importlib.util.spec_from_file_location(MODULE, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    return module


def _here(name: str) -> Path:
    return Path(__file__).parent / name
