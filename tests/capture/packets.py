"""IP packets for tests of captures, made by scapy, which shares no code with the library."""

from __future__ import annotations

from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, Raw

SERVER, CLIENT = "10.0.0.2", "10.2.1.2"

addresses = st.ip_addresses(v=4).map(str)
payloads = st.binary(max_size=200)
datagrams = st.builds(
    lambda source, destination, ttl, tos, payload: (
        IP(src=source, dst=destination, ttl=ttl, tos=tos)
        / UDP(sport=4433, dport=50_000)
        / Raw(payload)
    ),
    addresses,
    addresses,
    st.integers(0, 255),
    st.integers(0, 255),
    payloads,
)


def datagram(size: int = 1000) -> bytes:
    """A UDP datagram of `size` bytes in all."""
    return bytes(IP(src=SERVER, dst=CLIENT) / UDP(sport=4433, dport=50_000) / Raw(bytes(size - 28)))


def recomputed(packet: Packet) -> bytes:
    """The same packet with the IP checksum that scapy finds right."""
    copy = packet.copy()
    del copy[IP].chksum
    return bytes(copy)
