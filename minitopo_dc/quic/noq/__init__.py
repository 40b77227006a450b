"""The compiled extension: noq-proto and this project's code around it, built into a cache.

The build needs cargo, a C compiler and Python's headers, but no root. cargo fetches the crates,
whose versions and hashes are those of Cargo.lock.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from minitopo_dc.extension import Extension
from minitopo_dc.extension.make import (
    BuildError,
    check_headers,
    compile_all,
    link,
    make,
    python_headers,
    run,
    write_glue,
)
from minitopo_dc.quic.stack import HEADER, Stack

CRATE = "noq-proto"
PATCH = f"{CRATE}-1.4.0.patch"
"""What it mends is in docs/noq.md."""
OLDEST_RUST = (1, 88)
"""The oldest Rust with which noq-proto 1.4.0 compiles (its rust-version)."""
TARGET = "target"
"""The folder in the cache where cargo keeps the compiled crates."""
_HERE = Path(__file__).parent
CODE = tuple(f"src/{name}.rs" for name in ("lib", "abi", "configuration", "end", "random"))
SOURCES = ("Cargo.toml", "Cargo.lock", *CODE)
EXTENSION = Extension(
    name="noq",
    module="minitopo_dc_noq",
    title="noq",
    folder=_HERE,
    made_of=("../stack.h", PATCH, *SOURCES, "__init__.py"),
)
FLAGS = ("-O2", "-fPIC", "-w")
LIBRARIES = ("-lgcc_s", "-lpthread", "-lm", "-ldl")


NOQ = Stack(
    name="noq",
    version="1.4.0",  # of noq-proto, as Cargo.toml says
    congestion_controls=("newreno", "cubic", "bbr3"),
    load=EXTENSION.load,
    obstacle=EXTENSION.obstacle,
)


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; return its path.

    Others who build are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: cargo, a compiler, headers or the crates are missing.
    """
    return make(EXTENSION, partial(_compile, say), kept=(TARGET,))


def _compile(say: Callable[[str], None], cache: Path, scratch: Path) -> Path:
    check_headers(("Python.h",))
    # Also with rustup's folder, which sudo leaves out.
    folders = os.environ.get("PATH", os.defpath), f"{os.environ.get('HOME', '')}/.cargo/bin"
    environment = {"PATH": ":".join(folders)}
    _check_rust(environment)
    crate = scratch / "crate"
    for name in (*SOURCES, PATCH):
        (crate / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_HERE / name, crate / name)
    say("getting the crates (by cargo)")
    shutil.copytree(_fetch(crate, environment), scratch / CRATE)
    command = ["patch", "--strip=1", "--batch", "--input", str(_HERE / PATCH)]
    run(command, f"{PATCH} does not fit these sources", directory=scratch / CRATE)
    say("compiling noq (2 minutes on two cores)")
    command = [
        *("cargo", "build", "--release", "--offline", "--target-dir", str(cache / TARGET)),
        *("--config", f'patch.crates-io.{CRATE}.path="../{CRATE}"'),
    ]
    run(command, "cargo could not compile noq", directory=crate, environment=environment)
    glue = scratch / f"{EXTENSION.module}.c"
    write_glue(EXTENSION.module, HEADER.read_text(encoding="ascii"), [str(HEADER)], glue)
    objects = compile_all([(glue, (*FLAGS, f"-I{python_headers()}"))], scratch)
    archive = cache / TARGET / "release" / f"lib{EXTENSION.module}.a"
    return link([*objects, archive], scratch / Path(EXTENSION.file_name()).name, LIBRARIES)


def _check_rust(environment: Mapping[str, str]) -> None:
    oldest = ".".join(map(str, OLDEST_RUST))
    remedy = f"install Rust {oldest} or newer (https://rustup.rs), then: {EXTENSION.command}"
    if shutil.which("cargo", path=environment["PATH"]) is None:
        raise BuildError(f"no cargo on PATH: {remedy}")
    words = run(["rustc", "--version"], "rustc does not run", environment=environment).split()
    version = tuple(int(part) for part in words[1].split("-")[0].split(".")[:2])
    if version < OLDEST_RUST:
        raise BuildError(f"rustc is {words[1]}: {remedy}")


def _fetch(crate: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of noq-proto's sources, whose hash cargo has checked."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    command += ["--manifest-path", str(crate / "Cargo.toml")]
    what = "cargo could not get the crates, once (is there a network?)"
    packages = json.loads(run(command, what, environment=environment))["packages"]
    return next(Path(each["manifest_path"]).parent for each in packages if each["name"] == CRATE)
