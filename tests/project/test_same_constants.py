"""What stands in two modules is the same in both."""

from __future__ import annotations

from minitopo_dc.emulation.run import real as echoes
from minitopo_dc.runners.icmp import client as icmp_client
from minitopo_dc.runners.processes import udp_socket
from minitopo_dc.simulation import host


def test_an_echo_has_the_data_that_its_serialisation_is_reckoned_with() -> None:
    assert echoes.DATA_BYTES == icmp_client.DATA_BYTES


def test_virtual_and_real_endpoints_read_as_many_datagrams_in_one_step() -> None:
    assert host.BATCH == udp_socket.BATCH
