"""The compiled core: its sources, its build in seconds into a cache, and its calls into Python.

Each call from C has a handle of the Python object that it is for. A Python error in such a call
cannot pass through C: the object's `fail` keeps it, C ends at once, and the caller of the C code
raises it then.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from minitopo_dc.extension import Extension
from minitopo_dc.extension.make import (
    check_headers,
    compile_all,
    link,
    make,
    python_headers,
    write_glue,
)
from minitopo_dc.pdcp import T_REORDERING_MS

_HERE = Path(__file__).parent
SOURCES = tuple(sorted(str(path.relative_to(_HERE)) for path in _HERE.glob("*/*.c")))
HEADERS = tuple(sorted(str(path.relative_to(_HERE)) for path in _HERE.glob("*/*.h")))
EXTENSION = Extension(
    name="native",
    module="minitopo_dc_native",
    title="the native core",
    folder=_HERE,
    made_of=("native.h", *HEADERS, *SOURCES, "library.py", "../quic/stack.h", "../pdcp/timers.py"),
)
OTHER = "MINITOPO_DC_NATIVE"
"""The environment variable that names another build of it, e.g. one with sanitizers."""


def obstacle() -> str | None:
    """Return why the native core cannot be used here and what to do, None when it can."""
    return None if os.environ.get(OTHER) else EXTENSION.obstacle()


@functools.cache
def library() -> Any:
    """Return the extension, with `ffi` and `lib` of cffi.

    Raises:
        NotBuiltError: it is not here, or cannot be loaded.
    """
    other = os.environ.get(OTHER)
    module = EXTENSION.load(Path(other) if other else None)
    connect(module)
    return module


def connect(module: Any) -> None:
    """Register what the extension calls (`CALLED`): methods of the objects of its handles."""
    ffi = module.ffi
    thing: Any = ffi.from_handle

    def keep(_kind: type, error: BaseException, traceback: TracebackType) -> None:
        thing(traceback.tb_frame.f_locals["handle"]).fail(error)

    def calling(method: str) -> Callable[..., Any]:
        def call(handle: Any, *arguments: Any) -> Any:
            return getattr(thing(handle), method)(*arguments)

        return call

    for method, error in CALLS.items():
        ffi.def_extern(f"python_{method}", error, keep)(calling(method))


WARNINGS = ("-Wall", "-Wextra")
"""They stop a build with sanitizers only (tests/native): a user's compiler may know new ones."""
FLAGS = (
    *("-std=c11", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"),
    f"-DT_REORDERING_MS={','.join(map(str, T_REORDERING_MS))}",
    *(("-DSUM_COMPENSATES",) if sys.version_info >= (3, 12) else ()),
)
"""No fused multiplication, and sums as this Python has them, compensated from 3.12 on: results are
those of Python's floats on every processor."""
FAST = ("-O3", "-flto")
CALLED = """
extern "Python+C" void python_fire(void *timer);
extern "Python+C" void python_deliver(void *network, int64_t token, int ecn);
extern "Python+C" void python_forget(void *network, int64_t token);
extern "Python+C" int64_t python_step(void *host, int why);
extern "Python" int python_ask(void *policy, int64_t now, int size, int *answer);
"""
CALLS = {"fire": None, "deliver": None, "forget": None, "step": 0, "ask": -1}
"""What C calls in Python, and what it gets where that raises an error."""


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
    includes = (f"-I{here}", f"-I{here.parent / 'quic'}")
    own = (*FLAGS, *options, *WARNINGS, *includes)
    jobs = [(glue, (*FLAGS, *options, "-w", *includes, f"-I{python_headers()}"))]
    objects = compile_all(jobs + [(here / name, own) for name in SOURCES], directory)
    target = directory / Path(EXTENSION.file_name()).name
    return link(objects, target, (*FLAGS, *options, "-lm"))


NEVER = (1 << 63) - 1
"""As in C: no time, or no limit."""
MOST = 1 << 61
"""The largest number that goes down to C: of ns 73 years, of bytes 2 EB."""


def from_c_time(time: int) -> int | None:
    """Return a time of C's as one of Python's (ns), where None is never."""
    return None if time == NEVER else time


def to_c(number: int | None) -> int:
    """Return a time or a limit as C has it: None is never, and what is beyond any run is cut."""
    return NEVER if number is None else min(number, MOST)


def struct_of(kind: str, settings: object) -> Any:
    """Return C's struct of a kind, with what settings have under the names of its members.

    A method is called, and of a sequence where C has a number it is the length.
    """
    ffi = library().ffi
    return ffi.new(f"{kind} *", _members(ffi.typeof(kind), settings))


def _members(kind: Any, settings: object) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, member in kind.fields:
        value = getattr(settings, name)
        value = value() if callable(value) else value
        if member.type.kind == "struct":
            members[name] = {} if value is None else _members(member.type, value)
        elif member.type.kind == "array" or isinstance(value, float):
            members[name] = value
        else:
            members[name] = to_c(len(value) if isinstance(value, str) else value)
    return members


def counted(kind: type, counters: Any, legs: int = 0) -> dict[str, Any]:
    """Return the fields of a dataclass of statistics that C counts, of each leg in a tuple."""
    struct = library().ffi.typeof(counters)
    names = _counted_names(kind, struct.item if struct.kind == "pointer" else struct)
    values = ((name, getattr(counters, name)) for name in names)
    return {name: it if isinstance(it, int) else tuple(it[0:legs]) for name, it in values}


@functools.cache
def _counted_names(kind: Any, struct: Any) -> list[str]:
    members = dict(struct.fields)
    return [it.name for it in fields(kind) if it.name in members]


def random_state(rng: Random) -> Any:
    """Return the state of a generator that has drawn no normal number yet."""
    return library().ffi.new("uint32_t[625]", rng.getstate()[1])


def disown(made: Any) -> None:
    """Leave what Python has made in C to other C code, which frees it."""
    library().ffi.gc(made, None)
