"""PDCP of TS 38.323 without input or output: numbering, splitting, reordering.

Time is an argument (int ns), an SDU is whatever the caller hands in.
"""

from minitopo_dc.pdcp.codec import PduError, SnFormat, sn_format
from minitopo_dc.pdcp.policy import (
    BatchPolicy,
    DuplicatePolicy,
    PolicyError,
    SplitPolicy,
    make_policy,
    policy_names,
    split_policy,
)
from minitopo_dc.pdcp.receive import Delivery, ReceivingEntity
from minitopo_dc.pdcp.statistics import ReceiveStatistics, TransmitStatistics, WaitingTime
from minitopo_dc.pdcp.t_reordering import T_REORDERING_VALUES, check_t_reordering
from minitopo_dc.pdcp.trailer import append_trailer, split_trailer
from minitopo_dc.pdcp.transmit import Pdu, TransmittingEntity

__all__ = [
    "T_REORDERING_VALUES",
    "BatchPolicy",
    "Delivery",
    "DuplicatePolicy",
    "Pdu",
    "PduError",
    "PolicyError",
    "ReceiveStatistics",
    "ReceivingEntity",
    "SnFormat",
    "SplitPolicy",
    "TransmitStatistics",
    "TransmittingEntity",
    "WaitingTime",
    "append_trailer",
    "check_t_reordering",
    "make_policy",
    "policy_names",
    "sn_format",
    "split_policy",
    "split_trailer",
]
