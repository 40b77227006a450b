"""Makes a guest: kernel, agent and controller, compiled into a cache by an ordinary user.

The kernel's sources are the distribution's, or those that the user names; of them only what a guest
needs is unpacked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from minitopo_dc.extension import build_directory, digest_file, digest_of, is_intact, put
from minitopo_dc.extension.make import LOCK, SCRATCH, BuildError, build_lock, remove_others, run
from minitopo_dc.files import UnreadableError, check_size, write_whole
from minitopo_dc.linux_guest import (
    AGENT,
    CACHE,
    CONFIGURATION,
    CONTROLLER,
    KERNEL,
    PATCH,
    RECORD,
    find,
    find_agent,
    is_as_recorded,
    kernel_name,
    programs_name,
    sources,
)

SERIES = "6.12"
"""Of Linux. Older ones lack the clock in shared memory; no other was tried with the patch."""
PACKAGE = f"linux-source-{SERIES}"
INSTALLED = Path("/usr/src") / f"{PACKAGE}.tar.xz"
"""The package's one file."""
ADVICE = f"name a tree or an archive of Linux {SERIES}: minitopo-dc build linux --source PATH"
MAX_TREE_BYTES = 1 << 32
"""The most bytes that are unpacked of an archive: several times a kernel's."""
DESCRIPTIONS = re.compile(r"Kconfig|Makefile|Kbuild")
"""What says of a folder what is in it: needed of all of them."""
WHOLE = (
    *("arch/um", "arch/x86", "crypto", "include", "init", "kernel", "lib", "mm", "net", "scripts"),
    *("security", "usr", "drivers/base", "drivers/char", "drivers/tty", "drivers/virtio"),
    *("fs/devpts", "fs/hostfs", "fs/kernfs", "fs/notify", "fs/proc", "fs/ramfs", "fs/sysfs"),
)
"""Folders of which every file is taken; of those in `PARTS` only the files right in them."""
PARTS = ("drivers/net", "fs", "io_uring")


def find_source(given: Path | None, scratch: Path, say: Callable[[str], None]) -> tuple[Path, str]:
    """Return the sources that the user named, that are installed, or that the distribution has.

    They are a tree, or an archive of one; their origin is for the record of the build.

    Raises:
        BuildError: there is nothing, with what to do.
    """
    if given is not None:
        if not given.exists():
            raise BuildError(f"--source: {given} does not exist")
        return given.resolve(), str(given)
    if INSTALLED.exists():
        return INSTALLED, f"{PACKAGE}, installed"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise BuildError(f"no apt-get here that could get {PACKAGE}: {ADVICE}")
    say(f"getting the sources ({PACKAGE}, 150 MB, by apt-get)")
    what = f"apt-get could not get {PACKAGE} (apt-get update, or {ADVICE})"
    run(["apt-get", "--quiet", "download", PACKAGE], what, directory=scratch)
    package = next(scratch.glob(f"{PACKAGE}_*.deb"), None)
    if package is None:
        raise BuildError(f"apt-get has left no package of {PACKAGE}: {ADVICE}")
    unpacked = scratch / "package"
    command = ["dpkg-deb", "--extract", str(package), str(unpacked)]
    run(command, f"dpkg-deb cannot unpack {package.name}")
    return unpacked / INSTALLED.relative_to("/"), package.name


def unpack(source: Path, tree: Path) -> str:
    """Copy the needed sources into an empty tree; return their hash, or that of their Makefile.

    Raises:
        BuildError: it is no source of this kernel.
    """
    if source.is_dir():
        _copy(source, tree)
        hashed = source / "Makefile"
    else:
        _extract(source, tree)
        hashed = source
    version = version_of(tree)
    if not version.startswith(f"{SERIES}."):
        raise BuildError(f"{source} is Linux {version}: {ADVICE}")
    with hashed.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def version_of(tree: Path) -> str:
    """Return the kernel's version as its Makefile says it.

    Raises:
        BuildError: there is none.
    """
    makefile = tree / "Makefile"
    text = makefile.read_text(encoding="utf-8", errors="replace") if makefile.exists() else ""
    numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(numbers) != 3:
        raise BuildError(f"these are no sources of Linux: {ADVICE}")
    return ".".join(numbers[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def is_needed(path: PurePosixPath) -> bool:
    """Return whether a guest needs a file of the tree, by its path from the tree's top."""
    folder = path.parent.as_posix()
    if folder == "." or DESCRIPTIONS.match(path.name):
        return True
    return folder in PARTS or _is_whole(folder)


@cache
def _is_whole(folder: str) -> bool:
    return any(f"{folder}/".startswith(f"{place}/") for place in WHOLE)


def _copy(source: Path, tree: Path) -> None:
    for entry in source.rglob("*"):
        path = entry.relative_to(source)
        if (entry.is_symlink() or not entry.is_dir()) and is_needed(PurePosixPath(path)):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(entry, tree / path, follow_symlinks=False)


def _extract(archive: Path, tree: Path) -> None:
    unpacked = 0
    try:
        with tarfile.open(archive, "r|*") as tar:
            # Python 3.11.4 and newer; before, links may lead out of the tree.
            tar.extraction_filter = getattr(tarfile, "tar_filter", lambda member, _path: member)
            for member in tar:
                parts = PurePosixPath(member.name).parts
                path = PurePosixPath(*parts[1:]) if len(parts) > 1 else None
                if path is not None and not member.isdir() and is_needed(path):
                    unpacked += member.size
                    check_size(unpacked, MAX_TREE_BYTES)
                    member.name = str(path)
                    tar.extract(member, tree)
    except (tarfile.TarError, EOFError, UnreadableError) as error:
        raise BuildError(f"{archive} cannot be unpacked: {error}") from None


Say = Callable[[str], None]
TOOLS = {
    "cc": "gcc libc6-dev",
    "make": "make",
    "patch": "patch",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "m4": "m4",
    "bc": "bc",
}
"""Programs, and the packages of Debian and Ubuntu that have them."""
C_FLAGS = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall")
WORK = f"{SCRATCH}kernel"
"""Sources and objects of a kernel that is not finished: kept, so that an ended build goes on."""
COMPILED_FILES = 670
"""About so many files are compiled for Linux 6.12.117, for the progress that is shown."""
CONSTANT = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_USER": "minitopo-dc",
    "KBUILD_BUILD_HOST": "minitopo-dc",
}
"""What would differ from one build to the next."""


def build(say: Say, source: Path | None = None) -> Path:
    """Make the guest unless it is here; return the kernel's path.

    Others who build are waited for.

    Args:
        say: told what is done next, a line each.
        source: a tree or an archive of the kernel's sources; None: the distribution's.

    Raises:
        BuildError: tools or sources are missing, or something does not compile.
    """
    if (guest := find()) is not None:
        return guest.kernel
    with build_lock(build_directory(CACHE)) as cache:
        if (guest := find()) is None:
            _check_tools()
            _make_programs(cache, say)
            _make_kernel(cache, source, say)
            made = (cache / kernel_name(), cache / programs_name())
            remove_others(cache, {*made, *map(digest_file, made), cache / LOCK})
            guest = find()
    assert guest is not None
    return guest.kernel


def build_agent(say: Say) -> Path:
    """Make the agent, which is also a proxy, unless it is here; return its path.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: there is no compiler, or it does not compile.
    """
    with build_lock(build_directory(CACHE)) as cache:
        _check_tools("cc", "strip")
        _make_programs(cache, say)
    agent = find_agent()
    assert agent is not None
    return agent


def _check_tools(*names: str) -> None:
    """Refuse a machine without some of `TOOLS`, or without any of them."""
    missing = [name for name in names or TOOLS if shutil.which(name) is None]
    if missing:
        packages = " ".join(TOOLS[name] for name in missing)
        raise BuildError(
            f"not installed: {', '.join(missing)} (Debian and Ubuntu: apt-get install {packages})"
        )


def _make_programs(cache: Path, say: Say) -> None:
    made = cache / programs_name()
    if made.exists() and is_intact(made):
        return
    say("compiling agent and controller")
    static = "the agent does not compile (is there a static C library? libc6-dev has it)"
    with TemporaryDirectory(prefix=SCRATCH, dir=cache) as name:
        ready = Path(name) / "ready"
        ready.mkdir()
        _compile_program("agent", ready / AGENT, ["-static"], static)
        run(["strip", str(ready / AGENT)], "strip")
        shared = ["-include", "stdint.h", "-fPIC", "-shared"]
        _compile_program(
            "controller", ready / CONTROLLER, shared, "the controller does not compile"
        )
        put(ready, made)


def _compile_program(part: str, made: Path, flags: list[str], failure: str) -> None:
    files = [str(file) for file in sources(part) if file.suffix == ".c"]
    run(["cc", *C_FLAGS, *flags, "-o", str(made), *files], failure)


def _make_kernel(cache: Path, given: Path | None, say: Say) -> None:
    made = cache / kernel_name()
    if is_as_recorded(made / KERNEL):
        return
    work = cache / WORK
    note, purpose = work / "unpacked.json", {"for": kernel_name(), "given": str(given)}
    record = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    if not purpose.items() <= record.items():
        shutil.rmtree(work, ignore_errors=True)
        record = purpose | _unpacked(work, given, say)
        write_whole(note, json.dumps(record))
    objects, ready = work / "objects", work / "ready"
    _compile(work / "tree", objects, say)
    run(["strip", str(objects / KERNEL)], "strip")
    ready.mkdir(exist_ok=True)
    (objects / KERNEL).rename(ready / KERNEL)
    record = {name: record[name] for name in ("version", "source", "source_sha256")}
    record["kernel_sha256"] = digest_of(ready / KERNEL)
    (ready / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    put(ready, made)


def _unpacked(work: Path, given: Path | None, say: Say) -> dict[str, str]:
    """Make a patched tree; return what it was made of."""
    tree = work / "tree"
    tree.mkdir(parents=True)
    source, origin = find_source(given, work, say)
    say(f"unpacking what is needed of {origin}")
    digest = unpack(source, tree)
    patch = ["patch", "--strip=1", "--batch", "--input", str(PATCH)]
    run(patch, f"{PATCH.name} does not fit these sources", directory=tree)
    shutil.rmtree(work / "package", ignore_errors=True)
    return {"version": version_of(tree), "source": origin, "source_sha256": digest}


def _compile(tree: Path, objects: Path, say: Say) -> None:
    """Configure, compile on all processors, and tell how far it is."""
    objects.mkdir(exist_ok=True)
    command = ["make", "--directory", str(tree), "ARCH=um", f"O={objects}"]
    environment = {**CONSTANT, "KCONFIG_ALLCONFIG": str(CONFIGURATION)}
    run([*command, "allnoconfig"], "the kernel cannot be configured", environment=environment)
    say("compiling the kernel (5 minutes of one processor)")
    log = objects / "build.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, f"--jobs={len(os.sched_getaffinity(0))}", KERNEL],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, **CONSTANT},
        ) as make,
    ):
        assert make.stdout is not None
        try:
            tell(make.stdout, say)
        except BaseException:
            make.terminate()
            raise
    if make.returncode:
        lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines()]
        said = [line for line in lines if "rror" in line][:3] or lines[-3:]
        raise BuildError(f"the kernel does not compile: {' | '.join(said)}")


def tell(lines: Iterable[str], say: Say) -> None:
    """Tell ten times how far make is, by the lines that it prints."""
    compiled = (line for line in lines if line.startswith("  CC "))
    for count, _ in enumerate(compiled, start=1):
        if count % (COMPILED_FILES // 10) == 0 and count < COMPILED_FILES:
            say(f"compiled {100 * count // COMPILED_FILES} %")
