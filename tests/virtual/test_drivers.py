"""The element's drivers on the virtual clock, packet by packet, and what a split policy sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from minitopo_dc.pdcp import LegReport, LegView, split_policy
from minitopo_dc.runs.element_settings import leg_seed, router_settings
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.virtual.core import Core
from minitopo_dc.virtual.network import START_NS, Flow, Packet
from minitopo_dc.virtual.run import run_virtual
from tests.native.extension import needs_native
from tests.virtual.scenarios import leg, scenario

MS = 1_000_000
FAR = START_NS * 1000
SERVER = (server_address(), 4433)


class Downlink:
    """Both elements of a scenario; what comes out is noted with its time."""

    def __init__(self, directory: Path, core: str = "python", **fields: Any) -> None:
        wanted = scenario(**fields)
        hosts = router_settings(wanted, directory)
        made = Core(wanted.virtual.model_copy(update={"core": core}), hosts)
        self.loop = made.loop
        self.arrived: list[tuple[int, int]] = []
        leg_of = {client_address(number): number for number in (1, 2)}
        processing = round(wanted.virtual.processing_delay_ms * MS)
        self.gnb, self.ue = (
            made.element(settings, leg_of=leg_of, processing_ns=processing, paths={})
            for settings in hosts
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


@pytest.mark.parametrize(
    ("fields", "size", "each_ns", "delay_ms"),
    [
        ({"mode": "sc"}, 1000, 400_000, 10),
        ({"mode": "sc", "virtual": {"processing_delay_ms": 1}}, 1000, 400_000, 10),
        ({"pdcp": {"sn_bits": 18}}, 1003, 401_200, 10),
        # Each element of a bearer adds its processing delay; a plain leg has none.
        (
            {"pdcp": {"sn_bits": 18}, "virtual": {"processing_delay_ms": 1}},
            *(1003, 401_200, 12),
        ),
    ],
)
def test_a_packet_takes_serialisation_and_delay(
    fields: dict[str, Any], size: int, each_ns: int, delay_ms: int, tmp_path: Path
) -> None:
    link = Downlink(tmp_path, legs=[STILL, STILL], **fields)
    link.send(1)
    assert link.gnb.delivered_bytes() == [size, 0]
    assert link.arrived == [(delay_ms * MS + each_ns, 0)]


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


class Seen:
    """What a policy of this module was shown, packet by packet."""

    drains: ClassVar[list[list[int | None]]] = []
    reports: ClassVar[list[LegReport]] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    Seen.drains, Seen.reports = [], []


@split_policy("test-virtual-watcher")
class Watcher:
    """Sends everything on the first leg and notes what it sees."""

    sees_legs: ClassVar[bool] = True

    def __init__(self, legs: int) -> None:
        self._first = range(legs)[:1]

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        Seen.drains.append([view.drain_ns(now=now, more=size) for view in views])
        report = views[0].report
        if report is not None and (not Seen.reports or Seen.reports[-1] != report):
            Seen.reports.append(report)
        return tuple(self._first)


@split_policy("test-virtual-wrong")
class Wrong(Watcher):
    """Names a leg that does not exist, but not at once."""

    def legs(self, *, now: int, size: int, views: Sequence[LegView]) -> tuple[int, ...]:
        super().legs(now=now, size=size, views=views)
        return (len(views),) if len(Seen.drains) == 20 else (0,)


def summary(directory: Path, host: str) -> Any:
    return json.loads((directory / f"{host}-summary.json").read_text())


def run(directory: Path, **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summaries' transmitting and receiving bearer of a run that must succeed."""
    result = run_virtual(scenario(**fields), directory)
    assert result.status == "ok", result.reason
    sent, received = summary(directory, "gnb")["transmit"], summary(directory, "ue")["receive"]
    return sent["1"], received["1"]


def test_a_burst_s_packets_find_the_backlog_of_those_before_them(tmp_path: Path) -> None:
    Downlink(tmp_path, legs=[STILL, STILL], pdcp={"split": "test-virtual-watcher"}).send(3)
    ahead = [1003 * number * 400 for number in range(3)]  # 20 Mbit/s: 400 ns a byte
    assert Seen.drains == [[time + 400_000, 400_000] for time in ahead]


def test_least_delay_takes_the_legs_as_they_are_free(tmp_path: Path) -> None:
    slow = leg(rate_mbps=10, delay_ms=12, jitter_ms=0)
    link = Downlink(tmp_path, legs=[STILL, slow], pdcp={"split": "least-delay"})
    link.send(20)
    assert [index for _, index in link.arrived] == list(range(20))
    # Leg 1 is 2 ms nearer: 6 packets of 0.4 ms go ahead, then two of three.
    assert link.gnb.delivered_bytes() == [15 * 1003, 5 * 1003]


def test_least_delay_leaves_out_a_leg_that_is_down(tmp_path: Path) -> None:
    down = leg(delay_ms=10, jitter_ms=0, outages=[[0.0, 1]])
    link = Downlink(tmp_path, legs=[down, STILL], pdcp={"split": "least-delay"})
    link.loop.run(START_NS)  # the outage begins
    link.send(20)
    assert link.gnb.delivered_bytes() == [0, 20 * 1003]


def test_reports_reach_the_policy_a_leg_later(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"pdcp": {"split": "test-virtual-watcher", "report_ms": 20}}
    sent, received = run(tmp_path / "run", legs=[leg(), leg()], **fields)
    assert received["reports_sent"] >= sent["reports_received"] > 10
    assert (sent["reports_stale"], sent["reports_malformed"]) == (0, 0)
    last = Seen.reports[-1]
    assert 0 < last.delivered_pdus <= received["pdus_1"]
    # Made on the grid of 20 ms; 114 bytes at 20 Mbit/s and 10 ms (1 ms jitter) later it is here.
    for report in Seen.reports:
        assert 5 * MS < (report.at - START_NS) % (20 * MS) < 15 * MS


def test_reports_take_their_part_of_the_uplink(tmp_path: Path) -> None:
    run(tmp_path / "without", workload={"size_mb": 0.1})
    _, received = run(tmp_path / "with", workload={"size_mb": 0.1}, pdcp={"report_ms": 1})
    legs = [summary(tmp_path / name, "ue")["legs"]["1"] for name in ("without", "with")]
    assert received["reports_sent"] > 50
    more = legs[1]["pushed_packets"] - legs[0]["pushed_packets"]
    assert more == received["reports_sent"]
    assert legs[1]["pushed_bytes"] - legs[0]["pushed_bytes"] == 114 * more


def test_an_uplink_in_an_outage_delays_reports_and_a_full_one_loses_them(tmp_path: Path) -> None:
    uplink = {"rate_mbps": 20, "queue_packets": 2, "outages": [[0.2, 0.4]]}
    legs = [leg() | {"uplink": uplink}] * 2
    pdcp = {"split": "test-virtual-watcher", "report_ms": 10}
    sent, received = run(tmp_path / "run", legs=legs, pdcp=pdcp)
    assert sent["reports_received"] < received["reports_sent"] - 10
    assert sent["reports_malformed"] == 0


def test_a_leg_that_does_not_exist_is_a_failed_run_that_says_so(tmp_path: Path) -> None:
    result = run_virtual(scenario(pdcp={"split": "test-virtual-wrong"}), tmp_path / "run")
    assert result.status == "failed"
    assert (
        result.reason
        == "split policy Wrong answered (2,), must be a tuple of legs, each 0 to 1, e.g. (0,)"
    )


def test_while_leg_1_is_down_both_ways_reports_take_leg_2(tmp_path: Path) -> None:
    legs = [{"rate_mbps": 20, "outages": [[0.0, 1000]]}, {"rate_mbps": 20}]
    run(tmp_path, legs=legs, split_uplink=True, pdcp={"split": "least-delay", "report_ms": 20})
    for transmitter, receiver, bearer in (("gnb", "ue", "1"), ("ue", "gnb", "2")):
        sent = summary(tmp_path, transmitter)["transmit"][bearer]
        received = summary(tmp_path, receiver)["receive"][bearer]
        assert received["reports_sent"] - 2 <= sent["reports_received"] <= received["reports_sent"]
        assert sent["reports_received"] > 10
        assert (sent["reports_stale"], sent["reports_malformed"]) == (0, 0)
        on_leg_1 = summary(tmp_path, receiver)["legs"]["1"]["pushed_packets"]
        assert on_leg_1 <= 1  # the first packet is sent at the very moment of the outage's begin


def test_an_uplink_s_reports_tell_what_came_up(tmp_path: Path) -> None:
    run(tmp_path, split_uplink=True, pdcp={"report_ms": 10})
    sent = summary(tmp_path, "ue")["transmit"]["2"]
    received = summary(tmp_path, "gnb")["receive"]["2"]
    assert received["reports_sent"] >= sent["reports_received"] > 20
    assert received["pdus_1"] + received["pdus_2"] == sent["pdus_1"] + sent["pdus_2"] > 0
