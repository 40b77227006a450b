"""PDCP for scapy: data PDUs, and PDUs as captures hold them.

- `PdcpData12`, `PdcpData18` (TS 38.323, clauses 6.2.2.2 and 6.2.2.3) and `PdcpData16` (Dual
  Connectivity thesis, section 4.2): the header, then the IP datagram.
  On a leg the header comes behind the datagram: `minitopo_dc.pdcp.split_trailer` parts them.
- `PdcpNrUdp`: Wireshark's framing over UDP with one of the first two in it, so that `rdpcap`
  understands what `--pcap` wrote.

No other module of the library imports scapy.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import (
    AnyField,
    BitEnumField,
    BitField,
    ByteEnumField,
    ByteField,
    ShortField,
    StrFixedLenField,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, bind_layers

from minitopo_dc import capture


def _data_header(reserved_bits: int, sn_bits: int) -> list[AnyField]:
    kind = BitEnumField("dc", 1, 1, {0: "control", 1: "data"})
    return [kind, BitField("reserved", 0, reserved_bits), BitField("sn", 0, sn_bits)]


class _Pdu(Packet):
    """A data PDU without header compression: its payload is an IP datagram."""

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the layer of the payload by the version in the datagram's first byte."""
        version = payload[0] >> 4
        return {4: IP, 6: IPv6}.get(version, conf.raw_layer)


class PdcpData12(_Pdu):
    """Data PDU with a 12-bit SN (TS 38.323, clause 6.2.2.2)."""

    name = "PDCP data, 12-bit SN"
    fields_desc: ClassVar[list[AnyField]] = _data_header(reserved_bits=3, sn_bits=12)


class PdcpData18(_Pdu):
    """Data PDU with an 18-bit SN (TS 38.323, clause 6.2.2.3)."""

    name = "PDCP data, 18-bit SN"
    fields_desc: ClassVar[list[AnyField]] = _data_header(reserved_bits=5, sn_bits=18)


class PdcpData16(_Pdu):
    """A plain 16-bit number before an IP datagram."""

    name = "16-bit number"
    fields_desc: ClassVar[list[AnyField]] = [ShortField("sn", 0)]


class PdcpNrUdp(Packet):
    """Wireshark's framing, with the tags in the order in which captures have them."""

    name = "PDCP-NR over UDP"
    fields_desc: ClassVar[list[AnyField]] = [
        StrFixedLenField("signature", capture.SIGNATURE, len(capture.SIGNATURE)),
        ByteEnumField("plane", capture.USER_PLANE, {1: "signalling", 2: "user"}),
        ByteField("sn_length_tag", capture.SN_LENGTH_TAG),
        ByteField("sn_length", 18),
        ByteField("direction_tag", capture.DIRECTION_TAG),
        ByteEnumField("direction", capture.DIRECTIONS["downlink"], {0: "uplink", 1: "downlink"}),
        ByteField("bearer_type_tag", capture.BEARER_TYPE_TAG),
        ByteField("bearer_type", capture.DEDICATED),
        ByteField("bearer_id_tag", capture.BEARER_ID_TAG),
        ByteField("bearer_id", 1),
        ByteField("ueid_tag", capture.UEID_TAG),
        ShortField("ueid", 1),
        ByteField("payload_tag", capture.PAYLOAD_TAG),
    ]

    def guess_payload_class(self, payload: bytes) -> type[Packet]:  # noqa: ARG002 - scapy's
        """Return the layer of the PDU by the tag with the size of the SN."""
        return {12: PdcpData12, 18: PdcpData18}.get(self.sn_length, conf.raw_layer)


bind_layers(UDP, PdcpNrUdp, sport=capture.PORT, dport=capture.PORT)


def udp_packet(
    source: tuple[str, int], destination: tuple[str, int], traffic_class: int, data: bytes
) -> bytes:
    """Return an IP packet with a UDP datagram and its checksums.

    Args:
        source: the sending socket's address and port.
        destination: the receiving socket's.
        traffic_class: DSCP and ECN, 8 bits (RFC 2474, RFC 3168).
        data: of the datagram.
    """
    (of, sport), (to, dport) = source, destination
    layer, field = (IPv6, "tc") if ip_address(of).version == 6 else (IP, "tos")
    options: Any = {field: traffic_class}
    ip = layer(src=of, dst=to, **options)
    return bytes(ip / UDP(sport=sport, dport=dport) / data)
