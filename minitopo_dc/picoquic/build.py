"""The extension made: picoquic, picotls and our helper, compiled into a cache.

A compiler, Python's headers and OpenSSL's are needed, no root.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from minitopo_dc.extension.make import (
    check_headers,
    compile_all,
    link,
    make,
    python_headers,
    write_glue,
)
from minitopo_dc.picoquic.library import EXTENSION, HELPER
from minitopo_dc.picoquic.sources import (
    ARCHIVE,
    archive,
    include_paths,
    source_files,
    unpack,
)

FLAGS = ("-O2", "-fPIC", "-w", "-D_GNU_SOURCE", "-DPTLS_WITHOUT_FUSION", "-DDISABLE_DEBUG_PRINTF")
"""`fusion` is picotls' own AES for processors with AES-NI: OpenSSL's is as good, and everywhere."""
LIBRARIES = ("-lssl", "-lcrypto", "-lpthread", "-lm")
HEADERS = ("Python.h", "openssl/ssl.h")


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; its path. Others who do so are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler, headers or the sources are missing.
    """
    return make(EXTENSION, partial(_compile, say), kept=(ARCHIVE,))


def _compile(say: Callable[[str], None], cache: Path, scratch: Path) -> Path:
    check_headers(HEADERS)
    sources = unpack(archive(cache, say), scratch)
    say("compiling picoquic (10 s on two cores)")
    here = EXTENSION.folder
    glue = scratch / f"{EXTENSION.module}.c"
    helper = (here / "helper.h").read_text(encoding="ascii")
    write_glue(EXTENSION.module, helper, ["helper.h"], glue)
    paths = (here, python_headers(), *include_paths(sources))
    options = (*FLAGS, *(f"-I{path}" for path in paths))
    files = (glue, *(here / name for name in HELPER), *source_files(sources))
    objects = compile_all([(file, options) for file in files], scratch)
    return link(objects, scratch / Path(EXTENSION.file_name()).name, LIBRARIES)
