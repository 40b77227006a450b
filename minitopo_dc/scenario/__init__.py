"""Scenarios: all that fixes one run (docs/scenarios.md), and what router hosts derive from it."""

from minitopo_dc.scenario.cell import BackgroundSettings, CellSettings
from minitopo_dc.scenario.change import HandoverSettings, LegChange
from minitopo_dc.scenario.checks import check_kernel_bearer, check_wire_bearer, kernel_rates
from minitopo_dc.scenario.flow import (
    DUAL_CONNECTIVITY,
    FlowMode,
    FlowSettings,
    ResolvedFlow,
    UplinkPdcpSettings,
)
from minitopo_dc.scenario.layer2 import RlcSettings, WifiSettings
from minitopo_dc.scenario.leg import BurstLoss, LegDirection
from minitopo_dc.scenario.pdcp import DuplicationSettings, Pdcp
from minitopo_dc.scenario.radio import Leg, lte, nr
from minitopo_dc.scenario.resolve import handovers_of, resolve_scenario
from minitopo_dc.scenario.scenario import Clock, Core, Mode, RealSettings, Scenario, VirtualSettings

__all__ = [
    "DUAL_CONNECTIVITY",
    "BackgroundSettings",
    "BurstLoss",
    "CellSettings",
    "Clock",
    "Core",
    "DuplicationSettings",
    "FlowMode",
    "FlowSettings",
    "HandoverSettings",
    "Leg",
    "LegChange",
    "LegDirection",
    "Mode",
    "Pdcp",
    "RealSettings",
    "ResolvedFlow",
    "RlcSettings",
    "Scenario",
    "UplinkPdcpSettings",
    "VirtualSettings",
    "WifiSettings",
    "check_kernel_bearer",
    "check_wire_bearer",
    "handovers_of",
    "kernel_rates",
    "lte",
    "nr",
    "resolve_scenario",
]
