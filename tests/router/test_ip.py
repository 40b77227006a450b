"""The ICMP errors of a leg that is too narrow, as scapy reads them."""

from __future__ import annotations

import pytest
from scapy.layers.inet import ICMP, IP, TCP, IPerror, TCPerror
from scapy.layers.inet6 import ICMPv6PacketTooBig, IPerror6, IPv6

from minitopo_dc.router.ip import too_big


@pytest.mark.parametrize(("of_bearer", "mtu"), [(False, 1400), (True, 1397)])
def test_an_ipv4_source_is_told_of_the_mtu(of_bearer: bool, mtu: int) -> None:
    sent = bytes(
        IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=443, dport=5, seq=77) / (b"x" * 1460)
    )
    made = too_big(sent, 1400, of_bearer=of_bearer)
    seen = IP(made)
    assert (seen.src, seen.dst, seen[ICMP].type, seen[ICMP].code) == ("10.0.0.2", "10.0.0.1", 3, 4)
    assert seen[ICMP].nexthopmtu == mtu
    assert (seen[IPerror].len, seen[TCPerror].seq) == (1500, 77)
    del seen[IP].chksum, seen[ICMP].chksum
    assert bytes(seen) == made


def test_an_ipv6_source_is_told_of_the_mtu() -> None:
    sent = bytes(IPv6(src="fd00::1", dst="fd00::2") / TCP(sport=443, seq=77) / (b"x" * 1440))
    made = too_big(sent, 1400, of_bearer=False)
    seen = IPv6(made)
    assert (seen.src, seen.dst, len(made)) == ("fd00::2", "fd00::1", 1280)
    assert seen[ICMPv6PacketTooBig].mtu == 1400
    assert seen[IPerror6].src == "fd00::1"
    checksum = seen[ICMPv6PacketTooBig].cksum
    del seen[ICMPv6PacketTooBig].cksum
    assert IPv6(bytes(seen))[ICMPv6PacketTooBig].cksum == checksum
