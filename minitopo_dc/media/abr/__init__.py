"""Adaptive bitrate (ABR) algorithms: they choose in which quality a player asks for a segment."""

from minitopo_dc.media.abr.algorithm import (
    AbrAlgorithm,
    AbrChoice,
    AbrError,
    AbrView,
    Download,
    Progress,
    abr_algorithm,
    abr_names,
    make_abr,
)

__all__ = [
    "AbrAlgorithm",
    "AbrChoice",
    "AbrError",
    "AbrView",
    "Download",
    "Progress",
    "abr_algorithm",
    "abr_names",
    "make_abr",
]
