"""Parameter files for tests, in Minitopo's format."""

from __future__ import annotations

from pathlib import Path

from minitopo_dc.minitopo import MinitopoRun, read_minitopo

# Two of the shapes that Minitopo's own examples have.
TWO_PATHS = """\
leftSubnet:10.0.
rightSubnet:10.1.
path_c2r_0:10,10,4
path_c2r_1:40,30,4
topoType:MultiIf
"""
THREE_SERVER_PATHS = """\
leftSubnet:10.0.
rightSubnet:10.1.
path_c2r_0:100,20,4
path_c2r_1:100,20,4
path_r2s_0:10,20,10
path_r2s_1:10,20,10
path_r2s_2:10,20,10
topoType:MultiIf
"""
DUAL = "topoType:DualConnectivity\npath_c2r_0:10,100,20\npath_c2r_1:10,100,20\n"
PING = "xpType:ping\n"


def read(directory: Path, topology: str, experiment: str = PING) -> MinitopoRun:
    files = directory / "topo", directory / "xp"
    for path, text in zip(files, (topology, experiment), strict=True):
        path.write_text(text, encoding="utf-8")
    return read_minitopo(*files)
