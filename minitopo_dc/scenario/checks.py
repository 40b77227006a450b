"""Checks that PDCP parameters, a handover rule and a trace offset fit legs and flows.

Legs of the kernel (`backend: kernel`) and wires of others have limits of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from minitopo_dc.fields.base import SettingsError
from minitopo_dc.fields.ranges import Direction
from minitopo_dc.link import RateCapacity
from minitopo_dc.link.discipline import DROP_TAIL
from minitopo_dc.pdcp import sees_legs
from minitopo_dc.scenario.cell import CellSettings
from minitopo_dc.scenario.change import HandoverSettings
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.pdcp import Pdcp

if TYPE_CHECKING:  # an element, which has parts to check, has no flows and no workloads
    from minitopo_dc.scenario.flow import ResolvedFlow
    from minitopo_dc.scenario.radio import Leg


def check_bearers(flow: ResolvedFlow, where: str, radios: Sequence[Leg]) -> None:
    """Refuse PDCP parameters that do not fit the legs of their direction.

    Args:
        flow: whose bearers.
        where: its place in the scenario, with a dot behind it, or nothing.
        radios: all legs of the scenario.

    Raises:
        ValueError: naming the field, and what is allowed.
    """
    if flow.mode == "multipath":
        return
    if flow.mode == "dc-duplicate" and flow.pdcp.duplication is not None:
        raise ValueError(
            f"{where}mode dc-duplicate: pdcp.duplication has nothing to choose; "
            "every packet is on all legs already"
        )
    bearers: list[tuple[str, Pdcp, tuple[int, ...], Direction]] = [
        (f"{where}pdcp", flow.pdcp, flow.legs, "downlink")
    ]
    if flow.splits_uplink:
        bearers.append((f"{where}uplink_pdcp", flow.uplink_pdcp, flow.uplink_legs, "uplink"))
    for place, pdcp, legs, direction in bearers:
        if len(legs) > 1:  # else there is nothing to split
            check_policy(place, pdcp, len(legs))
        if pdcp.flow_control is not None:
            try:
                pdcp.flow_control.of_legs(len(legs))
            except ValueError as error:
                raise ValueError(f"{place}.{error}") from None
        _check_order(place, pdcp, {leg: radios[leg - 1] for leg in legs}, direction)


def check_policy(where: str, pdcp: Pdcp, legs: int) -> None:
    """Refuse a split policy that cannot be made for `legs` legs, with a ValueError."""
    try:
        pdcp.policy(legs)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _check_order(place: str, pdcp: Pdcp, radios: Mapping[int, Leg], direction: Direction) -> None:
    """Refuse a bearer that relies on the order of a leg that does not keep it."""
    for leg, both in radios.items() if pdcp.legs_keep_order else ():
        radio = both.direction(direction)
        field = f"{place}.legs_keep_order: legs.{leg - 1}.{direction} has"
        if radio.reorder:
            raise ValueError(f"{field} reorder: true, so it does not; allowed: reorder: false")
        if radio.rlc is not None and not radio.rlc.in_order:
            raise ValueError(
                f"{field} rlc.in_order: false, so it does not; allowed: in_order: true"
            )


def check_handover(
    handover: HandoverSettings, flows: Sequence[ResolvedFlow], legs: int, *, scheduled: bool
) -> None:
    """Refuse a handover rule that cannot be followed.

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
    if handover.unused_legs == "down" and handover.former == "backup":
        raise ValueError("handover.former: backup needs unused_legs: up; allowed: abandon")


def check_cells(
    cells: Sequence[CellSettings], legs: Sequence[Leg], handover: HandoverSettings | None
) -> None:
    """Refuse cells whose legs do not exist, are in two of them, or are no radio legs of slots.

    Raises:
        ValueError: naming the field, and what is allowed.
    """
    if cells and handover is not None and handover.case == "sp":
        raise ValueError("cells: handover.case: sp makes one leg of all; allowed: no cells")
    members: set[int] = set()
    for index, cell in enumerate(cells):
        where = f"cells.{index}.legs: leg"
        for number in cell.legs:
            if number > len(legs):
                raise ValueError(f"{where} {number} does not exist; allowed: 1 to {len(legs)}")
            if number in members:
                raise ValueError(f"{where} {number} is in a cell already; allowed: once")
            members.add(number)
            radio = legs[number - 1].downlink
            if radio.wifi is not None:
                raise ValueError(f"{where} {number} has wifi; allowed: rate_mbps or trace")
            if radio.rlc is not None and (radio.rlc.tdd or radio.rlc.phase_ms):
                raise ValueError(f"{where} {number} has rlc.tdd or rlc.phase_ms; allowed: neither")
            if radio.rlc is not None and radio.rlc.slot_ms != cell.slot_ms:
                raise ValueError(
                    f"{where} {number} has rlc.slot_ms {radio.rlc.slot_ms:g}; "
                    f"allowed: the cell's slot_ms, {cell.slot_ms:g}"
                )


JITTER = "jitter_ms without 'jitter: uniform' and 'reorder: true'"


def kernel_rates(radio: LegDirection) -> RateCapacity:
    """Return the capacity of a leg that the kernel can emulate; read its trace, if any.

    Raises:
        SettingsError, TraceError: the kernel lacks what a field asks for, or the trace is wrong.
    """
    names = list(_refused(radio))
    if names:
        raise SettingsError(f"backend kernel has no {', '.join(names)}; use backend: user")
    capacity = radio.capacity()
    if not isinstance(capacity, RateCapacity):
        raise SettingsError(
            f"trace {radio.trace}: backend kernel has rates only, no opportunities; "
            "use backend: user"
        )
    return capacity


def check_unseen_legs(pdcp: Pdcp, legs: int, *, of_kernel: bool) -> None:
    """Refuse what needs to see a bearer's legs, over legs that are the kernel's or others' wires.

    Legs of the kernel also carry no reports.

    Raises:
        SettingsError: the message names the field.
        PolicyError: the split policy is wrong.
    """
    why = "those of backend kernel do not show; use backend: user"
    if not of_kernel:
        own = "give each leg's rate or delay, so that the element has legs of its own"
        why = f"links of others do not show; {own}"
    if words := _seeing(pdcp, legs):
        raise SettingsError(f"{words}, which {why}")
    if of_kernel and pdcp.report_ms is not None:
        raise SettingsError("pdcp.report_ms: backend kernel sends no reports; use backend: user")


def _seeing(pdcp: Pdcp, legs: int) -> str:
    """Return what of a bearer has to see its legs; empty when nothing has to."""
    if sees_legs(pdcp.policy(legs)):
        return f"pdcp.split: {pdcp.split} sees its legs"
    if pdcp.follows_legs:
        return (
            "pdcp: numbering late, flow_control, data_recovery and leg_failure_ms follow their legs"
        )
    if pdcp.mark_above_ms is not None:
        return "pdcp.mark_above_ms sees the legs"
    if pdcp.duplication is not None and pdcp.duplication.rule().sees_legs:
        return "pdcp.duplication: loss_percent and deadline_ms see the legs"
    return ""


ELEMENT_ONLY = (
    *("outages", "burst_loss", "rlc", "wifi", "grant_ms", "delay_curve", "delay_trace"),
    *("queue_bytes", "queue_ms", "mtu_bytes"),
)
"""Fields of a direction that the element's legs alone have, unless they are empty."""


def _refused(radio: LegDirection) -> Iterator[str]:
    """Yield the fields that the kernel has nothing for, now or after one of the changes."""
    yield from (name for name in ELEMENT_ONLY if getattr(radio, name))
    if radio.queue_discipline != DROP_TAIL:
        yield f"queue_discipline {radio.queue_discipline}"
    if not (radio.reorder and radio.jitter == "uniform"):
        if radio.jitter_ms:
            yield JITTER
        elif any(change.jitter_ms for change in radio.changes):
            yield f"changes of {JITTER}"
