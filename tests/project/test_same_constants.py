"""What stands in two modules is the same in both."""

from __future__ import annotations

import re

import pytest

from minitopo_dc.real.element.kernel import loop
from minitopo_dc.real.run import real as echoes
from minitopo_dc.runners import icmp as icmp_client
from minitopo_dc.runners.processes import udp_socket
from minitopo_dc.virtual import host
from tests import REPOSITORY


def test_an_echo_has_the_data_that_its_serialisation_is_reckoned_with() -> None:
    assert echoes.DATA_BYTES == icmp_client.DATA_BYTES


def test_virtual_and_real_endpoints_read_as_many_datagrams_in_one_step() -> None:
    assert host.BATCH == udp_socket.BATCH


@pytest.mark.parametrize(
    "name", ["LEAD_STEP_NS", "MAX_LEAD_NS", "SLEPT_PER_POLLED", "STALL_NS", "MAX_STALLS"]
)
def test_the_element_s_loop_has_the_same_limits_in_c(name: str) -> None:
    native = REPOSITORY / "minitopo_dc" / "native"
    sources = (native / "element" / "loop.c", native / "native.h")
    text = "".join(source.read_text(encoding="ascii") for source in sources)
    found = re.search(rf"\b{name}(?: =)? (\d+)", text)
    assert found is not None
    assert int(found[1]) == getattr(loop, name)
