"""Makes an extension: compiled and linked in a cache, and loaded once before it is kept.

It needs a compiler and Python's headers, but no root. What pip has fetched once stays in a cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cffi import FFI

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.extension import CACHE_HOME, Extension, digest_of, is_intact, put
from minitopo_dc.scratch import scratch

COMPILER = "cc"
PACKAGES = "Debian and Ubuntu: apt-get install gcc python3-dev libssl-dev"

Job = tuple[Path, Sequence[str]]
"""A C file, and the compiler's options for it."""


class BuildError(MinitopoDcError, RuntimeError):
    """Error: the extension could not be made; the text says why and what to do."""


def make(
    extension: Extension, compile_into: Callable[[Path, Path], Path], kept: Iterable[str] = ()
) -> Path:
    """Make an extension unless it is here and works; return its path.

    Others who build are waited for.

    Args:
        extension: which.
        compile_into: takes the cache and a scratch directory in it; returns the linked file.
        kept: names of files in the cache to keep beside it.

    Raises:
        BuildError: it cannot be made.
    """
    here = extension.find()
    if here is not None and _works(extension, here):
        return here
    with build_lock(extension.build_directory()) as cache:
        target = cache / extension.file_name()
        if is_intact(target) and _works(extension, target):
            return target  # made by another while we waited
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=cache) as scratch:
            made = compile_into(cache, Path(scratch))
            reason = loading_error(extension.module, made)
            if reason is not None:
                raise BuildError(f"the extension was made, but cannot be loaded: {reason}")
            put(made, target)
        remove_others(cache, {target.parent, cache / LOCK, *(cache / name for name in kept)})
        return target


def _works(extension: Extension, file: Path) -> bool:
    return loading_error(extension.module, file) is None


LOCK = "lock"
SCRATCH = "scratch-"
"""The beginning of the names of folders that a build removes at its end."""
KEPT_S = 30 * 24 * 3600
"""How long the cache keeps what is of other sources (s): our choice; a campaign that began before
an upgrade, or another environment of the user, may still load it."""


@contextlib.contextmanager
def build_lock(cache: Path) -> Iterator[Path]:
    """Give a cache to one build at a time; the kernel frees a killed build's lock.

    Raises:
        BuildError: files cannot be written there.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = os.open(cache / LOCK, os.O_CREAT, 0o644)  # it may be root's: it is only read
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield cache
        finally:
            os.close(lock)
    except OSError as error:
        raise BuildError(f"{error} (${CACHE_HOME} names another folder)") from error


def remove_others(cache: Path, kept: set[Path]) -> None:
    """Remove old extensions of other sources (`KEPT_S`), and what killed builds have left."""
    oldest = time.time() - KEPT_S
    for path in cache.iterdir():
        is_left = path.name.startswith(SCRATCH) or path.stat().st_mtime < oldest
        if path in kept or not is_left:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def loading_error(module: str, extension: Path) -> str | None:
    """Return why Python cannot load it, for example with another OpenSSL; None when it can."""
    program = (
        "import sys, importlib.util as u; "
        f"s = u.spec_from_file_location({module!r}, sys.argv[1]); "
        "s.loader.exec_module(u.module_from_spec(s))"
    )
    done = _done([sys.executable, "-P", "-c", program, str(extension)])
    words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return words[-1] if done.returncode else None


def check_headers(headers: Sequence[str]) -> None:
    """Refuse a machine without compiler or headers before anything is fetched.

    Raises:
        BuildError: there is no compiler, or it does not find one of the headers.
    """
    if shutil.which(COMPILER) is None:
        raise BuildError(f"no C compiler ({COMPILER}) on PATH ({PACKAGES})")
    with scratch() as directory:
        probe = directory / "probe.c"
        for header in headers:
            probe.write_text(f"#include <{header}>\n", encoding="ascii")
            command = [COMPILER, f"-I{python_headers()}", "-fsyntax-only", str(probe)]
            run(command, f"the compiler does not find {header} ({PACKAGES})")


def python_headers() -> str:
    """Return the folder of Python.h."""
    return sysconfig.get_path("include")


def write_glue(module: str, declarations: str, includes: Sequence[str], path: Path) -> None:
    """Write the C code between Python and what a header declares."""
    ffi = FFI()
    ffi.cdef(declarations)
    headers = ("<stdint.h>", "<stddef.h>", *(f'"{name}"' for name in includes))
    ffi.set_source(module, "\n".join(f"#include {name}" for name in headers))
    with contextlib.redirect_stdout(None):  # it says what it does
        ffi.emit_c_code(str(path))


def compile_all(jobs: Iterable[Job], directory: Path) -> list[Path]:
    """Return object files, compiled on all processors.

    Raises:
        BuildError: a file does not compile.
    """

    def one(job: tuple[int, Job]) -> Path:
        number, (source, options) = job
        made = directory / f"{number}-{source.stem}.o"
        command = [COMPILER, *options, "-c", str(source), "-o", str(made)]
        run(command, f"{source.name} does not compile")
        return made

    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 (only who compiles needs it)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, enumerate(jobs)))


def link(objects: Sequence[Path], target: Path, options: Sequence[str]) -> Path:
    """Link objects into a shared object, and return it.

    Raises:
        BuildError: it does not link.
    """
    command = [COMPILER, "-shared", "-o", str(target), *map(str, objects), *options]
    run(command, f"the extension does not link ({PACKAGES})")
    return target


def run(
    command: Sequence[str],
    what: str,
    *,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program, in a directory and with additions to the environment if they are given.

    Returns:
        what it printed.

    Raises:
        BuildError: it failed; with what it said of errors, else its last words.
    """
    done = _done(command, cwd=directory, env={**os.environ, **(environment or {})})
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        said = [line.strip() for line in words if "error" in line.lower()] or words[-3:]
        end = f"exit code {done.returncode}"
        raise BuildError(f"{what}: {' | '.join(said[:3]) or end}")
    return done.stdout


def _done(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, without input, and return what it said."""
    options |= {"stdin": subprocess.DEVNULL, "capture_output": True}
    return subprocess.run(command, check=False, encoding="utf-8", errors="replace", **options)


NO_SET_UP = """
from pathlib import Path

def prepare_metadata_for_build_wheel(directory, settings=None):
    folder = Path(directory, "{0}-{1}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\\nName: {0}\\nVersion: {1}\\n")
    return folder.name

class __legacy__:
    prepare_metadata_for_build_wheel = staticmethod(prepare_metadata_for_build_wheel)
"""
"""Stands for setuptools (PEP 517) where pip asks a package for its dependencies, also when it is to
fetch no more than the archive: the package's own set-up would run for that, with what it needs."""


@dataclass(frozen=True)
class SourceDistribution:
    """One release of a package on PyPI.

    Attributes:
        requirement: its name and version, as pip writes them.
        sha256: of its archive, in hexadecimal.
        title: what a message calls its content.
    """

    requirement: str
    sha256: str
    title: str

    @property
    def archive(self) -> str:
        """Return the name of its archive."""
        return f"{self.requirement.replace('==', '-')}.tar.gz"

    def fetch(self, cache: Path, say: Callable[[str], None]) -> Path:
        """Return the archive, fetched into the cache unless it is there.

        Raises:
            BuildError: pip could not get it, or what is there is something else.
        """
        kept = cache / self.archive
        if not self._is_whole(kept):
            kept.unlink(missing_ok=True)
            say(f"getting the sources ({self.requirement}, by pip)")
            with scratch() as directory:
                self._download(directory, cache)
        if not kept.exists():
            raise BuildError(f"pip has left no {kept}")
        return kept

    def _download(self, directory: Path, cache: Path) -> None:
        """Have pip put the archive into the cache; what pip is given is in a directory."""
        requirements, backend = directory / "requirements.txt", directory / "setuptools"
        requirements.write_text(
            f"{self.requirement} --hash=sha256:{self.sha256}\n", encoding="ascii"
        )
        backend.mkdir()
        (backend / "__init__.py").touch()
        (backend / "build_meta.py").write_text(NO_SET_UP.format(*self.requirement.split("==")))
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet"),
            *("--no-deps", "--no-binary", ":all:"),
            *("--disable-pip-version-check", "--ignore-requires-python", "--use-pep517"),
            *("--no-build-isolation", "--dest", str(cache)),
            *("--require-hashes", "--requirement", str(requirements)),
        ]
        failure = f"pip could not get {self.title}'s sources, once (is there a network?)"
        run(command, failure, environment={"PYTHONPATH": str(directory)})

    def _is_whole(self, kept: Path) -> bool:
        """Return whether an archive is here with its hash: what pip began may be half a file."""
        return kept.exists() and digest_of(kept) == self.sha256

    def unpack(self, kept: Path, directory: Path) -> Path:
        """Unpack the archive into a directory, and return the folder with all that it holds."""
        with tarfile.open(kept) as tar:
            # Python 3.11.4 and newer; before, the hash alone says that nothing leaves it.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(directory)
        return directory / self.archive.removesuffix(".tar.gz")
