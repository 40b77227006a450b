"""An element put together from its settings over queues that are none: what it does, and says."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from minitopo_dc.capture import read_capture
from minitopo_dc.pdcp import LegReception, append_trailer, decode_report, sn_format
from minitopo_dc.real.element import loop as loop_module
from minitopo_dc.real.element import native, process
from minitopo_dc.real.element.loop import ElementError
from minitopo_dc.real.element.rules import leg_mark
from tests.native.extension import needs_native
from tests.real.element.fake_host import LEGS, RADIO, RECEIVER, REFUSED, SENDER, Host
from tests.real.element.fake_netlink import FakeNetlinkQueues
from tests.real.element.fakes import MS, FakePacket, NoInjector, datagram


@pytest.fixture(params=["python", pytest.param("native", marks=needs_native)])
def host(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Host]:
    made = Host(tmp_path, native=request.param == "native")
    monkeypatch.setattr(native, "NetlinkQueues", FakeNetlinkQueues)
    monkeypatch.setattr(native, "Injector", NoInjector)
    monkeypatch.setattr(process, "KernelQueue", made.queue)
    monkeypatch.setattr(process, "KernelLeg", made.kernel_leg)
    monkeypatch.setattr(process, "Recorder", made.recorder)
    monkeypatch.setattr(
        process, "configure_realtime", lambda *, realtime: REFUSED if realtime else []
    )
    monkeypatch.setattr(
        process,
        "read_drops",
        lambda: {q.number: {"queue_full": 0, "socket_full": 7} for q in made.queues},
    )
    monkeypatch.setattr(process, "Injector", NoInjector)
    indices = {"gnb-leg1": 11, "gnb-leg2": 12}

    def index(interface: str) -> int:
        if interface not in indices:
            raise OSError("no interface with this name")
        return indices[interface]

    monkeypatch.setattr(socket, "if_nametoindex", index)
    monkeypatch.setattr(subprocess, "run", made.iptables)
    monkeypatch.setattr(signal, "signal", made.handlers.__setitem__)
    yield made
    for element in made.elements:
        element.close()
    for loop in made.loops:
        loop.close()
    for series in made.series:
        series.close()


def test_captures_have_what_leaves_and_what_arrives(host: Host) -> None:
    element = host.element(pcap="downlink", transmit=[SENDER], receive=[RECEIVER])
    packets = [host.queues[0].put(datagram()), host.queues[1].put(pdu(0), 11)]
    host.run(element, until=decided(*packets))
    with (host.directory / "gnb-leg1.pcap").open("rb") as file:
        lengths = sorted(len(packet) for _, packet in read_capture(file))
    assert lengths == [1000 + 48 + 3] * 2


@pytest.mark.parametrize(("packets", "size"), [(8, 300_000), (1, 30_000)])
def test_captures_that_cannot_be_written_or_completed_end_the_element_with_the_file_s_name(
    packets: int, size: int, host: Host
) -> None:
    element = host.element(pcap="downlink")
    sent = [host.queues[0].put(datagram(60_000)) for _ in range(packets)]
    with pytest.raises(OSError, match=r"File too large: '.*/gnb-leg1\.pcap'"), files_up_to(size):
        host.run(element, until=decided(*sent))
    assert sent[0].verdict == "accept"
    assert not (host.directory / "gnb-summary.json").exists()


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let no file grow beyond a size in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_legs_of_the_kernel_are_not_queued_and_start_together(host: Host) -> None:
    element = host.element(backend="kernel", transmit=[SENDER])
    host.run(element, "start\n", lambda: bool(host.kernel_legs[1].started))
    assert [leg.interface for leg in host.kernel_legs] == ["gnb-leg1", "gnb-leg2"]
    assert host.queued() == [0]
    first, second = (leg.started for leg in host.kernel_legs)
    assert first == second == [host.summary()["start_ns"]]


def test_an_interface_that_is_missing_is_one_error(host: Host) -> None:
    legs = [LEGS[0] | {"interface": "ue-leg1"}]
    with pytest.raises(ElementError, match="ue-leg1"):
        host.element(legs=legs, receive=[RECEIVER | {"legs": [1]}])


def test_an_element_is_ready_only_when_its_rules_are_there(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[object, int]] = []
    monkeypatch.setattr("builtins.print", lambda line, **_: seen.append((line, len(host.rules))))
    host.run(host.element())
    assert seen == [("ready", 2)]
    assert [words[4] for words in host.rules] == ["-A", "-A", "-D", "-D"]


def decided(*packets: FakePacket) -> Callable[[], bool]:
    """Whether each has its verdict."""
    return lambda: all(packet.verdict for packet in packets)


def pdu(sn: int) -> bytes:
    return append_trailer(datagram(), sn_format(18).encode(sn))


def test_a_report_crosses_the_leg_that_is_up_to_its_other_end_and_is_in_its_capture(
    host: Host,
) -> None:
    NoInjector.made.clear()
    ends = [{"leg": n, "source": f"10.1.{n}.1", "destination": f"10.1.{n}.2"} for n in (1, 2)]
    receiver = RECEIVER | {"pdcp": {"report_ms": 20}, "report": {"legs": ends, "port": 9}}
    host.is_native = False  # what C sends goes to the kernel
    element = host.element(pcap="downlink", receive=[receiver])
    packet = host.queues[0].put(pdu(0), 11)
    host.run(element, "start\ndown 1\n", lambda: bool(NoInjector.made[1].sent))
    [sent, *_] = NoInjector.made[1].sent
    assert NoInjector.made[0].sent == []
    assert [packet.verdict, sent[12:20]] == ["accept", bytes((10, 1, 2, 1, 10, 1, 2, 2))]
    report = decode_report(sent[28:], 2)
    assert report.legs == (LegReception(1, 1, 1000, 0, 0), LegReception(0, 0, 0, 0, 0))
    with (host.directory / "gnb-leg2.pcap").open("rb") as file:
        assert sent in [captured for _, captured in read_capture(file)]


def test_a_pdu_comes_up_as_its_sdu_and_counts_for_the_leg_it_came_by(host: Host) -> None:
    element = host.element(receive=[RECEIVER | {"legs": [2, 1]}])
    packets = [host.queues[0].put(pdu(sn), indev) for sn, indev in ((0, 12), (1, 11), (2, 12))]
    host.run(element, until=decided(*packets))
    assert [packet.payload for packet in packets] == [datagram()] * 3
    received = host.summary()["receive"]["2"]
    assert [received["pdus_1"], received["pdus_2"]] == [1, 2]


def test_changes_of_legs_count_from_the_order_to_start(host: Host) -> None:
    changes = [{"at_s": 0.1, "loss_percent": 100}]
    element = host.element(legs=[LEGS[0] | {"radio": RADIO | {"changes": changes}}])
    sent: list[FakePacket] = []

    def lost() -> bool:
        sent.append(host.queues[0].put(datagram()))
        return any(packet.verdict == "drop" for packet in sent)

    host.run(element, "start\n", until=lost)
    since_start = loop_module.clock() - host.summary()["start_ns"]
    assert since_start >= 100 * MS
    assert sent[0].verdict == "accept"


def test_the_loop_wakes_for_what_an_order_makes_due(host: Host) -> None:
    changes = [{"at_s": 0.25, "delay_ms": 20}]
    element = host.element(legs=[LEGS[0] | {"radio": RADIO | {"changes": changes}}])
    element._loop.serve(loop_module.clock())
    element.order("start")
    assert element._started is not None
    assert element._loop.due == element._started + 250 * MS


def test_a_leg_that_is_down_holds_its_packets_until_it_is_up(host: Host) -> None:
    element = host.element()
    loop = element._loop
    reached = []
    packets = [queue.put(datagram()) for queue in host.queues]
    element.order("down 1")
    for queue in host.queues:
        queue.read()
    for order in ("down 1", "up 1"):
        element.order(order)
        loop.serve(loop_module.clock() + MS)
        reached.append([packet.verdict for packet in packets])
    assert reached == [["", "accept"], ["accept", "accept"]]


@pytest.mark.parametrize("order", ["", "start now", "down 3", "up one", "Start"])
def test_an_unknown_order_ends_the_element_without_a_summary_and_without_its_rules(
    order: str, host: Host
) -> None:
    element = host.element()
    with pytest.raises(ElementError, match=f"unknown order '{order}'; allowed: start, down LEG, "):
        host.run(element, f"{order}\n", until=lambda: False)
    assert not (host.directory / "gnb-summary.json").exists()
    actions = [words[4] for words in host.rules]
    assert actions.count("-A") == actions.count("-D") == 2


def test_the_summary_has_the_last_counters_and_what_the_kernel_says(host: Host) -> None:
    before = time.time_ns()
    element = host.element(transmit=[SENDER], receive=[RECEIVER])
    host.run(element, "start\n", lambda: bool(element._started), by=signal.SIGINT)
    summary = host.summary()
    assert [list(summary[name]) for name in ("legs", "transmit", "receive")] == [
        *(["1", "2"], ["1"], ["2"])
    ]
    assert summary["kernel_drops"] == {
        str(number): {"queue_full": 0, "socket_full": 7} for number in range(4)
    }
    assert [summary["refused_by_kernel"], summary["kernel_changes"]] == [REFUSED, {}]
    assert summary["cpu_s"] > 0
    assert sum(summary["timer_lateness_log2_ns"]) > 0
    started = summary["start_ns"] + summary["wall_clock_offset_ns"]
    assert before - 10 * MS < started < time.time_ns() + 10 * MS


def test_an_sdu_gets_a_number_and_the_leg_of_its_policy_and_what_was_none_is_counted_by_why(
    host: Host,
) -> None:
    element = host.element(transmit=[SENDER | {"pdcp": {"ratio": [0, 1]}}])
    payloads = (b"", datagram(options=b"\x83\3\4\0"), datagram(ttl=1), datagram(ttl=0), datagram())
    packets = [host.queues[0].put(payload) for payload in payloads]
    host.run(element, until=decided(*packets))
    sdu = packets[-1]
    assert [sdu.verdict, sdu.mark, sdu.payload] == ["accept", leg_mark(2), pdu(0)]
    counters = host.summary()["transmit"]["1"]
    names = ("malformed", "refused_options", "handed_back", "sdus", "pdus_2")
    assert [counters[name] for name in names] == [1, 1, 2, 1, 1]


def test_without_real_time_nothing_of_it_is_asked_for_and_series_have_two_rows(host: Host) -> None:
    host.run(host.element(realtime=False))
    assert [host.summary()[name] for name in ("refused_by_kernel", "start_ns")] == [[], None]
    rows = (host.directory / "gnb-legs.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows] == ["leg", "1", "2", "1", "2"]


@pytest.mark.parametrize("backend", ["user", "kernel"])
def test_closing_gives_back_everything(backend: str, host: Host) -> None:
    NoInjector.made.clear()
    element = host.element(backend=backend, transmit=[SENDER])
    assert len(NoInjector.made) == 2
    element.close()
    assert all(queue.closed for queue in host.queues)
    assert all(injector.closed for injector in NoInjector.made)
    assert all(leg.closed for leg in host.kernel_legs)
