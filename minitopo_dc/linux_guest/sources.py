"""Sources of the kernel: where they come from, and which of them a guest needs."""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from minitopo_dc.extension.make import BuildError, run

SERIES = "6.12"
"""Of Linux. Older ones lack the clock in shared memory; no other was tried with the patch."""
PACKAGE = f"linux-source-{SERIES}"
INSTALLED = Path("/usr/src") / f"{PACKAGE}.tar.xz"
"""The package's one file."""
ADVICE = f"name a tree or an archive of Linux {SERIES}: minitopo-dc build linux --source PATH"
DESCRIPTIONS = re.compile(r"Kconfig|Makefile|Kbuild")
"""What says of a folder what is in it: needed of all of them."""
WHOLE = (
    *("arch/um", "arch/x86", "block", "certs", "crypto", "include", "init", "io_uring", "ipc"),
    *("kernel", "lib", "mm", "net", "scripts", "security", "tools/include", "usr", "virt"),
    *("drivers/base", "drivers/block", "drivers/char", "drivers/clk", "drivers/clocksource"),
    *("drivers/firmware", "drivers/hwmon", "drivers/input", "drivers/irqchip", "drivers/of"),
    *("drivers/pci", "drivers/pps", "drivers/ptp", "drivers/rtc", "drivers/tty", "drivers/vhost"),
    *("drivers/video", "drivers/virtio"),
)
"""Folders of which every file is taken; of the others in `PARTS` only those right in them."""
PARTS = ("drivers/net", "drivers/net/phy", "drivers/net/mdio", "fs")
FILE_SYSTEMS = (
    *("debugfs", "devpts", "exportfs", "hostfs", "iomap", "kernfs", "nls", "notify", "proc"),
    *("pstore", "quota", "ramfs", "sysfs", "tracefs", "unicode", "verity", "crypto"),
)


class Source(NamedTuple):
    """Sources of the kernel, in a tree or an archive."""

    path: Path
    """A tree, or an archive of one."""
    origin: str
    """Where they came from, for the record of the build."""


def find_source(given: Path | None, scratch: Path, say: Callable[[str], None]) -> Source:
    """Return the sources that the user named, that are installed, or that the distribution has.

    Raises:
        BuildError: there is nothing, with what to do.
    """
    if given is not None:
        if not given.exists():
            raise BuildError(f"--source: {given} does not exist")
        return Source(given.resolve(), str(given))
    if INSTALLED.exists():
        return Source(INSTALLED, f"{PACKAGE}, installed")
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise BuildError(f"no apt-get here that could get {PACKAGE}: {ADVICE}")
    return _downloaded(scratch, say)


def _downloaded(scratch: Path, say: Callable[[str], None]) -> Source:
    found = _packages(scratch)
    if not found:
        say(f"getting the sources ({PACKAGE}, 150 MB, by apt-get)")
        what = f"apt-get could not get {PACKAGE} (apt-get update, or {ADVICE})"
        run(["apt-get", "--quiet", "download", PACKAGE], what, directory=scratch)
        found = _packages(scratch)
    if not found:
        raise BuildError(f"apt-get has left no package of {PACKAGE}: {ADVICE}")
    unpacked = scratch / "package"
    run(
        ["dpkg-deb", "--extract", str(found[0]), str(unpacked)],
        f"dpkg-deb cannot unpack {found[0].name}",
    )
    return Source(unpacked / INSTALLED.relative_to("/"), found[0].name)


def _packages(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"{PACKAGE}_*.deb"))


def unpack(source: Source, tree: Path) -> str:
    """Copy the needed sources into a new tree; return their hash, or that of their Makefile.

    Raises:
        BuildError: it is no source of this kernel.
    """
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    if source.path.is_dir():
        _copy(source.path, tree)
        hashed = source.path / "Makefile"
    else:
        _extract(source.path, tree)
        hashed = source.path
    version = version_of(tree)
    if not version.startswith(f"{SERIES}."):
        raise BuildError(f"{source.path} is Linux {version}: {ADVICE}")
    with hashed.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def version_of(tree: Path) -> str:
    """Return the kernel's version as its Makefile says it.

    Raises:
        BuildError: there is none.
    """
    makefile = tree / "Makefile"
    text = makefile.read_text(encoding="utf-8", errors="replace") if makefile.exists() else ""
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(found) != 3:
        raise BuildError(f"these are no sources of Linux: {ADVICE}")
    return ".".join(found[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def is_needed(path: PurePosixPath) -> bool:
    """Return whether a guest needs a file of the tree, by its path from the tree's top."""
    folder = path.parent.as_posix()
    if folder == "." or DESCRIPTIONS.match(path.name):
        return True
    inside = [*WHOLE, *(f"fs/{name}" for name in FILE_SYSTEMS)]
    return folder in PARTS or any(f"{folder}/".startswith(f"{each}/") for each in inside)


def _copy(source: Path, tree: Path) -> None:
    folders = [source]
    while folders:
        for each in folders.pop().iterdir():
            path = each.relative_to(source)
            if each.is_dir() and not each.is_symlink():
                folders.append(each)
            elif is_needed(PurePosixPath(path)):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(each, tree / path, follow_symlinks=False)


def _extract(archive: Path, tree: Path) -> None:
    try:
        with tarfile.open(archive, "r|*") as tar:
            # Python 3.11.4 and newer; before, links may lead out of the tree.
            safe = getattr(tarfile, "tar_filter", lambda member, _path: member)
            tar.extraction_filter = safe
            for member in tar:
                parts = PurePosixPath(member.name).parts
                path = PurePosixPath(*parts[1:]) if len(parts) > 1 else None
                if path is not None and not member.isdir() and is_needed(path):
                    member.name = str(path)
                    tar.extract(member, tree)
    except (tarfile.TarError, EOFError) as error:
        raise BuildError(f"{archive} cannot be unpacked: {error}") from None
