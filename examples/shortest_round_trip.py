"""A scheduler of MP-QUIC of one's own, which does as the built-in `minrtt` does.

Try it:

    minitopo-dc compare --clock virtual --legs 30 15 --plugin examples/shortest_round_trip.py \
    --transports mpquic-picoquic --set options.scheduler=shortest-round-trip
"""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.plugins import PathView, path_scheduler


@path_scheduler("shortest-round-trip")
class ShortestRoundTrip:
    """Sends on the path with the shortest smoothed round trip that has room."""

    def choose(self, paths: Sequence[PathView], now_ns: int) -> int:  # noqa: ARG002
        """Return the index of the path that the next packet takes."""
        open_ones = [place for place, path in enumerate(paths) if path.has_room]
        return min(open_ones, key=lambda place: paths[place].smoothed_rtt_ns)
