"""Tests that need the compiled extension."""

from __future__ import annotations

import os

import pytest

from minitopo_dc.picoquic.library import missing

needs_picoquic = pytest.mark.skipif(
    missing() is not None and not os.environ.get("CI"), reason=missing() or ""
)
"""In CI they fail instead: the set-up builds it."""
