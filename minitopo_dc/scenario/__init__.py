"""Scenarios: all that fixes one run (docs/scenarios.md)."""

from minitopo_dc.scenario.as_run import AsRun, as_run
from minitopo_dc.scenario.bearer import DUAL_CONNECTIVITY, FlowMode, UplinkPdcpSettings
from minitopo_dc.scenario.clocks import Clock, Core, RealSettings, Recovery, VirtualSettings
from minitopo_dc.scenario.flow import FlowSettings, ResolvedFlow
from minitopo_dc.scenario.radio import RadioLeg
from minitopo_dc.scenario.scenario import Mode, Scenario

__all__ = [
    "DUAL_CONNECTIVITY",
    "AsRun",
    "Clock",
    "Core",
    "FlowMode",
    "FlowSettings",
    "Mode",
    "RadioLeg",
    "RealSettings",
    "Recovery",
    "ResolvedFlow",
    "Scenario",
    "UplinkPdcpSettings",
    "VirtualSettings",
    "as_run",
]
