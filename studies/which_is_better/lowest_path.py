"""noq's scheduler for picoquic: the path that was opened first, of those that have room."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.plugins import PathView, path_scheduler


@path_scheduler("lowest-path")
class LowestPath:
    """Sends on the path of the lowest leg that has room."""

    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        """Return the index of the path that the next packet takes."""
        open_ones = [place for place, path in enumerate(paths) if path.has_room]
        return min(open_ones, key=lambda place: paths[place].leg)
