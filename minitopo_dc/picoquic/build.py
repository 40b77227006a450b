"""Makes the extension: picoquic, picotls and a helper of this project, compiled into a cache.

It needs a compiler and the headers of Python and OpenSSL, but no root.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from minitopo_dc.extension.make import (
    BuildError,
    check_headers,
    compile_all,
    link,
    make,
    python_headers,
    write_glue,
)
from minitopo_dc.picoquic.library import EXTENSION, HELPER, SOURCE
from minitopo_dc.picoquic.sources import (
    fusion_file,
    include_paths,
    rename,
    source_files,
)

FLAGS = ("-O2", "-fPIC", "-w", "-D_GNU_SOURCE", "-DDISABLE_DEBUG_PRINTF")
"""-O3 and link-time optimization gain nothing (docs/measurements/clocks.md)."""
FUSION = ("-mavx2", "-maes", "-mpclmul", "-mvaes", "-mvpclmulqdq")
"""Of `fusion`, picotls' own AES-GCM, which it uses where the processor has these instructions."""
NO_FUSION = "-DPTLS_WITHOUT_FUSION"
"""OpenSSL's is used instead."""
LIBRARIES = ("-lssl", "-lcrypto", "-lpthread", "-lm")
HEADERS = ("Python.h", "openssl/ssl.h")


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; return its path.

    Others who build are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler, headers or the sources are missing.
    """
    return make(EXTENSION, partial(_compile, say), kept=(SOURCE.archive,))


def _compile(say: Callable[[str], None], cache: Path, scratch: Path) -> Path:
    check_headers(HEADERS)
    sources = SOURCE.unpack(SOURCE.fetch(cache, say), scratch) / "third_party"
    rename(sources)
    say("compiling picoquic (10 s on two cores)")
    here = EXTENSION.folder
    glue = scratch / f"{EXTENSION.module}.c"
    helper = (here / "helper.h").read_text(encoding="ascii")
    write_glue(EXTENSION.module, helper, ["helper.h"], glue)
    paths = (here, python_headers(), *include_paths(sources))
    fused = can_compile_fusion(scratch)
    options = (*FLAGS, *(() if fused else (NO_FUSION,)), *(f"-I{path}" for path in paths))
    files = (glue, *(here / name for name in HELPER), *source_files(sources))
    jobs = [(file, options) for file in files]
    if fused:
        jobs.append((fusion_file(sources), (*options, *FUSION)))
    objects = compile_all(jobs, scratch)
    return link(objects, scratch / Path(EXTENSION.file_name()).name, LIBRARIES)


def can_compile_fusion(scratch: Path) -> bool:
    """Return whether the compiler knows the instructions of `fusion` (x86-64 with AES-NI)."""
    probe = scratch / "probe.c"
    probe.write_text(
        "#include <immintrin.h>\n__m256i probe(__m256i a) { return _mm256_aesenc_epi128(a, a); }\n",
        encoding="ascii",
    )
    try:
        compile_all([(probe, FUSION)], scratch)
    except BuildError:
        return False
    return True
