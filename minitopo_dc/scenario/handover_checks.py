"""Whether a handover rule and a trace offset fit the legs and flows of their scenario."""

from __future__ import annotations

from collections.abc import Sequence

from minitopo_dc.scenario.flow import ResolvedFlow
from minitopo_dc.scenario.radio import RadioLeg
from minitopo_dc.settings import HandoverSettings


def check_handover(
    handover: HandoverSettings, flows: Sequence[ResolvedFlow], legs: int, *, scheduled: bool
) -> None:
    """That the rule can be followed.

    Args:
        handover: the rule.
        flows: all of the scenario.
        legs: how many it has.
        scheduled: whether any flow has a path schedule beside it.

    Raises:
        ValueError: naming the field, and what is allowed.
    """
    if scheduled:
        raise ValueError("paths: the handover rule makes the schedule; allowed: one of the two")
    if handover.case == "sp":
        if any(flow.mode != "multipath" and (flow.mode, flow.leg) != ("sc", 1) for flow in flows):
            raise ValueError(
                "handover.case: sp has one leg; allowed: modes multipath and sc with leg: 1"
            )
        return
    if handover.case > legs:
        raise ValueError(
            f"handover.case: {handover.case} legs at once; allowed: sp, or 1 to {legs}, as many "
            "as there are"
        )
    if any(flow.mode == "sc" for flow in flows):
        raise ValueError("handover.case: mode sc uses one leg to the end; allowed: sp")
    if handover.by == "paths" and any(flow.mode != "multipath" for flow in flows):
        raise ValueError("handover.by: paths needs mode multipath; allowed: legs")
    if handover.by == "legs" and handover.former == "backup":
        raise ValueError("handover.former: backup needs by: paths; allowed: abandon")


def check_offset(offset_s: float, legs: Sequence[RadioLeg]) -> None:
    """That there is a trace which begins so much later, else a ValueError."""
    radios = (radio for leg in legs for radio in (leg.downlink, leg.uplink))
    if offset_s and all(radio.trace is None for radio in radios):
        raise ValueError("trace_offset_s: no leg has a trace; allowed: 0")
