"""The compiled extension: its sources, and the one that is loaded."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from minitopo_dc.extension import Extension
from minitopo_dc.extension.make import SourceDistribution

SOURCE = SourceDistribution(
    requirement="aiopquic==0.6.1",  # it wants Python 3.12, its C does not
    sha256="72579146e0f22859a5a7c197246604fef460b9e1b578a2910156dff7679efd29",
    title="picoquic",
    metadata_from=("cython", "setuptools_scm", "packaging"),
)
"""It carries picoquic 1.1.53 and the picotls that goes with it, both MIT; nothing else of it is
used. It stays in the cache, so that a change of this project's helper needs no network."""
PICOQUIC_VERSION = "1.1.53.0"
"""As picoquic.h of `SOURCE` says."""
_HERE = Path(__file__).parent
HELPER = tuple(sorted(path.name for path in _HERE.glob("*.c")))
"""The C code of this project's own: what lets Python use picoquic with few calls."""
EXTENSION = Extension(
    name="picoquic",
    module="minitopo_dc_picoquic",
    title="picoquic",
    folder=_HERE,
    made_of=("helper.h", "endpoint.h", *HELPER, "build.py"),
    salt=SOURCE.sha256,
)


def missing() -> str | None:
    """Return why picoquic cannot be used here and what to do, None when it can."""
    return EXTENSION.missing()


@functools.cache
def library() -> Any:
    """Return the extension, with `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here, or cannot be loaded.
    """
    return EXTENSION.load()
