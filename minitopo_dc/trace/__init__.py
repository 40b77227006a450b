"""Capacity traces: reading, writing, describing and making them. Sans-IO but for the files."""

from __future__ import annotations

from minitopo_dc.trace.channels import Capacities
from minitopo_dc.trace.convert import resample, to_opportunities
from minitopo_dc.trace.errors import TraceError
from minitopo_dc.trace.info import TraceInfo, autocorrelation, trace_info
from minitopo_dc.trace.model import EndRule, OpportunityTrace, RateTrace, Trace
from minitopo_dc.trace.readers import TraceFormat, read_trace
from minitopo_dc.trace.synthesis import CellParameters, spectral_efficiency, synthesise
from minitopo_dc.trace.writers import write_csv, write_mahimahi

__all__ = [
    "Capacities",
    "CellParameters",
    "EndRule",
    "OpportunityTrace",
    "RateTrace",
    "Trace",
    "TraceError",
    "TraceFormat",
    "TraceInfo",
    "autocorrelation",
    "read_trace",
    "resample",
    "spectral_efficiency",
    "synthesise",
    "to_opportunities",
    "trace_info",
    "write_csv",
    "write_mahimahi",
]
