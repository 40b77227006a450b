"""What fixes one run (docs/scenarios.md)."""

from minitopo_dc.scenario.clocks import Clock, RealSettings, Recovery, VirtualSettings
from minitopo_dc.scenario.flow import FlowMode, FlowSettings, ResolvedFlow
from minitopo_dc.scenario.radio import RadioLeg
from minitopo_dc.scenario.scenario import Mode, Scenario

__all__ = [
    "Clock",
    "FlowMode",
    "FlowSettings",
    "Mode",
    "RadioLeg",
    "RealSettings",
    "Recovery",
    "ResolvedFlow",
    "Scenario",
    "VirtualSettings",
]
