"""What the tests of commands share."""

from __future__ import annotations

import pytest

from minitopo_dc.cli import compare


@pytest.fixture
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `compare` write no tables and draw nothing, which takes a second."""
    monkeypatch.setattr(compare, "save_comparison", lambda *_: None)
