# mypy: ignore-errors
"""The registries of topologies: made of the subclasses that exist when this is imported."""

from __future__ import annotations

import importlib
from typing import Any

from core.topo import Topo, TopoConfig

importlib.import_module("topos.multi_interface")


def _named(base: Any) -> dict[str, Any]:
    found = {}
    for kind in base.__subclasses__():
        if hasattr(kind, "NAME"):
            found[kind.NAME] = kind
        found |= _named(kind)
    return found


TOPOS = _named(Topo)
TOPO_CONFIGS = _named(TopoConfig)
