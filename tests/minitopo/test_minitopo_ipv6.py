"""IPv6 addresses for the IPv4 ones of a checkout's topologies."""

from __future__ import annotations

import pytest

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.checkout import ipv6_of
from minitopo_dc.topologies.host import in_ipv6


@pytest.mark.parametrize("address", ["10.0.1.2", "10.2.1.0/24", "10.3.0.0/16"])
def test_addresses_are_those_of_our_own_hosts(address: str) -> None:
    assert ipv6_of(address) == in_ipv6(address)


def test_any_subnet_of_a_file_has_addresses() -> None:
    assert ipv6_of("192.168.4.1/24") == "fd00:192:168:4::1/64"
    assert ipv6_of("fd00::1") == "fd00::1"


def test_a_network_that_does_not_end_at_a_byte_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"10\.0\.0\.0/20: allowed are networks of 8, 16"):
        ipv6_of("10.0.0.0/20")
