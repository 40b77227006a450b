"""What share of a leg's PDUs was lost lately, by the receiver's reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from minitopo_dc.pdcp.view import LegView
from minitopo_dc.units import NS_PER_S

TIME_CONSTANT_NS: Final = NS_PER_S
"""Of what is lately: at the papers' 20 Mbit/s some 1,700 packets, 17 losses at 1 %."""


class LossShares:
    """Lost and all PDUs of each leg, older ones with less weight, by exp(-age / constant)."""

    def __init__(self, legs: int) -> None:
        self._at: int | None = None
        self._lost = [0] * legs
        self._pdus = [0] * legs
        self._recent_lost = [0.0] * legs
        self._recent_pdus = [0.0] * legs

    def observe(self, views: Sequence[LegView]) -> None:
        """Look at the legs' report if it is a new one."""
        report = views[0].report
        if report is None or report.at == self._at:
            return
        kept = 0.0 if self._at is None else math.exp((self._at - report.at) / TIME_CONSTANT_NS)
        self._at = report.at
        for leg, view in enumerate(views):
            if view.report is not None:
                self._take(leg, view.report.lost_pdus, view.report.delivered_pdus, kept)

    def percent(self, leg: int) -> float:
        """0 to 100; 0 when nothing was reported."""
        pdus = self._recent_pdus[leg]
        return 100 * self._recent_lost[leg] / pdus if pdus else 0.0

    def _take(self, leg: int, lost: int, delivered: int, kept: float) -> None:
        # What came late after all makes fewer lost than the report before said.
        more_lost = max(0, lost - self._lost[leg])
        more = max(more_lost, lost + delivered - self._pdus[leg])
        self._recent_lost[leg] = self._recent_lost[leg] * kept + more_lost
        self._recent_pdus[leg] = self._recent_pdus[leg] * kept + more
        self._lost[leg], self._pdus[leg] = lost, lost + delivered
