"""Three Dual Connectivities by name: the PDCP fields that each has over the legs of a bearer.

* `papers`: what the DC papers measured.
* `deployable`: what two nodes over Xn can do by the standards: flow control of TS 38.425, timers
  that RRC configures, and an uplink that is split from its first byte on.
* `ideal`: a split that sees every leg at once, and a receiver that knows what a leg lost. Nobody
  can deploy it.

RLC is a leg's, not PDCP's: none of them changes a leg.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

from minitopo_dc.errors import InputError
from minitopo_dc.fields import Direction, SettingsError
from minitopo_dc.pdcp import DISCARD_TIMER_MS, T_REORDERING_MS
from minitopo_dc.pdcp.transmitting.legs import MIN_PACKETS
from minitopo_dc.scenario.leg import PACKET_BYTES, LegDirection
from minitopo_dc.scenario.radio import Leg, put_beside
from minitopo_dc.units import NS_PER_MS, NS_PER_S

DualConnectivity = Literal["papers", "deployable", "ideal"]
NAMES: tuple[DualConnectivity, ...] = get_args(DualConnectivity)
DIRECTIONS: tuple[Direction, ...] = ("downlink", "uplink")
FIELDS = ("pdcp", "split_uplink", "uplink_pdcp")
"""Of a scenario, which a name stands for."""
XN_MS = 5.0
"""Of Xn one way: the most of TR 36.932's class "fibre access 3", 2 to 5 ms (table 6.1-1)."""
STATUS_MS = 5.0
"""From one DL DELIVERY STATUS to the next, as `FlowControlSettings` has it by default."""
LEAD_MS = 2.0
"""What a leg beside the split is given beforehand: the slot that it sends, and the next."""
HELD_MS = 30.0
"""What a node desires of its leg's rate, beside what is on Xn: so much that a leg whose rate rises
between two statuses does not run dry (studies/which_is_better/frontier.md)."""
QUEUES = 2.0
"""discardTimer waits for so many times what full queues take at the mean rate, as rates fall."""
PACKET_BITS = 8 * PACKET_BYTES
MEAN_S = 60
"""For how long a trace is read to know a leg's mean rate and its delays."""


def dual_connectivity(
    name: DualConnectivity | str, legs: Sequence[Leg], xn_ms: float = XN_MS
) -> dict[str, Any]:
    """Return the fields of a scenario that make a Dual Connectivity, each of them plainly.

    Args:
        name: one of `NAMES`.
        legs: those of the bearer, the one at the node that splits first.
        xn_ms: the delay (ms, one way) between that node and the others; of `deployable`.

    Raises:
        SettingsError, TraceError: there is no such name, or a trace is missing or wrong.
    """
    if name == "papers":
        pdcp = {"split": "batch", "batch": 100, "numbering": "early", "t_reordering_ms": 200.0}
        return {"pdcp": pdcp, "split_uplink": False, "uplink_pdcp": None}
    if name == "deployable":
        downlink, uplink = _downlink(legs, xn_ms), _uplink(legs, xn_ms)
        return {"pdcp": downlink, "split_uplink": True, "uplink_pdcp": uplink}
    if name == "ideal":
        downlink, uplink = (_ideal([leg.direction(way) for leg in legs]) for way in DIRECTIONS)
        return {"pdcp": downlink, "split_uplink": True, "uplink_pdcp": uplink}
    raise SettingsError(f"Dual Connectivity {name!r}; allowed: {', '.join(NAMES)}")


def table_name(name: DualConnectivity, xn_ms: float) -> str:
    """Return the name of a Dual Connectivity in tables: `papers'`, `deployable, Xn 5 ms`."""
    words = {"papers": "papers'", "deployable": f"deployable, Xn {xn_ms:g} ms"}
    return words.get(name, name)


def _downlink(legs: Sequence[Leg], xn_ms: float) -> dict[str, Any]:
    """Return PDCP of the node that splits, which knows of its legs what DDDS tells."""
    backhaul_ms = [0.0, *[xn_ms] * (len(legs) - 1)]
    return {
        "split": "least-delay",
        # SDUs wait here until a node wants them. With a number or without, they leave in the same
        # order: late numbers are those that early ones would be, but that one is never discarded.
        "numbering": "late",
        "flow_control": {
            "interval_ms": STATUS_MS,
            "backhaul_ms": backhaul_ms,
            "desired_ms": [HELD_MS + 2 * delay for delay in backhaul_ms],
        },
        # The split foresees what waits in a node's queue, but for what the latest status is old.
        **_timers([leg.downlink for leg in legs], xn_ms, STATUS_MS + LEAD_MS),
    }


def _uplink(legs: Sequence[Leg], xn_ms: float) -> dict[str, Any]:
    """Return PDCP of the UE, which knows its own queues.

    With ul-DataSplitThreshold b0 it may send each SDU by either leg (TS 38.323, clause 5.2.1).
    t-Reordering allows for Xn to the node that reorders, which `uplink_pdcp.xn_ms` adds.
    """
    timers = _timers([leg.uplink for leg in legs], xn_ms, LEAD_MS)
    return {"split": "least-delay", "numbering": "late", **timers}


def _ideal(radios: Sequence[LegDirection]) -> dict[str, Any]:
    """Return PDCP of a direction whose split sees its legs, and whose receiver knows their order.

    A configured t-Reordering beside that: an adaptive one waits too long behind a loss that only
    the other leg's packets could show.
    """
    in_order = all(not radio.reorder and (not radio.rlc or radio.rlc.in_order) for radio in radios)
    return {
        "split": "least-delay",
        "numbering": "late",
        "t_reordering_ms": t_reordering_ms(radios, 0.0, LEAD_MS),
        "legs_keep_order": in_order,
    }


def _timers(radios: Sequence[LegDirection], xn_ms: float, held_ms: float) -> dict[str, Any]:
    timer = t_reordering_ms(radios, xn_ms, held_ms)
    return {
        "sn_bits": 18,
        "t_reordering_ms": timer,
        "discard_timer_ms": discard_timer_ms(radios, timer),
    }


def t_reordering_ms(radios: Sequence[LegDirection], xn_ms: float, held_ms: float) -> float:
    """Return the least t-Reordering of TS 38.331 (ms) that waits for the latest PDU of any leg.

    A PDU is latest by its leg's greatest delay, jitter, Xn, grant, time in the node's queue and the
    retransmissions of HARQ and RLC; earliest by the least delay of all legs, without Xn, whose
    delay is a bound, and with a grant that was there. Both are known to an operator who knows the
    legs. Beyond all values of the standard it is the greatest one.

    Args:
        radios: one direction of the bearer's legs, the one at the node that splits first.
        xn_ms: the delay of Xn one way, of all legs but the first.
        held_ms: how long a PDU may wait in a node's queue that the split does not foresee.
    """
    delays = [radio.delay_range_ms(MEAN_S) for radio in radios]
    latest = max(
        delay[1] + (xn_ms if place else 0.0) + _waits_ms(radio, held_ms)
        for place, (radio, delay) in enumerate(zip(radios, delays, strict=True))
    )
    return float(
        _least(T_REORDERING_MS, latest - min(least for least, _ in delays)) or T_REORDERING_MS[-1]
    )


def discard_timer_ms(radios: Sequence[LegDirection], timer_ms: float) -> float | str:
    """Return the least discardTimer of TS 38.331 (ms) that drops nothing which is still of use.

    It is not below t-Reordering, and above `QUEUES` times the time in which all queues of the legs
    drain at their mean rates; `infinity` beyond all values and of queues without a limit.
    """
    held_bits = 8 * sum(radio.queue_holds_bytes() for radio in radios)
    drain_ms = 1000 * held_bits / sum(map(_mean_bps, radios))
    return _least(DISCARD_TIMER_MS, max(timer_ms, QUEUES * drain_ms)) or "infinity"


def _least(values: Sequence[int], least: float) -> float | None:
    """Return the least of ascending values that is not below another; None: all are."""
    return next((float(value) for value in values if value >= least), None)


def _waits_ms(radio: LegDirection, held_ms: float) -> float:
    """Return what a grant, a node's queue and retransmissions take at most.

    A leg is given two packets at least, and two slots of its pattern. Of `am` one retransmission by
    RLC counts, which needs all those of HARQ, too: a second one is rarer than a loss.
    """
    least_ms = 1000 * MIN_PACKETS * PACKET_BITS / _mean_bps(radio)
    if radio.rlc is None:
        return radio.grant_ms + max(held_ms, least_ms)
    slots_ms = radio.rlc.parameters().slot_lead_ns() / NS_PER_MS
    wait_ms = radio.grant_ms + max(held_ms, least_ms, slots_ms) + radio.rlc.longest_wait_ms()
    harq_ms = radio.rlc.harq_retransmissions * radio.rlc.longest_round_ms()
    if radio.rlc.mode == "um":
        return wait_ms + harq_ms
    return wait_ms + (max(radio.rlc.status_ms, harq_ms) + harq_ms)


def _mean_bps(radio: LegDirection) -> float:
    """Return the mean capacity over the first `MEAN_S` s, at least 1 bit/s."""
    return max(1.0, radio.capacity().bits_between(0, MEAN_S * NS_PER_S) / MEAN_S)


ALL = "*"
"""The part of a path that is every item of a list."""
MAX_DIGITS = 10
"""The most digits of an index: far more than any list is long."""


OF_LEG = re.compile(r"(?:legs|real\.backhaul)\.[^.]+")


def set_value(document: Any, path: str, value: Any) -> None:
    """Put `value` at `path` of a nested document, making the mappings on the way.

    Raises:
        InputError: an index is not in its list.
    """
    *way, last = path.split(".")
    for place in _places(document, way, path):
        if isinstance(place, list):
            for index in _indices(place, last, path):
                place[index] = value
        elif last in Leg.BESIDE and OF_LEG.fullmatch(".".join(way)):
            put_beside(_mapping(place, path), last, value)
        else:
            _mapping(place, path)[last] = value


def _places(document: Any, way: list[str], path: str) -> list[Any]:
    """Return the mappings or lists in which the last part of a path is."""
    places = [document]
    for part in way:
        inner: list[Any] = []
        for place in places:
            if isinstance(place, list):
                inner += [place[index] for index in _indices(place, part, path)]
            else:
                fields = _mapping(place, path)
                if fields.get(part) is None:  # not given, or given as nothing
                    fields[part] = {}
                inner.append(fields[part])
        places = inner
    return places


def _mapping(place: Any, path: str) -> dict[str, Any]:
    if not isinstance(place, dict):
        raise InputError(f"{path}: leads into {place!r:.60}, which has no fields")
    return place


def _indices(items: list[Any], part: str, path: str) -> range:
    if part == ALL:
        return range(len(items))
    is_index = part.isascii() and part.isdigit() and len(part) < MAX_DIGITS
    if not is_index or int(part) >= len(items):
        allowed = f"0 to {len(items) - 1} or {ALL}" if items else "none: the list is empty"
        raise InputError(f"{path}: {part} is no index here; allowed: {allowed}")
    return range(int(part), int(part) + 1)
