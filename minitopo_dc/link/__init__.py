"""Emulated radio links, each direction by itself, without sockets and clocks.

Each call takes the time as an argument, in ns.
"""

from __future__ import annotations

from minitopo_dc.link.any_leg import AnyLeg, LegParameters, LegStatistics
from minitopo_dc.link.capacity import Capacity, OpportunityCapacity, RateCapacity, make_capacity
from minitopo_dc.link.leg import CapacityLeg
from minitopo_dc.link.propagation import (
    Bernoulli,
    ConstantDelay,
    DelayCurve,
    DelayModel,
    GilbertElliott,
    LossModel,
    NormalDelay,
    UniformDelay,
    delay_steps,
)
from minitopo_dc.link.rlc.leg import RlcLeg, make_leg
from minitopo_dc.link.rlc.parameters import RlcMode, RlcParameters, RlcStatistics
from minitopo_dc.link.wifi.leg import WifiLeg
from minitopo_dc.link.wifi.parameters import (
    Aggregation,
    ErrorBursts,
    WifiParameters,
    exchange_ns,
    saturated_bps,
)
from minitopo_dc.link.wifi.path import WifiPath
from minitopo_dc.units import QueueLimit

__all__ = [
    "Aggregation",
    "AnyLeg",
    "Bernoulli",
    "Capacity",
    "CapacityLeg",
    "ConstantDelay",
    "DelayCurve",
    "DelayModel",
    "ErrorBursts",
    "GilbertElliott",
    "LegParameters",
    "LegStatistics",
    "LossModel",
    "NormalDelay",
    "OpportunityCapacity",
    "QueueLimit",
    "RateCapacity",
    "RlcLeg",
    "RlcMode",
    "RlcParameters",
    "RlcStatistics",
    "UniformDelay",
    "WifiLeg",
    "WifiParameters",
    "WifiPath",
    "delay_steps",
    "exchange_ns",
    "make_capacity",
    "make_leg",
    "saturated_bps",
]
