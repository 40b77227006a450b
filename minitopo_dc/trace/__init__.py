"""Capacity traces: to read, write, describe and make them.

Only the readers and writers of files do input and output.
"""

from __future__ import annotations

from minitopo_dc.trace.channels import (
    Capacities,
    CapacityStatistics,
    CellLog,
    ChannelStatistics,
    HeardCell,
    Interferers,
    RadioSettings,
    capacity_mbps,
    channel_statistics,
    channels_of,
    levels,
    sinr,
)
from minitopo_dc.trace.drive import ENVIRONMENTS, Environment, synthesise_drive
from minitopo_dc.trace.formats import TraceFormat, read_trace, write_csv, write_mahimahi
from minitopo_dc.trace.formats.cell_files import (
    kind_of_drive,
    read_cells,
    read_channels,
    write_cells,
    write_channels,
)
from minitopo_dc.trace.formats.columns import DEFAULT_COLUMN
from minitopo_dc.trace.info import TraceInfo, autocorrelation, doubts, trace_info
from minitopo_dc.trace.model import (
    EndRule,
    OpportunityTrace,
    RateTrace,
    Trace,
    TraceError,
    begun_at,
    resample,
    to_opportunities,
)
from minitopo_dc.trace.synthesis import CellParameters, spectral_efficiency, synthesise

__all__ = [
    "DEFAULT_COLUMN",
    "ENVIRONMENTS",
    "Capacities",
    "CapacityStatistics",
    "CellLog",
    "CellParameters",
    "ChannelStatistics",
    "EndRule",
    "Environment",
    "HeardCell",
    "Interferers",
    "OpportunityTrace",
    "RadioSettings",
    "RateTrace",
    "Trace",
    "TraceError",
    "TraceFormat",
    "TraceInfo",
    "autocorrelation",
    "begun_at",
    "capacity_mbps",
    "channel_statistics",
    "channels_of",
    "doubts",
    "kind_of_drive",
    "levels",
    "read_cells",
    "read_channels",
    "read_trace",
    "resample",
    "sinr",
    "spectral_efficiency",
    "synthesise",
    "synthesise_drive",
    "to_opportunities",
    "trace_info",
    "write_cells",
    "write_channels",
    "write_csv",
    "write_mahimahi",
]
