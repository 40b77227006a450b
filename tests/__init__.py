"""The tests; folders mirror the package's."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
