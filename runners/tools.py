"""The programs that a transport runs: their names, and where they are looked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from minitopo_dc.installation import checkout

SYSTEM_PLACES = ("/usr/sbin", "/sbin")
"""Where Debian puts root's programs and some servers; an ordinary user's PATH may lack them."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One program that a transport runs."""

    name: str
    version_option: str | None = None
    """What makes it print its version; None: nothing does."""
    package: str | None = None
    """Debian's package that holds it; None: there is none."""
    variable: str | None = None
    """If this environment variable is set, the program is the one in the directory that it names,
    and no other."""
    built: str | None = None
    """The folder of a checkout into which the set-up builds it; None: the set-up does not."""

    def find(self) -> str | None:
        """Return its path, None when it is nowhere."""
        given = self._given()
        if given:
            return shutil.which(self.name, path=given)
        places = [os.environ.get("PATH", os.defpath), *SYSTEM_PLACES]
        root = checkout()
        if self.built is not None and root is not None:
            places.append(str(root / self.built))
        return shutil.which(self.name, path=os.pathsep.join(places))

    def not_found(self) -> str:
        """Say where it has been looked for."""
        given = self._given()
        if given:
            return f"{self.name} is not in ${self.variable} ({given})"
        places = ["on PATH"]
        if self.variable is not None:
            places.append(f"in ${self.variable}")
        if self.built is not None and checkout() is not None:
            places.append(f"in the checkout's {self.built}")
        *first, last = places
        return f"{self.name} is not {', '.join(first)}{' or ' if first else ''}{last}"

    def _given(self) -> str:
        return os.environ.get(self.variable, "") if self.variable else ""


def not_installed(tools: Iterable[Tool], system: str = "Debian and Ubuntu") -> str | None:
    """Return which of these programs of Debian are not here and how to get them, or None."""
    missing = [tool for tool in tools if tool.find() is None]
    if not missing:
        return None
    names = " and ".join(tool.name for tool in missing)
    packages = " ".join(tool.package or tool.name for tool in missing)
    verb = "is" if len(missing) == 1 else "are"
    return f"{names} {verb} not installed ({system}: apt-get install {packages})"
