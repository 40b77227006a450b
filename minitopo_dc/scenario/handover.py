"""Handovers between legs: which legs are used at each time, by their capacities."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from minitopo_dc.fields.base import LeftOut, Settings
from minitopo_dc.fields.ranges import Factor, Number, Seconds, SecondsOrNone
from minitopo_dc.trace.drives.handover import HandoverRule

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
        return HandoverRule(
            most=self.case,
            time_to_trigger_s=self.time_to_trigger_s,
            hysteresis=self.hysteresis,
            overlap_s=self.overlap_s,
            give_up_s=self.give_up_s,
            keep=self.former == "backup",
        )
