"""Scenarios: all that fixes one run (docs/scenarios.md)."""

from minitopo_dc.scenario.flow import (
    DUAL_CONNECTIVITY,
    FlowMode,
    FlowSettings,
    ResolvedFlow,
    UplinkPdcpSettings,
)
from minitopo_dc.scenario.radio import Leg
from minitopo_dc.scenario.resolve import ResolvedScenario, resolve_scenario
from minitopo_dc.scenario.scenario import (
    Clock,
    Core,
    Mode,
    RealSettings,
    Scenario,
    VirtualSettings,
)

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
