"""Builds the native core: some thirty C files, compiled into a cache in a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
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
from minitopo_dc.native.library import EXTENSION, SOURCES

WARNINGS = ("-Wall", "-Wextra")
"""They stop a build with sanitizers only (tests/native): a user's compiler may know new ones."""
FLAGS = ("-std=c11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off")
"""No fused multiplication: results are those of Python's floats on every processor."""
FAST = ("-O3", "-flto")
CALLED = """
extern "Python" void python_fire(void *timer);
extern "Python" void python_deliver(void *network, int64_t token, int ecn);
extern "Python" void python_forget(void *network, int64_t token);
extern "Python" int64_t python_step(void *host, int why);
extern "Python" int python_ask(void *policy, int64_t now, int size, int *answer);
extern "Python" int python_which(void *context, uintptr_t number);
"""
"""What C calls in Python (`minitopo_dc.native.library`)."""


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; return its path.

    Others who build are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler or Python's headers are missing.
    """
    return make(EXTENSION, partial(_compile, say))


def _compile(say: Callable[[str], None], _cache: Path, scratch: Path) -> Path:
    say("compiling the native core (5 s on two cores)")
    return compile_core(scratch, FAST)


def compile_core(directory: Path, options: Sequence[str]) -> Path:
    """Return the extension, made in a directory with these compiler options besides.

    Raises:
        BuildError: there is no compiler, or it does not compile.
    """
    check_headers(("Python.h",))
    here = EXTENSION.folder
    glue = directory / f"{EXTENSION.module}.c"
    declared = (here / "native.h").read_text(encoding="ascii") + CALLED
    write_glue(EXTENSION.module, declared, ["native.h"], glue)
    includes = (f"-I{here}", f"-I{here.parent / 'picoquic'}")
    own = (*FLAGS, *options, *WARNINGS, *includes, *_like_this_python())
    jobs = [(glue, (*FLAGS, *options, "-w", *includes, f"-I{python_headers()}"))]
    objects = compile_all(jobs + [(here / name, own) for name in SOURCES], directory)
    target = directory / Path(EXTENSION.file_name()).name
    return link(objects, target, (*FLAGS, *options, "-lm"))


def _like_this_python() -> tuple[str, ...]:
    """Return compiler options so that sums of floats are Python's, compensated from 3.12 on."""
    return ("-DSUM_COMPENSATES",) if sys.version_info >= (3, 12) else ()
