"""The ground of all settings: checked fields with units and ranges, paths, YAML files."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The names of `minitopo_dc.fields`, each with the module that has it."""
