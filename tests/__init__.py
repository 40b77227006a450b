"""The tests; folders mirror the package's."""

from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


def long(*values: Any) -> Any:
    """Return values of a parametrized test with which it repeats in breadth what others show."""
    return pytest.param(*values, marks=pytest.mark.long)
