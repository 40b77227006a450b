"""What the receiving PDCP entities of a run's downlink counted until its end."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from minitopo_dc.analysis.errors import ResultError
from minitopo_dc.units import NS_PER_MS, NS_PER_S


def receive_counters(run: Path) -> dict[int, dict[str, Any]]:
    """The counters of each downlink bearer, by its number; none when the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    path = run / "ue-summary.json"
    try:
        bearers = json.loads(path.read_text(encoding="utf-8"))["receive"]
        return {int(number): dict(counters) for number, counters in bearers.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultError(f"{path}: no whole summary: {error!r}") from None


def given_up(run: Path) -> float:
    """COUNTs that the downlink's receiving entities gave up; NaN when the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    bearers = receive_counters(run).values()
    try:
        return sum(bearer["missing"] for bearer in bearers) if bearers else math.nan
    except (KeyError, TypeError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: no whole summary: {error!r}") from None


def reordering_wait_ms(run: Path) -> float:
    """How long a PDU waited in the reordering buffer until it was delivered, on average (ms).

    Over all PDUs that the downlink bearers delivered, those that did not wait included. NaN when
    the run had no bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    bearers = receive_counters(run).values()
    try:
        waited = sum(bearer["waiting_total_ns"] for bearer in bearers)
        delivered = sum(bearer["delivered"] for bearer in bearers)
        return waited / delivered / NS_PER_MS if bearers else math.nan
    except (KeyError, TypeError, ZeroDivisionError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: no whole summary: {error!r}") from None


def longest_wait_s(run: Path) -> float:
    """The longest time that a PDU waited in a downlink's reordering buffer; 0 without a bearer.

    Raises:
        ResultError: `ue-summary.json` is missing or broken.
    """
    bearers = receive_counters(run).values()
    try:
        return max((bearer["waiting_maximum_ns"] for bearer in bearers), default=0) / NS_PER_S
    except (KeyError, TypeError) as error:
        raise ResultError(f"{run / 'ue-summary.json'}: no whole summary: {error!r}") from None
