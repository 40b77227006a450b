"""An emulated radio link, one direction at a time: sans-IO, time is an argument (ns)."""

from __future__ import annotations

from minitopo_dc.link.any_leg import AnyLeg
from minitopo_dc.link.capacity import Capacity, ConstantCapacity, RateCapacity, make_capacity
from minitopo_dc.link.delay import ConstantDelay, DelayModel, NormalDelay, UniformDelay
from minitopo_dc.link.delay_curve import DelayCurve, curve_delay_ns, delay_steps
from minitopo_dc.link.leg import Leg, LegParameters, LegStatistics
from minitopo_dc.link.loss import Bernoulli, GilbertElliott, LossModel
from minitopo_dc.link.opportunities import OpportunityCapacity
from minitopo_dc.link.rlc_leg import RlcLeg
from minitopo_dc.link.rlc_parameters import RlcMode, RlcParameters, RlcStatistics
from minitopo_dc.link.wifi_leg import WifiLeg
from minitopo_dc.link.wifi_medium import WifiMedium
from minitopo_dc.link.wifi_parameters import (
    Aggregation,
    ErrorBursts,
    WifiParameters,
    WifiStatistics,
)
from minitopo_dc.link.wifi_path import WifiPath, WiredPart
from minitopo_dc.link.wifi_timing import goodput_bps, saturated_bps

__all__ = [
    "Aggregation",
    "AnyLeg",
    "Bernoulli",
    "Capacity",
    "ConstantCapacity",
    "ConstantDelay",
    "DelayCurve",
    "DelayModel",
    "ErrorBursts",
    "GilbertElliott",
    "Leg",
    "LegParameters",
    "LegStatistics",
    "LossModel",
    "NormalDelay",
    "OpportunityCapacity",
    "RateCapacity",
    "RlcLeg",
    "RlcMode",
    "RlcParameters",
    "RlcStatistics",
    "UniformDelay",
    "WifiLeg",
    "WifiMedium",
    "WifiParameters",
    "WifiPath",
    "WifiStatistics",
    "WiredPart",
    "curve_delay_ns",
    "delay_steps",
    "goodput_bps",
    "make_capacity",
    "saturated_bps",
]
