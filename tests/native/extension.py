"""Tests that need the compiled core."""

from __future__ import annotations

import os

import pytest

from minitopo_dc.native.library import missing

needs_native = pytest.mark.skipif(
    missing() is not None and not os.environ.get("CI"), reason=missing() or ""
)
"""In CI they fail instead: the set-up builds it."""
EXAMPLES = int(os.environ.get("MINITOPO_DC_EXAMPLES", "25"))
"""Of each differential test; `make sanitize` has more."""
