"""The programs as processes, on this machine or over legs."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from examples.page_load.__main__ import PROGRAMS

PAGE_LOAD = [sys.executable, "-m", "examples.page_load"]
SERVER = [sys.executable, "-m", "examples.page_load.server"]
NO_CHROMIUM = "needs a chromium: Debian's package chromium"


def need_chromium() -> None:
    """Skip where there is none; in CI its absence is a failure."""
    if not any(map(shutil.which, PROGRAMS)):
        if os.environ.get("CI"):
            pytest.fail(f"{NO_CHROMIUM} (CI is set, so this is no reason to skip)", pytrace=False)
        pytest.skip(NO_CHROMIUM)
