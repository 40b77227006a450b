# mypy: ignore-errors
"""The registry of experiments: made of the subclasses that exist when this is imported."""

from __future__ import annotations

import importlib
from typing import Any

from core.experiment import Experiment

importlib.import_module("experiments.own")

EXPERIMENTS: dict[str, Any] = {
    kind.NAME: kind for kind in Experiment.__subclasses__() if hasattr(kind, "NAME")
}
