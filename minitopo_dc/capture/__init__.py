"""Captures of legs that Wireshark reads (docs/element.md); `layers` has the formats for scapy."""

from minitopo_dc.capture.pcap import (
    CaptureFile,
    Framing,
    frame_start,
    pdu_framing,
    read_capture,
    wall_clock_offset,
)

__all__ = [
    "CaptureFile",
    "Framing",
    "frame_start",
    "pdu_framing",
    "read_capture",
    "wall_clock_offset",
]
