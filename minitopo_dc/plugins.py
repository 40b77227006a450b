"""What a plugin is made of: base classes, decorators and the records that they exchange.

docs/plugins.md says how a plugin is found. Each decorator registers under a name what it stands
over; `minitopo_dc.registry` keeps what is registered.
"""

from __future__ import annotations

from minitopo_dc.link.cell_scheduler import CellScheduler, CellUser, cell_scheduler
from minitopo_dc.link.discipline import (
    AtQueue,
    QueueDiscipline,
    Verdict,
    congested,
    queue_discipline,
)
from minitopo_dc.media.abr import AbrAlgorithm, AbrChoice, AbrView, abr_algorithm
from minitopo_dc.pdcp import LegView, SplitPolicy, split_policy
from minitopo_dc.quic.scheduler import PathScheduler, PathView, path_scheduler
from minitopo_dc.quic.stack import Stack, shared_object
from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.programs import Tool
from minitopo_dc.runners.sans_io.runner import MultipathStackRunner, StackRunner
from minitopo_dc.workloads import Column, Measure, Measurement, RowsFigure, Workload, workload
from minitopo_dc.workloads.exchange import (
    Answers,
    Client,
    Content,
    Outcome,
    Request,
    Requests,
    Server,
)

__all__ = [
    "AbrAlgorithm",
    "AbrChoice",
    "AbrView",
    "Answers",
    "AtQueue",
    "CellScheduler",
    "CellUser",
    "Client",
    "Column",
    "Content",
    "LegView",
    "Measure",
    "Measurement",
    "MultipathStackRunner",
    "Outcome",
    "PathScheduler",
    "PathView",
    "QueueDiscipline",
    "Request",
    "Requests",
    "RowsFigure",
    "Runner",
    "Server",
    "SplitPolicy",
    "Stack",
    "StackRunner",
    "Tool",
    "Transfer",
    "TransferFailed",
    "Verdict",
    "Workload",
    "abr_algorithm",
    "cell_scheduler",
    "congested",
    "path_scheduler",
    "queue_discipline",
    "runner",
    "shared_object",
    "split_policy",
    "workload",
]
