"""Scenarios: all that fixes one run (docs/scenarios.md), and what router hosts derive from it."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
"""The names of `minitopo_dc.scenario`, each with the module that has it: an element needs few."""
