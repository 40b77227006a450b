"""The element's drivers of either core on the virtual clock, packet by packet."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.runs.routers import gnb_settings, leg_seed, ue_settings
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.virtual.core import Core, NativeCore
from minitopo_dc.virtual.loop import START_NS
from minitopo_dc.virtual.packet import Flow, Packet
from tests.native.extension import needs_native
from tests.virtual.scenarios import leg, scenario

MS = 1_000_000
FAR = START_NS * 1000
SERVER = (server_address(), 4433)


class Downlink:
    """Both elements of a scenario; what comes out is noted with its time."""

    def __init__(self, directory: Path, core: str = "python", **fields: Any) -> None:
        made = NativeCore(observed=True) if core == "native" else Core()
        self.loop = made.loop
        self.arrived: list[tuple[int, int]] = []
        wanted = scenario(**fields)
        leg_of = {client_address(number): number for number in (1, 2)}
        processing = round(wanted.virtual.processing_delay_ms * MS)
        self.gnb, self.ue = (
            made.element(settings, leg_of=leg_of, processing_ns=processing, paths={})
            for settings in (gnb_settings(wanted, directory), ue_settings(wanted, directory))
        )
        self.seed = leg_seed(wanted, 1, "downlink")
        self.gnb.connect(self.ue)
        self.ue.connect(self.gnb)
        self.gnb.start()
        self.ue.start()

    def send(
        self, number: int, client: str = client_address(1), size: int = 1000, gap: int = 0
    ) -> None:
        """Send packets `gap` ns apart, `size` bytes each; returns when all is done."""
        flow = Flow(SERVER, (client, 50_000))
        flow.enter, flow.deliver = self.gnb.entrance(flow), self._arrive
        packets = [
            Packet(flow, index.to_bytes(2, "big") + bytes(size - 30)) for index in range(number)
        ]

        for index, packet in enumerate(packets):
            self.loop.timer(partial(flow.enter, packet)).set(START_NS + index * gap)
        self.loop.run(FAR)

    def _arrive(self, packet: Packet) -> None:
        index = int.from_bytes(packet.data[:2], "big")
        self.arrived.append((self.loop.now - START_NS, index))


STILL = leg(delay_ms=10, jitter_ms=0)
UM = {"mode": "um", "block_error_percent": 50}


def test_a_packet_takes_serialisation_and_delay(tmp_path: Path) -> None:
    link = Downlink(tmp_path, mode="sc", legs=[STILL, STILL])
    link.send(2)
    assert link.arrived == [(10 * MS + 400_000, 0), (10 * MS + 800_000, 1)]


@pytest.mark.parametrize("core", ["python", pytest.param("native", marks=needs_native)])
@pytest.mark.parametrize(
    ("fields", "in_order"),
    [
        ({"rlc": UM}, True),
        ({"rlc": UM | {"in_order": False}}, False),
        ({"jitter_ms": 5, "reorder": True}, False),
    ],
)
def test_a_driver_keeps_nothing_longer_than_its_leg(
    core: str, fields: dict[str, Any], in_order: bool, tmp_path: Path
) -> None:
    """Packets come when the leg alone lets them go, though a later one may come first."""
    radio = leg(**{"delay_ms": 10, "jitter_ms": 0} | fields)
    link = Downlink(tmp_path, core, mode="sc", legs=[radio, radio])
    link.send(60, gap=3 * MS)
    alone = scenario(mode="sc", legs=[radio]).legs[0].downlink.build(link.seed)
    alone.start(0)
    found: list[tuple[int, int]] = []
    for index in range(61):
        while (due := alone.next_timeout()) is not None and (index == 60 or due <= 3 * MS * index):
            found += [(due, index) for index in alone.poll(due)]
        if index < 60:
            alone.push(index, 1000, 3 * MS * index)
    assert link.arrived == found
    assert (found == sorted(found, key=lambda each: each[1])) == in_order


def test_a_bearer_adds_its_header_to_each_packet(tmp_path: Path) -> None:
    link = Downlink(tmp_path, legs=[STILL, STILL], pdcp={"sn_bits": 18})
    link.send(1)
    assert link.gnb.delivered_bytes() == [1003, 0]
    assert link.arrived == [(10 * MS + 401_200, 0)]


def test_each_element_of_a_bearer_adds_its_processing_delay(tmp_path: Path) -> None:
    link = Downlink(
        tmp_path,
        legs=[STILL, STILL],
        pdcp={"sn_bits": 18},
        virtual={"processing_delay_ms": 1},
    )
    link.send(1)
    assert link.arrived == [(12 * MS + 401_200, 0)]


def test_a_plain_leg_has_no_processing_delay(tmp_path: Path) -> None:
    link = Downlink(tmp_path, mode="sc", legs=[STILL, STILL], virtual={"processing_delay_ms": 1})
    link.send(1)
    assert link.arrived == [(10 * MS + 400_000, 0)]


def test_the_leg_follows_the_clients_address(tmp_path: Path) -> None:
    link = Downlink(tmp_path, mode="sc", leg=2, legs=[STILL, STILL])
    link.send(3, client=client_address(2))
    assert link.gnb.delivered_bytes() == [0, 3000]


def test_a_lost_pdu_blocks_at_most_t_reordering(tmp_path: Path) -> None:
    lossy = leg(delay_ms=10, jitter_ms=0, queue_packets=1)
    link = Downlink(tmp_path, legs=[lossy, STILL], pdcp={"batch": 2, "t_reordering_ms": 100})
    link.send(4)  # 0 and 2 take leg 1, whose queue holds one
    assert [index for _, index in link.arrived] == [0, 1, 3]
    assert link.arrived[-1][0] == 110 * MS + 2 * 401_200


def test_an_outage_holds_packets_until_its_end(tmp_path: Path) -> None:
    down = leg(delay_ms=10, jitter_ms=0, outages=[[0.00001, 1]])
    link = Downlink(tmp_path, mode="sc", legs=[down, STILL])
    link.send(1)
    [(moment, _)] = link.arrived
    assert moment == pytest.approx(1000 * MS + 10 * MS + 390_000, abs=1)
