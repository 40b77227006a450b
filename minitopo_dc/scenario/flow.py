"""One flow of a run: what one server and one client do, and over which legs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minitopo_dc.scenario.bearer import FlowMode, UplinkPdcpSettings
from minitopo_dc.settings import PathPlan, PathSchedule, Pdcp, Settings
from minitopo_dc.settings.base import LeftOut
from minitopo_dc.settings.ranges import Number
from minitopo_dc.workloads import Workload, WorkloadField


class FlowSettings(Settings):
    """One of several flows at once: its own server, client and PDCP bearer, over the same legs.

    A flow of `mode: multipath` has no bearer, and one client address for each leg. A field that is
    None is the scenario's; `options` only where the transport is the scenario's, else there are
    none.
    """

    mode: FlowMode
    leg: Number = 1
    """The leg that `mode: sc` uses."""
    transport: str | None = None
    workload: WorkloadField | None = None
    congestion_control: str | None = None
    options: dict[str, Any] | None = None
    paths: PathSchedule | None = None
    """Of `mode: multipath`; None: a path on every leg from the beginning to the end."""
    pdcp: LeftOut[Pdcp | None] = None
    uplink_pdcp: LeftOut[UplinkPdcpSettings | None] = None


@dataclass(frozen=True)
class ResolvedFlow:
    """A flow with what it leaves to the scenario filled in."""

    mode: FlowMode
    leg: int
    legs: tuple[int, ...]
    """Those that its downlink may take: its bearer's, the primary one first, or its paths'."""
    uplink_legs: tuple[int, ...]
    """Those of its uplink's bearer, where the uplink is split."""
    transport: str
    workload: Workload
    congestion_control: str
    options: Mapping[str, Any]
    pdcp: Pdcp
    """Of its downlink's bearer, with the split policy of the mode."""
    uplink_pdcp: Pdcp
    """Of its uplink's bearer, where the uplink is split."""
    paths: PathPlan | None = None
    """Of `mode: multipath`; None in every other mode."""
