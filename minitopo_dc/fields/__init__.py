"""The ground of all settings: checked fields with units and ranges, paths, YAML files."""

from minitopo_dc.fields.base import LeftOut, Settings, SettingsError, read_yaml
from minitopo_dc.fields.path_schedule import (
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
from minitopo_dc.fields.ranges import OPPOSITE, Direction, IpVersion

__all__ = [
    "ACTIONS",
    "OPPOSITE",
    "Direction",
    "IpVersion",
    "LeftOut",
    "PathAction",
    "PathChange",
    "PathChangeError",
    "PathEvent",
    "PathPlan",
    "PathSchedule",
    "PathStatus",
    "Settings",
    "SettingsError",
    "parse_path_words",
    "read_yaml",
]
