"""Adaptive bitrate (ABR): which quality of a segment a player asks for."""

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
