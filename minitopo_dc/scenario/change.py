"""Changes of a leg's direction while it runs, and the capacity that its rates make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Self

from pydantic import model_validator

from minitopo_dc.fields.base import LeftOut, Settings
from minitopo_dc.fields.ranges import Milliseconds, Moment, Percent, RateOrNone
from minitopo_dc.link import Capacity, make_capacity
from minitopo_dc.trace import RateTrace
from minitopo_dc.units import NS_PER_S


class LegChange(Settings):
    """What a leg's direction is like from a moment on; fields that are not named stay as before."""

    at_s: Moment
    """The time in s after the start of the transfer."""
    rate_mbps: RateOrNone | None = None
    """The capacity in Mbit/s; 0: nothing passes."""
    delay_ms: Milliseconds | None = None
    jitter_ms: Milliseconds | None = None
    loss_percent: Percent | None = None
    block_error_percent: LeftOut[Percent | None] = None
    """The block error rate in percent of a leg with `rlc`."""

    @model_validator(mode="after")
    def _check_change(self) -> Self:
        if not self.named():
            raise ValueError(
                "name at least one of rate_mbps, delay_ms, jitter_ms, loss_percent, "
                "block_error_percent"
            )
        return self

    def named(self) -> dict[str, Any]:
        """Return the fields that change, with their new values."""
        return {name: value for name, value in self if name != "at_s" and value is not None}


def check_order(changes: Sequence[LegChange]) -> None:
    """Refuse changes that do not follow each other, with a ValueError."""
    for earlier, later in pairwise(changes):
        if round(later.at_s * NS_PER_S) <= round(earlier.at_s * NS_PER_S):
            raise ValueError(f"changes: at_s {later.at_s:g} must be after {earlier.at_s:g}")


def changing_capacity(rate_mbps: float, changes: Iterable[LegChange]) -> Capacity:
    """Return a rate and its changes as a trace that holds its last rate.

    A trace is exact, however late the process is that applies the other changes.
    """
    rates = {0: rate_mbps}
    for change in changes:
        if change.rate_mbps is not None:
            rates[round(change.at_s * NS_PER_S)] = change.rate_mbps
    return make_capacity(
        RateTrace(
            name="rate changes",
            times_ns=tuple(rates),
            rates_bps=tuple(round(rate * 1e6) for rate in rates.values()),
            duration_ns=max(rates) + NS_PER_S,
        ),
        "hold",
    )
