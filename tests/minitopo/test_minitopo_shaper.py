"""What Minitopo's queue field means, in packets that a leg holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitopo_dc.minitopo.path_parameters import held_packets
from tests.minitopo.files import read

DELAYS = st.floats(0, 1000)
QUEUES = st.integers(1, 100_000)
RATES = st.floats(0.01, 10_000)
TOPO_3 = "topoType:MultiIf\npath_c2r_0:100,20,4\npath_r2s_0:10,20,10\n"


@pytest.mark.parametrize(
    ("delay_ms", "queue", "rate_mbps", "packets"),
    [
        # topo_3's c2r: 67 packets of a round trip, and 57 ms (of 57.2) at 4 Mbit/s: 129,000 bytes.
        (100, 20, 4, 86),
        # topo_3's r2s: 17 packets, and 22 ms (of 22.9) at 10 Mbit/s: 53,000 bytes.
        (10, 20, 10, 35),
        # topo_1's: 7 and 28 ms, 27 and 85 ms.
        (10, 10, 4, 16),
        (40, 30, 4, 55),
    ],
)
def test_a_shaper_holds_a_round_trip_and_the_queue_field_in_whole_milliseconds(
    delay_ms: float, queue: int, rate_mbps: float, packets: int
) -> None:
    assert held_packets(delay_ms, queue, rate_mbps) == packets


@given(DELAYS, QUEUES, RATES)
def test_a_larger_queue_field_holds_no_less(delay_ms: float, queue: int, rate_mbps: float) -> None:
    packets = [held_packets(delay_ms, queue + more, rate_mbps) for more in (0, 1, 10)]
    assert packets == sorted(packets)


@pytest.mark.parametrize("kind", ["MultiIf", "DualConnectivity"])
def test_the_rule_is_that_of_every_path_and_uplink_of_a_file(kind: str, tmp_path: Path) -> None:
    topology = TOPO_3.replace("MultiIf", kind) + "path_c2r_1:100,20,4\nuplink_c2r_1:10,20,10\n"
    scenario = read(tmp_path, topology).scenario
    queues = [(leg.downlink.queue_packets, leg.uplink.queue_packets) for leg in scenario.legs]
    assert queues == [(86, 86), (86, 35)]
    assert scenario.real.backhaul[0].downlink.queue_packets == 35
