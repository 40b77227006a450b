"""Validated settings of legs and bearers, shared by element files and scenarios."""

from minitopo_dc.settings.base import LeftOut, Settings, SettingsError, read_yaml
from minitopo_dc.settings.change import LegChange
from minitopo_dc.settings.handover import HandoverSettings
from minitopo_dc.settings.kernel import check_kernel_bearer, check_wire_bearer, kernel_rates
from minitopo_dc.settings.layer2 import RlcSettings, WifiSettings
from minitopo_dc.settings.leg import BurstLoss, LegSettings
from minitopo_dc.settings.path_schedule import (
    ACTIONS,
    PathAction,
    PathChange,
    PathChangeError,
    PathEvent,
    PathPlan,
    PathSchedule,
    PathStatus,
    parse_path_words,
)
from minitopo_dc.settings.pdcp import DuplicationSettings, Pdcp
from minitopo_dc.settings.ranges import Direction, IpVersion

__all__ = [
    "ACTIONS",
    "BurstLoss",
    "Direction",
    "DuplicationSettings",
    "HandoverSettings",
    "IpVersion",
    "LeftOut",
    "LegChange",
    "LegSettings",
    "PathAction",
    "PathChange",
    "PathChangeError",
    "PathEvent",
    "PathPlan",
    "PathSchedule",
    "PathStatus",
    "Pdcp",
    "RlcSettings",
    "Settings",
    "SettingsError",
    "WifiSettings",
    "check_kernel_bearer",
    "check_wire_bearer",
    "kernel_rates",
    "parse_path_words",
    "read_yaml",
]
