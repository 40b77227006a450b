"""PDUs into the receiving entity under sanitizers: `python -m tests.native.soak COUNT [SEED]`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from minitopo_dc.native.library import EXTENSION, FLAGS, SOURCES, WARNINGS
from tests.native.sanitized import OPTIONS

PARTS = ("base/", "link/", "pdcp/")


def soak(count: int, seed: int) -> str:
    """Compile, run, and return what the program says.

    Raises:
        subprocess.CalledProcessError: it does not compile, or a rule or a sanitizer ended it.
    """
    here = Path(__file__).parent
    sources = [EXTENSION.folder / name for name in SOURCES if name.startswith(PARTS)]
    with tempfile.TemporaryDirectory() as name:
        program = Path(name) / "soak"
        options = (*FLAGS, *OPTIONS, *WARNINGS, f"-I{EXTENSION.folder}")
        command = [
            "cc",
            *options,
            "-o",
            str(program),
            str(here / "soak.c"),
            *map(str, sources),
            "-lm",
        ]
        subprocess.run(command, check=True)
        done = subprocess.run(
            [program, str(count), str(seed)], check=True, text=True, stdout=subprocess.PIPE
        )
    return done.stdout.strip()


if __name__ == "__main__":
    print(soak(int(sys.argv[1]), int([*sys.argv, "1"][2])))  # noqa: T201
