"""What to know of a scenario before its numbers are believed: each a line with what to do.

A caution is no error: such a scenario may be what somebody asks about. It is printed before a run,
kept in its result (`details.cautions`) and shown below its numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from minitopo_dc.fields import Direction
from minitopo_dc.quic.picoquic import CUBIC, OWN_CUBIC
from minitopo_dc.results.metrics import available_bits
from minitopo_dc.results.run_result import CAUTIONS, RunResult
from minitopo_dc.scenario import DUAL_CONNECTIVITY, LegDirection, ResolvedFlow, Scenario
from minitopo_dc.scenario.pdcp import Pdcp
from minitopo_dc.units import NS_PER_MS

ORDERED = "least-delay"
"""The split that sends so that PDUs arrive in their order: a short timer does not hurt it where it
sees its legs. Over Xn it knows of them what statuses told."""
PDU_BITS = 8 * 1500
LOOK_AHEAD_S = 10.0
"""For how long a trace is read to know its mean rate."""
_PRINTED: set[str] = set()
"""The words that were printed (`print_once`)."""


def print_cautions(scenario: Scenario) -> None:
    """Print each caution to standard error, once in this process' life.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    for words in cautions(scenario):
        print_once(words)


def print_once(words: str) -> None:
    """Print words to standard error unless this process has printed them before."""
    if words not in _PRINTED:
        _PRINTED.add(words)
        print(f"minitopo-dc: {words}", file=sys.stderr)  # noqa: T201


def with_cautions(result: RunResult, scenario: Scenario) -> RunResult:
    """Return the result; one that is ok has the cautions of its scenario in its details."""
    lines = cautions(scenario) if result.status == "ok" else []
    return replace(result, details={**result.details, CAUTIONS: lines}) if lines else result


def cautions(scenario: Scenario) -> list[str]:
    """Return what is to be known of a scenario's flows, each once.

    Raises:
        SettingsError, TraceError: a trace is missing or wrong.
    """
    checks = (_own_cubic, short_timer, _few_numbers)
    flows = scenario.resolved_flows
    lines = (line for flow in flows for check in checks for line in check(scenario, flow))
    return list(dict.fromkeys(lines))


def _own_cubic(scenario: Scenario, flow: ResolvedFlow) -> Iterator[str]:
    """Yield that picoquic's CUBIC ignores losses of up to 15 % (its cubic.c, smoothed losses)."""
    mine = flow.congestion_control == OWN_CUBIC
    if mine and any(leg.mean_loss_percent() for leg in _downlinks(scenario, flow)):
        yield (
            f"a leg loses packets at random, and {OWN_CUBIC} reacts to losses above 15 % only; "
            f"congestion_control: {CUBIC} reacts to each, as RFC 9438 says"
        )


def short_timer(scenario: Scenario, flow: ResolvedFlow) -> Iterator[str]:
    """Yield that t-Reordering expires before the slower leg's PDUs can come."""
    way, pdcp, numbers = loaded(flow)
    timer_ms = pdcp.t_reordering_ms
    if flow.mode != "dc" or isinstance(timer_ms, str) or keeps_order(pdcp):
        return
    legs = [scenario.legs[number - 1].direction(way) for number in numbers]
    pairs = zip(legs, backhauls_ms(pdcp, len(legs)), strict=True)
    delays = [leg.delay_ms + xn_ms for leg, xn_ms in pairs if not leg.delay_varies]
    skew_ms = max(delays, default=0) - min(delays, default=0)
    if pdcp.delivery == "in-order" and timer_ms < skew_ms:
        over_xn = pdcp.flow_control is not None
        yield (
            f"t-Reordering of {timer_ms:g} ms is below the legs' skew of {skew_ms:g} ms "
            f"(propagation{' and Xn' * over_xn}, without queues): PDUs of the slower leg come too "
            "late and count as lost; give a longer t_reordering_ms"
            + (f", or split: {ORDERED}" if pdcp.split != ORDERED else "")
        )


def keeps_order(pdcp: Pdcp) -> bool:
    """Return whether the split sends so that PDUs arrive in their order, as it sees its legs."""
    return pdcp.split == ORDERED and pdcp.flow_control is None


def backhauls_ms(pdcp: Pdcp, legs: int) -> Sequence[float]:
    """Return Xn's mean one-way delay of each leg in ms, 0 without flow control."""
    control = pdcp.flow_control
    nodes = () if control is None else control.of_legs(legs)
    return [node.mean_delay_ns / NS_PER_MS for node in nodes] or [0.0] * legs


def loaded(flow: ResolvedFlow) -> tuple[Direction, Pdcp, Sequence[int]]:
    """Return the direction of a flow's content, its PDCP, and the legs that carry it."""
    way: Direction = "downlink" if "downlink" in flow.workload.loads else "uplink"
    return way, flow.pdcp if way == "downlink" else flow.uplink_pdcp, carriers(flow, way)


def carriers(flow: ResolvedFlow, way: Direction) -> Sequence[int]:
    """Return the numbers of the legs that carry a flow's packets of a direction."""
    if way == "downlink" or flow.mode not in DUAL_CONNECTIVITY:
        return flow.legs
    return flow.uplink_legs if flow.splits_uplink else flow.uplink_legs[:1]


def _few_numbers(scenario: Scenario, flow: ResolvedFlow) -> Iterator[str]:
    """Yield that the legs' skew can pass half the SN space (TS 38.323, clause 5.2.2.1)."""
    legs = _downlinks(scenario, flow)
    window = 1 << (flow.pdcp.sn_bits - 1)
    if flow.mode not in ("dc", "dc-duplicate") or window > 1 << 11:
        return
    bits = available_bits(scenario, 0, LOOK_AHEAD_S)
    rates = [bits[leg - 1] / LOOK_AHEAD_S for leg in flow.legs]
    rate = max(rates) if flow.mode == "dc-duplicate" else sum(rates)
    full = [longest_s(leg, bps) for leg, bps in zip(legs, rates, strict=True)]
    skew_s = max(full) - min(leg.delay_ms for leg in legs) / 1000
    if skew_s * rate / PDU_BITS >= window:
        yield (
            f"{flow.pdcp.sn_bits}-bit SN: the legs' skew of up to {1000 * skew_s:.0f} ms "
            f"(propagation and a full queue) is {skew_s * rate / PDU_BITS:.0f} PDUs, and half the "
            f"SN space is {window}: COUNT may run out of step, and stale PDUs are delivered; take "
            "sn_bits: 18"
        )


def _downlinks(scenario: Scenario, flow: ResolvedFlow) -> Sequence[LegDirection]:
    return [scenario.legs[leg - 1].downlink for leg in flow.legs]


def longest_s(leg: LegDirection, rate_bps: float) -> float:
    """Return a leg's propagation and its full queue, in s; one without a limit counts as 0."""
    queued = 8 * leg.queue_holds_bytes()
    drain_s = queued / rate_bps if rate_bps and queued < math.inf else 0.0
    return leg.delay_ms / 1000 + drain_s
