"""Build the native core with sanitizers: `python -m tests.native.sanitized DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

from minitopo_dc.native.library import compile_core

OPTIONS = (
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"),
    *("-fno-sanitize-recover=all", "-Werror"),
)


if __name__ == "__main__":
    print(compile_core(Path(sys.argv[1]), OPTIONS))  # noqa: T201
