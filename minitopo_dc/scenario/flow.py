"""One flow of a run: what one server and one client do, over which legs, with which bearers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minitopo_dc.fields.base import LeftOut, Settings, given
from minitopo_dc.fields.path_schedule import PathPlan, PathSchedule
from minitopo_dc.fields.ranges import Milliseconds, Number
from minitopo_dc.scenario.pdcp import Pdcp
from minitopo_dc.workloads import Workload, WorkloadField

FlowMode = Literal["sc", "dc", "dc-duplicate", "atsss", "multipath"]
"""One leg; split over the legs below IP; sent on all legs below IP; steered by the UPF's rules;
split by the transport."""
DUAL_CONNECTIVITY: tuple[FlowMode, ...] = ("dc", "dc-duplicate", "atsss")
"""The modes whose bearer has several legs."""
PROXIED = ("mptcp", "mpquic-picoquic")
"""The transports that in `mode: atsss` end at a proxy on the UPF (TS 23.501 clause 5.32.6.2)."""
STEERING = "smallest-delay"
"""The steering mode of `mode: atsss` unless `pdcp.split` names one: the only one that finds the
better leg by itself."""


class UplinkPdcpSettings(Pdcp):
    """PDCP parameters of an uplink bearer of its own."""

    split: LeftOut[str | None] = None  # type: ignore[assignment]
    """Split policy, also `duplicate`; none: `duplicate` in mode `dc-duplicate`, else `batch`."""
    xn_ms: LeftOut[Milliseconds] = 0.0
    """What PDUs by all legs but the first take to the node that reorders, one way, beyond the delay
    of their leg; in Dual Connectivity of one flow."""


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
    splits_uplink: bool = False
    """Whether its uplink has a bearer of its own; ATSSS rules are for both directions."""
    proxied: bool = False
    """Whether its transport ends at a proxy on the UPF; its mode is then `multipath`."""
    paths: PathPlan | None = None
    """Of `mode: multipath`, and of `mode: sc` whose client tries several legs; else None."""
    number: int | None = None
    """Its number (0, 1, ...) among the flows of `mode: flows`; None: the scenario is this flow."""

    @property
    def where(self) -> str:
        """Return how the names of its fields begin in messages."""
        return "" if self.number is None else f"flows.{self.number}."

    @property
    def has_several_paths(self) -> bool:
        """Return whether its transport has a path on several legs at once, by a plan."""
        return self.paths is not None and self.mode != "sc"


def is_proxied(mode: str, transport: str) -> bool:
    """Return whether a flow's transport ends at a proxy on the UPF."""
    return mode == "atsss" and transport in PROXIED


def downlink_pdcp(mode: FlowMode, pdcp: Pdcp) -> Pdcp:
    """Return the PDCP parameters with the split policy of the mode.

    ATSSS-LL puts nothing in order, and its steering mode takes the place of the papers' batches.
    """
    if mode == "atsss":
        split = STEERING if pdcp.split == "batch" else pdcp.split
        return Pdcp.check({**given(pdcp), "split": split, "delivery": "off"}, "pdcp")
    if mode != "dc-duplicate":
        return pdcp
    return pdcp.model_copy(update={"split": "duplicate", "parameters": {}})


def uplink_pdcp(mode: FlowMode, downlink: Pdcp, own: UplinkPdcpSettings | None) -> Pdcp:
    """Return the uplink's own PDCP parameters; without any, the downlink's.

    They are over the downlink's legs, if they name none.

    Raises:
        SettingsError: it does not fit the mode's split.
    """
    if own is None:
        return downlink
    split = {"split": "duplicate"} if mode == "dc-duplicate" else {}
    values = {"legs": downlink.legs, **split, **own.model_dump(exclude={"xn_ms"})}
    pdcp = Pdcp.check(values, "uplink_pdcp")
    return downlink_pdcp(mode, pdcp) if mode == "atsss" else pdcp
