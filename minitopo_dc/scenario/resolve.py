"""A scenario as it is run: handover rule, mobility and trace offset written out in plain fields.

`handover`, `mobility`, `uplink_pdcp.xn_ms` and `trace_offset_s` say what is wanted of all legs.
They become outages, losses, delays and offsets of single legs and a path schedule, so that the rest
of the project knows only these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any

from pydantic import TypeAdapter, ValidationError

from minitopo_dc.fields.base import SettingsError, error_text
from minitopo_dc.fields.path_schedule import PathEvent, PathPlan
from minitopo_dc.fields.ranges import Direction, Moment
from minitopo_dc.scenario.change import STEP_S, LegChange, MobilityEvent, Outage
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.radio import TRACE_FIELDS, Leg
from minitopo_dc.scenario.scenario import Scenario
from minitopo_dc.trace.handover import (
    Handover,
    HandoverPlan,
    HandoverRule,
    best_channels,
    plan_handovers,
)
from minitopo_dc.units import NS_PER_S

Rates = tuple[tuple[float, ...], ...]
"""Mbit/s of each leg in each second."""
MAX_CACHED = 512
"""Plans; the largest campaign here has 300, of 10 kB a leg."""
_MOMENT = TypeAdapter(Moment)
WIRE = {"rate_mbps": 10_000, "jitter_ms": 0, "queue_packets": None}
"""The wired link to the server on the real clock: faster than any leg, so that none waits."""


def resolve_scenario(given: Scenario, *, rule: bool = True) -> Scenario:
    """Return the scenario that is run, itself where it is plain already.

    What only the other clock has is left out. The legs' traces are read if there is a handover
    rule.

    Args:
        given: what is asked for.
        rule: whether the handover rule is written out, too.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong, or no leg ever has any capacity.
    """
    begun = given.of_its_clock()
    if begun.trace_offset_s:
        begun = _with_offset(begun)
    if begun.mobility:
        begun = _with_mobility(begun)
    xn_ms = begun.uplink_pdcp.xn_ms if begun.uplink_pdcp is not None else 0.0
    if xn_ms and begun.mode in ("dc", "dc-duplicate"):
        begun = _with_xn(begun, xn_ms)
    is_wired = begun.server_delay_ms or begun.is_proxied
    if begun.clock == "real" and is_wired and not begun.real.backhaul:
        begun = _with_wired_link(begun)
    if begun.handover is None or not rule:
        return begun
    rates = _rates(begun, "downlink")
    if begun.handover.case == "sp":
        return Scenario.check(_plain(begun) | {"legs": [_best_leg(begun, rates)]}, "handover")
    return Scenario.check(_planned(begun, _plan(rates, begun.handover.rule()), rates), "handover")


def handovers_of(given: Scenario) -> tuple[Handover, ...] | None:
    """Return the handovers that a scenario's rule makes until the end of its traces; None: no rule.

    Raises:
        SettingsError, TraceError: as `resolve_scenario`.
    """
    begun = resolve_scenario(given, rule=False)
    if begun.handover is None or begun.handover.case == "sp":
        return None
    return _plan(_rates(begun, "downlink"), begun.handover.rule()).handovers


@lru_cache(maxsize=MAX_CACHED)
def _plan(rates: Rates, rule: HandoverRule) -> HandoverPlan:
    """Return the plan of `plan_handovers`, cached for campaigns of many congestion controls.

    Raises:
        SettingsError: no leg ever has any capacity.
    """
    try:
        return plan_handovers(rates, rule, STEP_S)
    except ValueError as error:
        raise SettingsError(f"handover: {error}") from None


def _with_offset(given: Scenario) -> Scenario:
    legs = []
    for number, leg in enumerate(given.legs):
        later = {}
        for name, radio in (("downlink", leg.downlink), ("uplink", leg.uplink)):
            if radio.has_trace:
                try:
                    moment = _MOMENT.validate_python(radio.offset_s + given.trace_offset_s)
                except ValidationError as error:
                    place = f"legs.{number}.{name}.offset_s: {error_text(error.errors()[0])}"
                    raise SettingsError(f"trace_offset_s: {place}") from None
                later[name] = radio.model_copy(update={"offset_s": moment})
        legs.append(leg.model_copy(update=later))
    # A copy without validation: all else is valid, and campaigns ask for thousands.
    return given.model_copy(update={"legs": tuple(legs), "trace_offset_s": 0.0})


def _with_xn(given: Scenario, xn_ms: float) -> Scenario:
    """Return a scenario whose uplinks have the Xn of their PDUs in their delay.

    Raises:
        SettingsError: the delay of one of them is that of a file or a capacity.
    """
    legs = list(given.legs)
    for number in given.resolved_flows[0].uplink_legs[1:]:
        up = legs[number - 1].uplink
        if up.delay_varies:
            raise SettingsError(f"uplink_pdcp.xn_ms: legs.{number - 1}.uplink: allowed: delay_ms")
        later = [
            it if it.delay_ms is None else it.model_copy(update={"delay_ms": it.delay_ms + xn_ms})
            for it in up.changes
        ]
        beyond = {"delay_ms": up.delay_ms + xn_ms, "changes": tuple(later)}
        legs[number - 1] = legs[number - 1].model_copy(
            update={"uplink": up.model_copy(update=beyond)}
        )
    assert given.uplink_pdcp is not None
    pdcp = given.uplink_pdcp.model_copy(update={"xn_ms": 0.0})
    first = given.leg_numbers[0]  # the nearest leg without Xn
    return given.model_copy(update={"legs": tuple(legs), "uplink_pdcp": pdcp, "primary_leg": first})


def _with_mobility(given: Scenario) -> Scenario:
    legs = list(given.legs)
    for event in given.mobility if given.mode in ("dc", "dc-duplicate") else ():
        number = event.leg - 1
        legs[number] = _down(_losing(legs[number], event), [event.outage])
    return given.model_copy(update={"legs": tuple(legs), "mobility": ()})


def _losing(leg: Leg, event: MobilityEvent) -> Leg:
    """Return a leg that loses all, both ways, until the event has been detected.

    Raises:
        SettingsError: its losses are bursts, which cannot change.
    """
    if event.detected_s == event.at_s:
        return leg
    directions = {}
    for name, radio in (("downlink", leg.downlink), ("uplink", leg.uplink)):
        if radio.burst_loss is not None:
            place = f"legs.{event.leg - 1}.{name}.burst_loss"
            raise SettingsError(f"mobility: {place}: allowed with {event.kind}: loss_percent")
        changes = _with_loss(radio, event.at_s, event.detected_s)
        directions[name] = radio.model_copy(update={"changes": changes})
    return leg.model_copy(update=directions)


def _with_loss(radio: LegDirection, begin_s: float, end_s: float) -> tuple[LegChange, ...]:
    """Return the changes of a direction that also loses all from one time to another (s)."""
    losses = [(change.at_s, change.loss_percent) for change in radio.changes]
    usual = [loss for at_s, loss in losses if loss is not None and at_s <= end_s]
    changes = {change.at_s: change for change in radio.changes}
    for at_s in {begin_s, end_s} - changes.keys():
        changes[at_s] = LegChange(at_s=at_s, loss_percent=[radio.loss_percent, *usual][-1])
    return tuple(
        change.model_copy(update={"loss_percent": 100.0}) if begin_s <= at_s < end_s else change
        for at_s, change in sorted(changes.items())
    )


def _with_wired_link(given: Scenario) -> Scenario:
    """Return the scenario of the real clock with its server's delay as a backhaul's.

    A proxy is on a host at the backhaul's end, so it has a wire without a delay, too.
    """
    way = {**WIRE, "delay_ms": given.server_delay_ms}
    real = given.real.model_copy(update={"backhaul": (Leg(downlink=way, uplink=way),)})
    return given.model_copy(update={"real": real, "server_delay_ms": 0.0})


def _plain(scenario: Scenario) -> dict[str, Any]:
    return {name: getattr(scenario, name) for name in Scenario.model_fields if name != "handover"}


def _planned(scenario: Scenario, plan: HandoverPlan, rates: Rates) -> dict[str, Any]:
    assert scenario.handover is not None
    numbers = range(1, len(scenario.legs) + 1)
    events = tuple(PathEvent(*event) for event in plan.events)
    followed = PathPlan(plan.initial, events)
    paths: dict[str, Any] = {"initial": plan.initial, "each_carries": False}
    changed_s = 0.0
    if scenario.handover_by == "paths":
        paths["schedule"] = [{"at_s": event.at_s, event.action: event.leg} for event in events]
    else:
        paths["initial"] = tuple(dict.fromkeys((*plan.initial, *numbers)))
        changed_s = scenario.handover.interruption_ms / 1000
    legs = []
    for number, leg in enumerate(scenario.legs, 1):
        absences = [s for s, rate in enumerate(rates[number - 1]) if not rate]
        down = [(second * STEP_S, (second + 1) * STEP_S) for second in absences]
        if scenario.unused_legs_are_down:
            down += _unused(followed, number, len(rates[0]) * STEP_S, changed_s)
        legs.append(_down(leg, down))
    fields = _plain(scenario) | {"legs": tuple(legs)}
    if scenario.mode == "multipath":
        return fields | {"paths": paths}
    flows = [
        flow.model_dump() | ({"paths": paths} if flow.mode == "multipath" else {})
        for flow in scenario.flows
    ]
    return fields | {"flows": flows}


def _down(leg: Leg, down: Sequence[Outage]) -> Leg:
    directions = {}
    for name, radio in (("downlink", leg.downlink), ("uplink", leg.uplink)):
        union: list[Outage] = []  # those that overlap or touch are one
        for begin, end in sorted([*leg.outages, *radio.outages, *down]):
            if union and begin <= union[-1][1]:
                union[-1] = (union[-1][0], max(end, union[-1][1]))
            else:
                union.append((begin, end))
        directions[name] = radio.model_copy(update={"outages": tuple(union)})
    return leg.model_copy(update={"outages": (), **directions})


def _unused(plan: PathPlan, leg: int, end_s: float, changed_s: float) -> list[Outage]:
    """Return the times (s) when a leg is not used, up to the end of the plan.

    From the beginning on it is used at once, and later only after `changed_s`.
    """
    periods = plan.available_periods(leg)
    used = [m for begin, end in periods for m in (begin + changed_s if begin else begin, end)]
    edges = [0.0, *(min(moment, end_s) for moment in used), end_s]
    return [(begin, end) for begin, end in list(pairwise(edges))[::2] if end > begin]


def _best_leg(scenario: Scenario, rates: Rates) -> dict[str, Any]:
    """Return leg 1 with the capacity, each second, of the leg that has most downlink.

    Uplinks that are all alike and have no trace stay as they are.
    """
    best = best_channels(rates)
    leg = scenario.legs[0]
    values = leg.model_dump() | {"outages": ()}
    values["downlink"] = _following(leg.downlink, "downlink", best, rates)
    uplinks = {other.uplink for other in scenario.legs}
    if uplinks != {leg.uplink} or leg.uplink.trace is not None:
        values["uplink"] = _following(leg.uplink, "uplink", best, _rates(scenario, "uplink"))
    return values


def _following(radio: LegDirection, name: str, best: Sequence[int], rates: Rates) -> dict[str, Any]:
    if radio.changes:
        raise SettingsError(f"handover: case sp: legs.0.{name}.changes: allowed: none")
    chosen = [rates[leg - 1][second] for second, leg in enumerate(best)]
    positive = next((rate for rate in chosen if rate), None)
    if positive is None:
        raise SettingsError(f"handover: case sp: no leg has any capacity in {len(chosen)} s")
    steps = [(0, chosen[0])] if chosen[0] != positive else []
    steps += [(s, new) for s, (old, new) in enumerate(pairwise(chosen), 1) if new != old]
    values = radio.model_dump(exclude={*TRACE_FIELDS, "outages"})
    if radio.queue_ms is not None:  # of its own rate
        values |= {"queue_ms": None, "queue_bytes": radio.queue_limit().bytes}
    return values | {
        "rate_mbps": positive,
        "changes": [{"at_s": s * STEP_S, "rate_mbps": rate} for s, rate in steps],
    }


def _rates(scenario: Scenario, name: Direction) -> Rates:
    """Return Mbit/s of each leg in each second to the run's time limit, less when it is down."""
    lasting = max(flow.workload.lasts_s or 0.0 for flow in scenario.resolved_flows)
    seconds = ceil(scenario.timeout_s + lasting) + 1  # the legs begin before the clients
    edges = range(0, (seconds + 1) * NS_PER_S, NS_PER_S)
    # RLC takes its part of what the leg is given, whichever it follows.
    plain = [leg.direction(name).model_copy(update={"rlc": None}) for leg in scenario.legs]
    return tuple(tuple(bits / 1e6 for bits in radio.available_bits(edges)) for radio in plain)
