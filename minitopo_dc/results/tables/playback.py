"""The playback of a session of video: its segments, and the player's buffer between them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from minitopo_dc.results.tables.run_files import read_numbers

Numbers = npt.NDArray[np.float64]


def read_segments(run: Path) -> pd.DataFrame:
    """Return the segments of a run of workload `video`, as `video.csv` has them.

    Raises:
        ResultError: the file is missing or broken.
    """
    return read_numbers(run, "video.csv", ("done_s", "buffer_s", "stall_s", "bitrate_mbps"))


def buffer_over_time(segments: pd.DataFrame) -> tuple[Numbers, Numbers]:
    """Return times (s) and what there is to be played then (s), as corners of a line.

    A segment that arrives adds what it plays. In between the buffer is played out, one second in
    each second, and stays empty while the picture stands still.
    """
    rows = segments[["done_s", "buffer_s", "stall_s"]].to_numpy(dtype=float).tolist()
    corners = [(rows[0][0], 0.0)] if rows else []
    for (done, level, _), (after, _, stall) in pairwise(rows):
        corners.append((done, level))
        if stall > 0:
            corners.append((done + level, 0.0))
        corners.append((after, max(0.0, level - (after - done))))
    corners += [(done, level) for done, level, _ in rows[-1:]]
    found = np.array(corners, dtype=float).reshape(-1, 2)
    return found[:, 0], found[:, 1]
