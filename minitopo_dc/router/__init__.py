"""What a router host (gnb, ue) is told and what it writes down, the same on both clocks."""

from minitopo_dc.router.settings import (
    READY,
    Backend,
    ChosenCore,
    Core,
    ElementLeg,
    ElementSettings,
    NextHop,
    ReceiveBearer,
    ReportLeg,
    ReportPath,
    TransmitBearer,
    WifiEnd,
    WireLeg,
    wifi_paths,
)

__all__ = [
    "READY",
    "Backend",
    "ChosenCore",
    "Core",
    "ElementLeg",
    "ElementSettings",
    "NextHop",
    "ReceiveBearer",
    "ReportLeg",
    "ReportPath",
    "TransmitBearer",
    "WifiEnd",
    "WireLeg",
    "wifi_paths",
]
