"""Validated settings of legs and bearers, shared by element files and scenarios."""

from minitopo_dc.settings.base import Settings, SettingsError, read_yaml
from minitopo_dc.settings.bearer import Match, PdcpSettings
from minitopo_dc.settings.change import LegChange
from minitopo_dc.settings.kernel import kernel_rates
from minitopo_dc.settings.leg import BurstLoss, LegSettings

__all__ = [
    "BurstLoss",
    "LegChange",
    "LegSettings",
    "Match",
    "PdcpSettings",
    "Settings",
    "SettingsError",
    "kernel_rates",
    "read_yaml",
]
