"""Limits of legs of the kernel (`backend: kernel`), and of bearers over them or over wires."""

from __future__ import annotations

from collections.abc import Iterator

from minitopo_dc.fields.base import SettingsError
from minitopo_dc.link import RateCapacity
from minitopo_dc.link.queue.discipline import DROP_TAIL
from minitopo_dc.pdcp import sees_legs
from minitopo_dc.scenario.leg import LegDirection
from minitopo_dc.scenario.pdcp import Pdcp

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


def check_kernel_bearer(pdcp: Pdcp, legs: int) -> None:
    """Refuse what needs to see a bearer's legs, and reports; legs of the kernel offer neither.

    Raises:
        SettingsError: the message names the field.
        PolicyError: the split policy is wrong.
    """
    if words := _seeing(pdcp, legs):
        raise SettingsError(
            f"{words}, which those of backend kernel do not show; use backend: user"
        )
    if pdcp.report_ms is not None:
        raise SettingsError("pdcp.report_ms: backend kernel sends no reports; use backend: user")


def check_wire_bearer(pdcp: Pdcp, legs: int) -> None:
    """Refuse features of a bearer that need to see legs, over legs that are others' wires.

    Raises:
        SettingsError: the message names the field.
        PolicyError: the split policy is wrong.
    """
    if words := _seeing(pdcp, legs):
        raise SettingsError(
            f"{words}, which links of others do not show; give each leg's rate or delay, so that "
            "the element has legs of its own"
        )


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
