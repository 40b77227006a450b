"""Echoes from each of the client's addresses to each of the server's: round-trip times."""

from __future__ import annotations

import statistics
from typing import Annotated, Any, ClassVar

from minitopo_dc.fields.ranges import within
from minitopo_dc.workloads.base import Column, Measurement, RowsFigure, Workload, workload

SHORTEST_S = 0.002
"""The shortest interval of ping(8)."""
LONGEST_S = 3600.0
MAX_ECHOES = 1_000_000
"""Per pair of addresses: each has a row."""
Echoes = Annotated[int, *within(1, MAX_ECHOES)]


@workload("ping")
class Ping(Workload):
    """`count` echoes on every leg and backhaul link, all at the same time."""

    columns: ClassVar[tuple[Column, ...]] = (
        Column("sent", "sent", count=True),
        Column("received", "received", count=True),
        Column("rtt_min_ms", "shortest\nround trip\nms"),
        Column("rtt_median_ms", "median\nround trip\nms"),
        Column("rtt_max_ms", "longest\nround trip\nms"),
    )
    figure: ClassVar[RowsFigure | None] = RowsFigure(
        x="time_s",
        y="rtt_ms",
        x_label="sent (s since the start)",
        y_label="round-trip time (ms)",
        title="Round-trip times",
        lines=("leg", "backhaul"),
    )
    has_goodput: ClassVar[bool] = False

    count: Echoes = 5
    """Of echoes per pair of addresses; Minitopo's default."""
    interval_s: Annotated[float, *within(SHORTEST_S, LONGEST_S, "s")] = 1.0
    """Between echoes of a pair; ping(8)'s default."""

    @property
    def lasts_s(self) -> float | None:
        """Return the time (s) to the last echo of the pair that begins last."""
        return self.count * self.interval_s

    def failure(self, measured: Measurement) -> str | None:
        """Return an error if some pair of addresses had no answer at all, else None."""
        silent = [pair for pair in measured.details["round_trips"] if not pair["received"]]
        if not silent:
            return None
        places = ", ".join(f"leg {pair['leg']}{_link(pair['backhaul'])}" for pair in silent)
        return f"no echo came back on {places}"

    def details(self, measured: Measurement) -> dict[str, Any]:
        """Return numbers of echoes, and their round-trip times (ms)."""
        pairs = measured.details["round_trips"]
        times = [row["rtt_ms"] for row in measured.rows if row["rtt_ms"] is not None]
        return {
            "sent": sum(pair["sent"] for pair in pairs),
            "received": sum(pair["received"] for pair in pairs),
            "rtt_min_ms": min(times),
            "rtt_median_ms": statistics.median(times),
            "rtt_max_ms": max(times),
        }


def _link(backhaul: int) -> str:
    return f" and backhaul link {backhaul}" if backhaul else ""
