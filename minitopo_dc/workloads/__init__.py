"""Workloads: what end hosts do in a run, one module for each.

A workload says what is asked for, whether what was measured is that, and what its table holds; the
runner decides how a transport carries it.
"""

from minitopo_dc.workloads.base import (
    Column,
    Measurement,
    RowsFigure,
    Workload,
    WorkloadField,
    get_workload,
    parse_workload,
    workload,
    workload_names,
)
from minitopo_dc.workloads.command import Command, Measure
from minitopo_dc.workloads.download import ENDLESS_BYTES, Both, Download, Upload, as_download
from minitopo_dc.workloads.realtime import Realtime
from minitopo_dc.workloads.request_response import Ping, RequestResponse
from minitopo_dc.workloads.under_load import UnderLoad
from minitopo_dc.workloads.video import Video

__all__ = [
    "ENDLESS_BYTES",
    "Both",
    "Column",
    "Command",
    "Download",
    "Measure",
    "Measurement",
    "Ping",
    "Realtime",
    "RequestResponse",
    "RowsFigure",
    "UnderLoad",
    "Upload",
    "Video",
    "Workload",
    "WorkloadField",
    "as_download",
    "get_workload",
    "parse_workload",
    "workload",
    "workload_names",
]
