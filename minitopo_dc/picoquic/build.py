"""The extension made: picoquic, picotls and our helper, compiled into a cache.

A compiler, Python's headers and OpenSSL's are needed, no root.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cffi import FFI

from minitopo_dc.picoquic.library import HELPER, MODULE, build_directory, extension_name, find
from minitopo_dc.picoquic.sources import (
    BuildError,
    archive,
    include_paths,
    run,
    source_files,
    unpack,
)

COMPILER = "cc"
FLAGS = ("-O2", "-fPIC", "-w", "-D_GNU_SOURCE", "-DPTLS_WITHOUT_FUSION", "-DDISABLE_DEBUG_PRINTF")
"""`fusion` is picotls' own AES for processors with AES-NI: OpenSSL's is as good, and everywhere."""
LIBRARIES = ("-lssl", "-lcrypto", "-lpthread", "-lm")
HEADERS = ("Python.h", "openssl/ssl.h")
PACKAGES = "Debian and Ubuntu: apt-get install gcc python3-dev libssl-dev"


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; its path. Others who do so are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler, headers or the sources are missing.
    """
    found = find()
    if found is not None and _why_not_loaded(found) is None:
        return found
    cache = build_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _lock(cache / "lock"):
            return _build(cache, say)
    except OSError as error:
        raise BuildError(str(error)) from error


def _build(cache: Path, say: Callable[[str], None]) -> Path:
    target = cache / extension_name()
    if target.exists() and _why_not_loaded(target) is None:
        return target  # made by another while we waited
    _check_headers()
    kept = archive(cache, say)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        sources = unpack(kept, Path(scratch))
        say("compiling picoquic (10 s on two cores)")
        made = _link(_compile(sources, Path(scratch)), Path(scratch) / target.name)
        reason = _why_not_loaded(made)
        if reason is not None:
            raise BuildError(f"the extension was made, but cannot be loaded: {reason}")
        target.parent.mkdir(exist_ok=True)
        made.replace(target)
    _remove_others(cache, {kept, target.parent, cache / "lock"})
    return target


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One build at a time; the kernel lets go of a killed one's."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_others(cache: Path, kept: set[Path]) -> None:
    """Extensions made of other sources, and what killed builds have left."""
    for path in cache.iterdir():
        if path in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _why_not_loaded(extension: Path) -> str | None:
    """Why Python cannot load it, for example with another OpenSSL; None when it can."""
    program = (
        "import sys, importlib.util as u; "
        f"s = u.spec_from_file_location({MODULE!r}, sys.argv[1]); "
        "s.loader.exec_module(u.module_from_spec(s))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(extension)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return words[-1] if done.returncode else None


def _check_headers() -> None:
    """Say what is missing before anything is fetched."""
    if shutil.which(COMPILER) is None:
        raise BuildError(f"no C compiler ({COMPILER}) on PATH ({PACKAGES})")
    with tempfile.TemporaryDirectory() as scratch:
        probe = Path(scratch) / "probe.c"
        for header in HEADERS:
            probe.write_text(f"#include <{header}>\n", encoding="ascii")
            command = [COMPILER, f"-I{_python_headers()}", "-fsyntax-only", str(probe)]
            run(command, f"the compiler does not find {header} ({PACKAGES})")


def _python_headers() -> str:
    return sysconfig.get_path("include")


def _compile(sources: Path, directory: Path) -> list[Path]:
    """Object files of picoquic, picotls and our helper, made with all processors."""
    glue = directory / f"{MODULE}.c"
    _write_glue(glue)
    here = Path(__file__).parent
    paths = (here, _python_headers(), *include_paths(sources))
    includes = [f"-I{path}" for path in paths]
    jobs = list(enumerate([glue, *(here / name for name in HELPER), *source_files(sources)]))

    def one(job: tuple[int, Path]) -> Path:
        number, source = job
        made = directory / f"{number}-{source.stem}.o"
        command = [COMPILER, *FLAGS, *includes, "-c", str(source), "-o", str(made)]
        run(command, f"{source.name} does not compile")
        return made

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, jobs))


def _write_glue(path: Path) -> None:
    """The C code between Python and what `helper.h` declares."""
    ffi = FFI()
    ffi.cdef((Path(__file__).parent / "helper.h").read_text(encoding="ascii"))
    ffi.set_source(MODULE, '#include <stdint.h>\n#include <stddef.h>\n#include "helper.h"')
    with contextlib.redirect_stdout(None):  # it says what it does
        ffi.emit_c_code(str(path))


def _link(objects: list[Path], target: Path) -> Path:
    command = [COMPILER, "-shared", "-o", str(target), *map(str, objects), *LIBRARIES]
    run(command, f"the extension does not link ({PACKAGES})")
    return target
