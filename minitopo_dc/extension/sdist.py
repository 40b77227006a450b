"""A pinned source distribution: what pip has fetched once stays in a cache."""

from __future__ import annotations

import hashlib
import sys
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.extension.make import BuildError, run


@dataclass(frozen=True)
class SourceDistribution:
    """One release of a package on PyPI.

    Attributes:
        requirement: its name and version, as pip writes them.
        sha256: of its archive, in hexadecimal.
        title: what a message calls its content.
        metadata_from: packages that may be wheels, as pip asks them about this one.
    """

    requirement: str
    sha256: str
    title: str
    metadata_from: Sequence[str] = ()

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
        if not kept.exists():
            say(f"getting the sources ({self.requirement}, by pip)")
            self._download(cache)
        if not kept.exists():
            raise BuildError(f"pip has left no {kept}")
        if hashlib.sha256(kept.read_bytes()).hexdigest() != self.sha256:
            raise BuildError(f"{kept} is not the file whose hash is known: remove it")
        return kept

    def unpack(self, kept: Path, directory: Path) -> Path:
        """Unpack the archive into a directory, and return the folder with all that it holds."""
        with tarfile.open(kept) as tar:
            # Python 3.11.4 and newer; before, the hash alone says that nothing leaves it.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(directory)
        return directory / self.archive.removesuffix(".tar.gz")

    def _download(self, cache: Path) -> None:
        """Download the sources by pip, which checks the hash.

        The files that describe a package have no hash, so they are not kept.
        """
        requirements = cache / "requirements.txt"
        requirements.write_text(
            f"{self.requirement} --hash=sha256:{self.sha256}\n", encoding="ascii"
        )
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--ignore-requires-python", "--no-binary", ":all:"),
            *("--only-binary", ",".join(("setuptools", *self.metadata_from))),
            *("--dest", str(cache), "--require-hashes", "--requirement", str(requirements)),
        ]
        run(command, f"pip could not get {self.title}'s sources, once (is there a network?)")
        requirements.unlink()
