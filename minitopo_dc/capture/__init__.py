"""Captures of legs that Wireshark reads (docs/captures.md); `layers` has the formats for scapy."""

from minitopo_dc.capture.framing import Direction, Framing, pdu_framing
from minitopo_dc.capture.pcap import CaptureFile, wall_clock_offset

__all__ = ["CaptureFile", "Direction", "Framing", "pdu_framing", "wall_clock_offset"]
