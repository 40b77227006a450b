"""PDCP of TS 38.323 without sockets and clocks: numbering, splitting, reordering.

Each call takes the time as an argument (int ns). An SDU is any object of the caller.
"""

from minitopo_dc.pdcp.classify import PacketFacts, classify_datagram, classify_udp, flow_id
from minitopo_dc.pdcp.codec import (
    SN_BITS,
    Pdu,
    PduError,
    SnFormat,
    append_trailer,
    sn_format,
    split_trailer,
)
from minitopo_dc.pdcp.policies.best_leg import LeastDelayPolicy
from minitopo_dc.pdcp.policies.policy import (
    BatchPolicy,
    DuplicatePolicy,
    PolicyError,
    SplitPolicy,
    make_policy,
    policy_needs,
    sees_legs,
    split_policy,
)
from minitopo_dc.pdcp.policies.proportional import ProportionalPolicy
from minitopo_dc.pdcp.policies.view import LegQueue, LegReport, LegView
from minitopo_dc.pdcp.receiving import Delivery, ReceivingEntity
from minitopo_dc.pdcp.report import LegReception, Report, ReportMaker, StatusReport, decode_report
from minitopo_dc.pdcp.statistics import (
    HoldingStatistics,
    ReceiveStatistics,
    TransmitStatistics,
    WaitingTime,
)
from minitopo_dc.pdcp.timers import DISCARD_TIMER_MS, INFINITE, T_REORDERING_MS, Timer
from minitopo_dc.pdcp.transmitting.buffers import Recovery, SduBuffer
from minitopo_dc.pdcp.transmitting.duplication import (
    SMALL_BYTES,
    DuplicationRule,
    SelectiveDuplication,
)
from minitopo_dc.pdcp.transmitting.entity import TransmittingEntity
from minitopo_dc.pdcp.transmitting.feedback import Feedback, LegFailures
from minitopo_dc.pdcp.transmitting.flow_control import FlowControl

__all__ = [
    "DISCARD_TIMER_MS",
    "INFINITE",
    "SMALL_BYTES",
    "SN_BITS",
    "T_REORDERING_MS",
    "BatchPolicy",
    "Delivery",
    "DuplicatePolicy",
    "DuplicationRule",
    "Feedback",
    "FlowControl",
    "HoldingStatistics",
    "LeastDelayPolicy",
    "LegFailures",
    "LegQueue",
    "LegReception",
    "LegReport",
    "LegView",
    "PacketFacts",
    "Pdu",
    "PduError",
    "PolicyError",
    "ProportionalPolicy",
    "ReceiveStatistics",
    "ReceivingEntity",
    "Recovery",
    "Report",
    "ReportMaker",
    "SduBuffer",
    "SelectiveDuplication",
    "SnFormat",
    "SplitPolicy",
    "StatusReport",
    "Timer",
    "TransmitStatistics",
    "TransmittingEntity",
    "WaitingTime",
    "append_trailer",
    "classify_datagram",
    "classify_udp",
    "decode_report",
    "flow_id",
    "make_policy",
    "policy_needs",
    "sees_legs",
    "sn_format",
    "split_policy",
    "split_trailer",
]
