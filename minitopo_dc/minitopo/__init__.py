"""Minitopo's parameter files (docs/minitopo.md): read, checked, mapped to scenarios, rendered."""

from __future__ import annotations

from minitopo_dc.minitopo.mapping import MinitopoRun, experiment_types, read_minitopo
from minitopo_dc.minitopo.topology import read_topology

__all__ = ["MinitopoRun", "experiment_types", "read_minitopo", "read_topology"]
