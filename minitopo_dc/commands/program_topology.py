"""The path that a Minitopo topology file describes, for a program of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from minitopo_dc.minitopo.topology import Topology, read_topology

ITSELF = "a program opens its paths itself"


def path_of_topology(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fields of a scenario (`legs`, `mode`, its bearer, `real.backhaul`), and what is ignored.

    Over a bearer where the topology has one, else over all `c2r` paths, or the only one.

    Raises:
        ParameterError: naming file and line of the first mistake, and what is allowed there.
    """
    topology = read_topology(file)
    mode = _mode(topology)
    values = {
        "mode": mode,
        "legs": [path.leg() for path in topology.c2r],
        **topology.bearer,
        "seed": topology.seed,
        "real": {"backhaul": [path.leg() for path in topology.r2s]},
    }
    return values, (*topology.notes, *topology.ignored, *_notes(topology, mode))


def _mode(topology: Topology) -> str:
    if topology.dual_connectivity:
        return "dc-duplicate" if topology.duplicates else "dc"
    return "multipath" if len(topology.c2r) > 1 else "sc"


def _notes(topology: Topology, mode: str) -> list[str]:
    """What one program on one client has no use for."""
    lines = topology.path_lines
    scheduled = (
        [] if lines is None else [lines.first.says(f"ignored, as all pathAt lines: {ITSELF}")]
    )
    return scheduled + [
        path.line.says(f"backup ignored: {ITSELF}")
        for path in topology.c2r
        if path.backup and mode == "multipath"
    ]
