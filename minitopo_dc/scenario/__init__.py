"""Scenarios: all that fixes one run (docs/scenarios.md)."""

from minitopo_dc.scenario.bearer import DUAL_CONNECTIVITY, FlowMode, UplinkPdcpSettings
from minitopo_dc.scenario.clocks import Clock, Core, RealSettings, VirtualSettings
from minitopo_dc.scenario.flow import FlowSettings, ResolvedFlow
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.scenario.resolve import ResolvedScenario, resolve_scenario
from minitopo_dc.scenario.scenario import Mode, Scenario

__all__ = [
    "DUAL_CONNECTIVITY",
    "Clock",
    "Core",
    "FlowMode",
    "FlowSettings",
    "Leg",
    "Mode",
    "RealSettings",
    "ResolvedFlow",
    "ResolvedScenario",
    "Scenario",
    "UplinkPdcpSettings",
    "VirtualSettings",
    "resolve_scenario",
]
