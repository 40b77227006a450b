"""Tests that need the compiled core."""

from __future__ import annotations

import os

import pytest

from minitopo_dc.native.library import obstacle

needs_native = pytest.mark.skipif(
    obstacle() is not None and not os.environ.get("CI"), reason=obstacle() or ""
)
"""In CI they fail instead: the set-up builds it."""
EXAMPLES = int(os.environ.get("MINITOPO_DC_EXAMPLES", "25"))
"""Of each differential test; `make sanitize` has more."""
