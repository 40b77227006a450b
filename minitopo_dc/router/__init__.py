"""Settings and results of a router host (gnb, ue), the same on both clocks."""

from minitopo_dc.router.settings import (
    READY,
    Backend,
    ChosenCore,
    Core,
    ElementLeg,
    ElementSettings,
    Match,
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
    "Match",
    "NextHop",
    "ReceiveBearer",
    "ReportLeg",
    "ReportPath",
    "TransmitBearer",
    "WifiEnd",
    "WireLeg",
    "wifi_paths",
]
