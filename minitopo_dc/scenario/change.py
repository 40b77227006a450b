"""What changes while a run lasts: a leg's direction, and the legs that handovers choose.

What mobility costs Dual Connectivity, RRC procedures and failures of its legs, becomes outages and
losses of a leg before a run, so that both clocks and both cores have it. A leg that is down is
known to be so, and PDCP may recover its data; a leg that has failed loses all until the terminal
has detected it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from minitopo_dc.fields.base import LeftOut, Settings, core_object
from minitopo_dc.fields.ranges import (
    Factor,
    Milliseconds,
    Moment,
    MomentAbove,
    Number,
    Percent,
    RateOrNone,
    Seconds,
    SecondsOrNone,
)
from minitopo_dc.link import Capacity, make_capacity
from minitopo_dc.trace import RateTrace
from minitopo_dc.trace.handover import HandoverRule
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


def changing_capacity(rate_mbps: float, changes: Iterable[LegChange]) -> Capacity:
    """Return a rate and its changes as a trace that holds its last rate.

    A trace is exact, however late the process is that applies the other changes.
    """
    rates = {0: rate_mbps}
    for change in changes:
        if change.rate_mbps is not None:
            rates[round(change.at_s * NS_PER_S)] = change.rate_mbps
    bps = tuple(round(rate * 1e6) for rate in rates.values())
    lasting = max(rates) + NS_PER_S
    trace = RateTrace("rate changes", times_ns=tuple(rates), rates_bps=bps, duration_ns=lasting)
    return make_capacity(trace, "hold")


STEP_S = 1.0
"""The interval at which the terminal looks at its channels: the papers' capacities are of whole
seconds."""


class HandoverSettings(Settings):
    """The cases of Krämer et al. (Electronics 11 (2022) 1492).

    The paper says neither how long a better channel must be better, nor by how much, nor how long
    two paths overlap: these defaults are this project's, and parameters.
    """

    case: Literal["sp"] | Number
    """How many legs are used at once, the best ones; `sp`: one leg that has each second the best
    leg's capacity, without any handover."""
    time_to_trigger_s: SecondsOrNone = 1.0
    """How long another leg must be better. One step: the shortest with which a terminal "does not
    immediately switch away from radio stations with temporal drops" (section 4)."""
    hysteresis: Factor = 0.0
    """By which part the other leg must be better. The default is 0, as the paper names none."""
    overlap_s: Annotated[float, Field(ge=0, le=STEP_S)] = 0.02
    """The time from the opening of a path to the end of the one that it replaces. In the paper's
    case 1 the capacity of all open links is 0.01 Mbit/s above the best one's (tables 4 and 5),
    which is a path too many for 0.1 % of the time, or for 20 ms at a handover every 20 s."""
    give_up_s: Seconds = 5.0
    """How long a leg without capacity keeps its path. In the paper's figure 6 one that is away for
    2 s keeps it."""
    former: Literal["abandon", "backup"] = "abandon"
    """What becomes of the path that is replaced; the paper's client abandons it."""
    interruption_ms: LeftOut[Milliseconds] = 0.0
    """How long a leg that replaces another one carries nothing yet, with `by: legs`. The paper has
    none."""
    unused_legs: LeftOut[Literal["up", "down"]] = "up"
    """What a leg is that no path uses, with `by: paths`: the channel is still received, or it is
    not, as in the paper's runs of MPTCP, whose client lost the links that it left."""
    by: Literal["paths", "legs"] | None = None
    """Who makes the handover: the transport, which opens and abandons paths; or the network: legs
    that are not used are down, as in the paper's runs of MPTCP. None: `paths` in mode `multipath`,
    else `legs`."""

    def rule(self) -> HandoverRule:
        """Return the handover rule; case `sp` (single path) has none."""
        assert self.case != "sp"
        return core_object(HandoverRule, self, most=self.case, keep=self.former == "backup")


Outage = tuple[Moment, MomentAbove]
"""From and to, in s after the start of the transfer."""


def check_order(where: str, periods: tuple[Outage, ...]) -> None:
    """Refuse periods that overlap, touch or do not ascend, with a ValueError."""
    for begin, end in periods:
        if begin >= end:
            raise ValueError(f"{where}: [{begin:g}, {end:g}] ends before it begins")
    for earlier, later in pairwise(periods):
        if later[0] <= earlier[1]:
            raise ValueError(
                f"{where}: [{later[0]:g}, {later[1]:g}] must begin after "
                f"[{earlier[0]:g}, {earlier[1]:g}] has ended"
            )


Procedure = Literal["pscell_change", "scg_failure", "mcg_failure", "scg_addition"]
T310_MS = 1000.0
"""From out-of-sync to radio link failure (TS 38.331, clause 9.2.3)."""
INTERRUPTION_MS = 62.0
"""Of a change to a known cell of FR1 (TS 38.133, clause 6.1.1.2): 20 ms of processing, 20 ms of one
SMTC period, 2 ms of margin, and 20 ms to an occasion for random access."""
RECOVERY_MS = 100.0
"""From a report to a leg that carries data: the interruption, 16 ms of RRC processing (TS 38.331,
clause 12), and this project's 22 ms for the messages over the air and Xn."""
TIMES_MS: dict[Procedure, tuple[float, float]] = {
    "pscell_change": (0.0, INTERRUPTION_MS),
    "scg_failure": (T310_MS, RECOVERY_MS),
    "mcg_failure": (T310_MS, RECOVERY_MS),
    "scg_addition": (0.0, RECOVERY_MS),
}
"""Of each kind: until it is detected, and until the leg carries data from then on."""
MCG_LEG = 1


class MobilityEvent(Settings):
    """A procedure of TS 37.340 or TS 38.331 at a leg of Dual Connectivity."""

    at_s: Moment
    """The time in s after the start of the transfer."""
    pscell_change: Number | None = None
    """The leg whose PSCell changes (TS 37.340, clauses 10.3 and 10.5)."""
    scg_failure: Number | None = None
    """The leg whose radio link fails, and is added again (TS 38.331, clause 5.7.3)."""
    mcg_failure: Number | None = None
    """Leg 1, whose radio link fails, and is recovered over others (TS 38.331, clause 5.7.3b)."""
    scg_addition: Number | None = None
    """The leg that is there from then on only (TS 37.340, clause 10.2)."""
    detection_ms: Milliseconds | None = None
    """How long a failed leg loses all before anybody knows, by default T310's 1,000 ms."""
    interruption_ms: Milliseconds | None = None
    """How long the leg is down from then on, by default 62 ms of a change, else 100 ms."""

    @model_validator(mode="after")
    def _is_one_event(self) -> Self:
        if len(self._named()) != 1:
            raise ValueError(f"name exactly one of {', '.join(TIMES_MS)}")
        if self.detection_ms is not None and not self.kind.endswith("failure"):
            raise ValueError(f"detection_ms: {self.kind} is no failure; allowed: none")
        if (self.kind == "mcg_failure") != (self.leg == MCG_LEG):
            allowed = "1, the MCG's" if self.kind == "mcg_failure" else "all but 1, the MCG's"
            raise ValueError(f"{self.kind}: leg {self.leg}; allowed: {allowed}")
        return self

    @property
    def kind(self) -> Procedure:
        """Return which procedure it is."""
        return self._named()[0][0]

    @property
    def leg(self) -> int:
        """Return the number of its leg."""
        return self._named()[0][1]

    def _named(self) -> list[tuple[Procedure, int]]:
        return [(kind, getattr(self, kind)) for kind in TIMES_MS if getattr(self, kind)]

    @property
    def detected_s(self) -> float:
        """Return when the network knows of it (s)."""
        given, usual = self.detection_ms, TIMES_MS[self.kind][0]
        return round(self.at_s + (usual if given is None else given) / 1000, 9)

    @property
    def outage(self) -> Outage:
        """Return from when to when the leg is known to be down (s)."""
        given, usual = self.interruption_ms, TIMES_MS[self.kind][1]
        end_s = self.detected_s + (usual if given is None else given) / 1000
        return (0.0 if self.kind == "scg_addition" else self.detected_s, round(end_s, 9))
