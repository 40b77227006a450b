"""A scenario as it is run: handover rule, mobility and trace offset written out in plain fields.

`handover`, `mobility` and `trace_offset_s` say what is wanted of all legs. They become outages,
losses and offsets of single legs and a path schedule, so that the rest of the project knows only
these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from minitopo_dc.fields.base import SettingsError, error_text
from minitopo_dc.fields.path_schedule import PathEvent, PathPlan
from minitopo_dc.fields.ranges import Direction, Moment
from minitopo_dc.link import Capacity
from minitopo_dc.scenario.change import STEP_S
from minitopo_dc.scenario.flow import DUAL_CONNECTIVITY
from minitopo_dc.scenario.leg import LegSettings
from minitopo_dc.scenario.mobility import losing
from minitopo_dc.scenario.radio import Leg, Outage
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
"""Plans, and directions' rates; the largest campaign here has 300 of each, of 10 kB a leg."""
_MOMENT = TypeAdapter(Moment)
WIRE = {"rate_mbps": 10_000, "jitter_ms": 0, "queue_packets": None}
"""The wired link to the server on the real clock: faster than any leg, so that none waits."""
TRACE_FIELDS = ("trace", "trace_column", "trace_time_column", "trace_mean_mbps", "end", "offset_s")
"""Fields of a direction that say which capacity its trace is."""


@dataclass(frozen=True)
class ResolvedScenario:
    """The plain scenario of a run, and the handovers in it.

    Attributes:
        scenario: without `handover`, `mobility` and `trace_offset_s`: the given one when it has
            none of them.
        handovers: those that the rule makes until the run's time limit; None without a rule.
        derived: whether it is another scenario than the given one.
    """

    scenario: Scenario
    handovers: tuple[Handover, ...] | None = None
    derived: bool = False


def resolve_scenario(given: Scenario) -> ResolvedScenario:
    """Return the scenario that is run; reads the legs' traces if there is a handover rule.

    What only the other clock has is left out.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong, or no leg ever has any capacity.
    """
    begun = _with_wired_link(_with_mobility(_with_offset(given.of_its_clock())))
    if begun.handover is None:
        return ResolvedScenario(begun, derived=begun is not given)
    rates = _rates(begun, "downlink")
    if begun.handover.case == "sp":
        values = _plain(begun) | {"legs": [_best_leg(begun, rates)]}
        return ResolvedScenario(Scenario.check(values, "handover"), derived=True)
    try:
        plan = _plan(rates, begun.handover.rule())
    except ValueError as error:
        raise SettingsError(f"handover: {error}") from None
    scenario = Scenario.check(_planned(begun, plan, rates), "handover")
    return ResolvedScenario(scenario, plan.handovers, derived=True)


@lru_cache(maxsize=MAX_CACHED)
def _plan(rates: Rates, rule: HandoverRule) -> HandoverPlan:
    """Return the plan of `plan_handovers`, cached for campaigns of many congestion controls."""
    return plan_handovers(rates, rule, STEP_S)


def _with_offset(given: Scenario) -> Scenario:
    """Return the scenario whose traces begin later by the offset of all of them."""
    if not given.trace_offset_s:
        return given
    legs = tuple(
        leg.model_copy(update=_later(number, leg, given.trace_offset_s))
        for number, leg in enumerate(given.legs)
    )
    # A copy without validation: all else is valid, and campaigns ask for thousands.
    return given.model_copy(update={"legs": legs, "trace_offset_s": 0.0})


def _with_mobility(given: Scenario) -> Scenario:
    """Return the scenario whose legs are down, and lose all, by the events of mobility."""
    if not given.mobility:
        return given
    legs = list(given.legs)
    for event in given.mobility if given.mode in DUAL_CONNECTIVITY else ():
        number = event.leg - 1
        legs[number] = _down(losing(legs[number], event), [event.outage])
    return given.model_copy(update={"legs": tuple(legs), "mobility": ()})


def _with_wired_link(given: Scenario) -> Scenario:
    """Return the scenario of the real clock with its server's delay as a backhaul's.

    A proxy is on a host at the backhaul's end, so it has a wire without a delay, too.
    """
    if given.clock == "virtual" or given.real.backhaul:
        return given
    if not (given.server_delay_ms or given.is_proxied):
        return given
    way = {**WIRE, "delay_ms": given.server_delay_ms}
    real = given.real.model_copy(update={"backhaul": (Leg(downlink=way, uplink=way),)})
    return given.model_copy(update={"real": real, "server_delay_ms": 0.0})


def _later(number: int, leg: Leg, offset_s: float) -> dict[str, LegSettings]:
    """Return the directions that have a trace, with the trace from an offset (s) on."""
    later = {}
    for name in get_args(Direction):
        radio: LegSettings = getattr(leg, name)
        if radio.has_trace:
            try:
                moment = _MOMENT.validate_python(radio.offset_s + offset_s)
            except ValidationError as error:
                what = error_text(error.errors()[0])
                place = f"legs.{number}.{name}.offset_s"
                raise SettingsError(f"trace_offset_s: {place}: {what}") from None
            later[name] = radio.model_copy(update={"offset_s": moment})
    return later


def _plain(scenario: Scenario) -> dict[str, Any]:
    """Return all fields but the rule, as they are: they were validated before."""
    return {name: value for name, value in scenario if name != "handover"}


def _planned(scenario: Scenario, plan: HandoverPlan, rates: Rates) -> dict[str, Any]:
    """Return the fields of a scenario whose paths or legs follow a plan."""
    numbers = range(1, len(scenario.legs) + 1)
    followed = PathPlan(plan.initial, tuple(PathEvent(*event) for event in plan.events))
    down = {leg: _absences(rates[leg - 1]) for leg in numbers}
    if scenario.unused_legs_are_down:
        end = len(rates[0]) * STEP_S
        changed_s = _interruption_s(scenario)
        for leg in numbers:
            down[leg] = _union([*down[leg], *_unused(followed, leg, end, changed_s)])
    if scenario.handover_by == "paths":
        paths = _schedule(followed)
    else:
        others = [leg for leg in numbers if leg not in plan.initial]
        paths = {"initial": [*plan.initial, *others]}
    paths["each_carries"] = False
    legs = tuple(_down(leg, down[number]) for number, leg in enumerate(scenario.legs, 1))
    return _plain(scenario) | {"legs": legs} | _with_paths(scenario, paths)


def _with_paths(scenario: Scenario, paths: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field with the path schedule of each flow that has several paths."""
    if scenario.mode == "multipath":
        return {"paths": paths}
    flows = [
        flow.model_dump() | ({"paths": paths} if flow.mode == "multipath" else {})
        for flow in scenario.flows
    ]
    return {"flows": flows}


def _schedule(plan: PathPlan) -> dict[str, Any]:
    """Return a plan as fields of `paths`."""
    changes = [{"at_s": event.at_s, event.action: event.leg} for event in plan.events]
    return {"initial": plan.initial, "schedule": changes}


def _down(leg: Leg, down: Sequence[Outage]) -> Leg:
    """Return a leg that is down in both directions at these times, beside its own outages."""
    directions = {
        name: radio.model_copy(
            update={"outages": tuple(_union([*leg.outages, *radio.outages, *down]))}
        )
        for name, radio in (("downlink", leg.downlink), ("uplink", leg.uplink))
    }
    return leg.model_copy(update={"outages": (), **directions})


def _absences(rates: Sequence[float]) -> list[Outage]:
    """Return the whole seconds without capacity, as outages (s)."""
    return _union([(s * STEP_S, (s + 1) * STEP_S) for s, rate in enumerate(rates) if not rate])


def _interruption_s(scenario: Scenario) -> float:
    """Return how long a leg that comes into use carries nothing yet."""
    assert scenario.handover is not None
    return scenario.handover.interruption_ms / 1000 if scenario.handover_by == "legs" else 0.0


def _unused(plan: PathPlan, leg: int, end_s: float, changed_s: float) -> list[Outage]:
    """Return the times (s) when a leg is not used, up to the end of the plan.

    From the beginning on it is used at once, and later only after `changed_s`.
    """
    periods = plan.available_periods(leg)
    used = [m for begin, end in periods for m in (begin + changed_s if begin else begin, end)]
    edges = [0.0, *(min(moment, end_s) for moment in used), end_s]
    return [(begin, end) for begin, end in list(pairwise(edges))[::2] if end > begin]


def _union(outages: Sequence[Outage]) -> list[Outage]:
    """Return the same times as outages that neither overlap nor touch, ascending."""
    made: list[Outage] = []
    for begin, end in sorted(outages):
        if made and begin <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((begin, end))
    return made


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


def _following(radio: LegSettings, name: str, best: Sequence[int], rates: Rates) -> dict[str, Any]:
    if radio.changes:
        raise SettingsError(f"handover: case sp: legs.0.{name}.changes: allowed: none")
    chosen = [rates[leg - 1][second] for second, leg in enumerate(best)]
    positive = next((rate for rate in chosen if rate), None)
    if positive is None:
        raise SettingsError(f"handover: case sp: no leg has any capacity in {len(chosen)} s")
    steps = [(0, chosen[0])] if chosen[0] != positive else []
    steps += [(s, new) for s, (old, new) in enumerate(pairwise(chosen), 1) if new != old]
    values = radio.model_dump(exclude={*TRACE_FIELDS, "outages"}) | _queue_of_mean(radio)
    return values | {
        "rate_mbps": positive,
        "changes": [{"at_s": s * STEP_S, "rate_mbps": rate} for s, rate in steps],
    }


def _queue_of_mean(radio: LegSettings) -> dict[str, Any]:
    """Return the queue in bytes of a leg whose `queue_ms` is of its trace's mean."""
    if radio.trace_mean_mbps is None or radio.queue_ms is None:
        return {}
    return {"queue_ms": None, "queue_bytes": radio.queue_limit_bytes()}


def _rates(scenario: Scenario, name: str) -> Rates:
    """Return Mbit/s of each leg in each second to the run's time limit, less when it is down."""
    seconds = ceil(_limit_s(scenario)) + 1  # time zero of the legs is before the clients' start
    directions = [
        leg.direction("downlink" if name == "downlink" else "uplink") for leg in scenario.legs
    ]
    return tuple(_direction_rates(radio, seconds, radio.trace_age()) for radio in directions)


@lru_cache(maxsize=MAX_CACHED)
def _direction_rates(radio: LegSettings, seconds: int, _changed: int | None) -> tuple[float, ...]:
    """Return Mbit/s of one direction in each second, cached for campaigns of many scenarios."""
    return tuple(_each_second(radio.capacity(), radio.outages, seconds))


def _limit_s(scenario: Scenario) -> float:
    """Return when the last flow has ended or failed (s)."""
    lasting = (flow.workload.lasts_s or 0.0 for flow in scenario.resolved_flows)
    return scenario.timeout_s + max(lasting)


def _each_second(capacity: Capacity, outages: Sequence[Outage], seconds: int) -> Iterator[float]:
    """Yield the whole bits of each second, in Mbit/s."""
    for second in range(seconds):
        begin, end = second * NS_PER_S, (second + 1) * NS_PER_S
        bits = capacity.bits_between(begin, end)
        for down_from, down_to in outages:
            lost_from, lost_to = (round(moment * NS_PER_S) for moment in (down_from, down_to))
            if max(begin, lost_from) < min(end, lost_to):
                bits -= capacity.bits_between(max(begin, lost_from), min(end, lost_to))
        yield max(0, bits) / 1e6
