"""Legs on real packets: changes, RLC, marks, a small MTU, cells, one that goes down."""

from __future__ import annotations

import csv
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from minitopo_dc.fields import IpVersion
from minitopo_dc.link.discipline import Ecn
from minitopo_dc.real.element.loop import inside
from minitopo_dc.real.hosts import EmulatedHost
from minitopo_dc.real.run import run_real
from minitopo_dc.runners.processes.udp_socket import receive_with_ecn, set_receive_buffer, use_ecn
from minitopo_dc.scenario.addresses import client_address, server_address
from minitopo_dc.virtual import run as virtual
from tests import long
from tests.native.extension import needs_native
from tests.real.testbed import INSTANT, in_order, ok, output, running_testbed, scenario
from tests.virtual.scenarios import leg
from tests.virtual.scenarios import scenario as whole_scenario

pytestmark = pytest.mark.root
RATE = 1000
"""Packets a second. Sending begins when its process has started: the changes leave it 1 s."""
MARKED_PACKETS, PORT = 300, 5001
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
MTU = {4: (socket.IPPROTO_IP, 14, 10), 6: (socket.IPPROTO_IPV6, 24, 23)}
"""The options of a connected socket that tell the path's MTU, and forbid fragments (linux/in.h)."""
FORBID = 2


def probe_each(
    directory: Path, seconds: float, *downlinks: dict[str, Any]
) -> tuple[list[pd.DataFrame], int]:
    """What met legs at the same time, and when they were started."""
    legs = [{"downlink": downlink, "uplink": INSTANT} for downlink in downlinks]
    with running_testbed(scenario("sc", legs=legs), directory) as bed, ThreadPoolExecutor() as pool:
        bed.gnb.order("start")
        numbers = range(1, len(legs) + 1)
        arrivals = list(pool.map(lambda number: bed.probe(RATE, seconds, leg=number), numbers))
        return arrivals, int(bed.gnb.stop()["start_ns"])


@pytest.mark.alone
def test_delay_loss_and_rate_change_at_their_moments_and_keep_the_rest(tmp_path: Path) -> None:
    """Leg 1 changes its delay, then its loss; of 9.6 Mbit/s leg 2 lets 4.8 pass from 1 s on."""
    changes = [{"at_s": 1, "delay_ms": 40}, {"at_s": 1.6, "loss_percent": 50}]
    slower = [{"at_s": 1, "rate_mbps": 4.8}]
    (first, second), start = probe_each(
        tmp_path, 2, *(INSTANT | {"delay_ms": 10, "changes": made} for made in (changes, slower))
    )
    sent_s, delays = (first.sent - start) / 1e9, first.delays_ms
    first_late = sent_s[delays > 30].iloc[0]
    assert abs(first_late - 1) < 0.02
    assert abs(np.median(delays[sent_s < 0.98]) - 10) < 2
    assert abs(np.median(delays[sent_s > 1.02]) - 40) < 2
    missing = np.setdiff1d(np.arange(first.number.iloc[-1]), first.number)
    first_lost_s = np.interp(missing[0], first.number, sent_s)
    assert abs(first_lost_s - 1.6) < 0.05
    assert 0.35 < len(missing) / (first.number.iloc[-1] - missing[0]) < 0.65

    received_s = (second.received - start) / 1e9
    assert len(second.number) == 2 * RATE
    before = second.delays_ms[received_s < 1]
    assert before.size, "nothing arrived in the first second"
    assert abs(np.median(before) - 10) < 2
    after = received_s[(received_s > 1.1) & (received_s < 2)]
    rate_mbps = 1200 * 8 * (len(after) - 1) / (after.iloc[-1] - after.iloc[0]) / 1e6
    assert abs(rate_mbps - 4.8) < 0.1


@pytest.mark.long
@pytest.mark.alone
def test_a_delay_trace_is_followed_and_begins_again(tmp_path: Path) -> None:
    """Half a second at 10 ms, half at 60 ms, and so on, whenever the process has started."""
    trace = tmp_path / "delays.csv"
    trace.write_text("time_s,delay_ms\n0,10\n0.5,60\n")
    downlink = {"rate_mbps": 1000, "delay_trace": str(trace), "jitter_ms": 0}
    (arrivals,), start = probe_each(tmp_path, 1.5, downlink)
    phase_s, delays = (arrivals.sent - start) / 1e9 % 1, arrivals.delays_ms
    assert abs(np.median(delays[(phase_s > 0.05) & (phase_s < 0.45)]) - 10) < 2
    assert abs(np.median(delays[(phase_s > 0.55) & (phase_s < 0.95)]) - 60) < 2


@needs_native
@pytest.mark.alone
@pytest.mark.parametrize("core", ["native", "python"])
def test_a_terminal_sleeps_while_it_neither_receives_nor_sends(tmp_path: Path, core: str) -> None:
    """It listens on 2 of 40 ms: a packet waits for 38^2 / 80 = 18 ms on average, but no reply."""
    drx = {"on_ms": 2, "inactivity_ms": 20, "cycle_ms": 40}
    radio = INSTANT | {"rlc": {"block_error_percent": 0, "slot_ms": 0.5, "drx": drx}}
    with running_testbed(scenario("sc", legs=[radio], real={"core": core}), tmp_path) as bed:
        bed.start()
        delays = bed.probe(11, 6).delays_ms
        ping = output(bed.hosts.client, "ping", "-qc40", "-i0.11", server_address())
        cores = [summary["core"] for summary in bed.stop()]
    average = float(ping.rpartition(" = ")[2].split("/")[1])
    assert abs(np.mean(delays) - 18) < 6
    assert average < 8
    assert cores == [core, core]
    assert not list(tmp_path.glob("*.shown"))


@pytest.mark.alone
def test_a_leg_that_is_down_delays_packets_until_it_is_up(tmp_path: Path) -> None:
    wanted = scenario("sc", INSTANT | {"outages": [[0.5, 1.0]]})
    with running_testbed(wanted, tmp_path) as bed:
        arrivals = bed.probe(1000, 1.5, starts=True)
    assert len(arrivals.number) == 1500
    assert 300 < arrivals.delays_ms.max() < 600


def test_a_transfer_over_two_of_three_legs_goes_on_when_one_of_them_goes_down(
    tmp_path: Path,
) -> None:
    link, down_from_s = {"rate_mbps": 10, "delay_ms": 10}, 2.0
    usual: dict[str, Any] = {"downlink": link, "uplink": link}
    values = {
        "transport": "tcp",
        "mode": "dc",
        "legs": [usual, usual, usual | {"outages": [[down_from_s, 1000]]}],
        "pdcp": {"split": "least-delay", "legs": [1, 3]},
        "split_uplink": True,
        "uplink_pdcp": {"split": "duplicate"},
        "workload": {"size_mb": 6},
        "timeout_s": 60,
    }
    result = ok(tmp_path, **values)
    assert result.completion_s is not None
    assert result.completion_s > down_from_s
    ends = (json.loads((tmp_path / f"{end}-summary.json").read_text()) for end in ("gnb", "ue"))
    down, up = (
        {int(leg): counts["delivered_bytes"] for leg, counts in end["legs"].items()} for end in ends
    )
    most = down_from_s * 10e6 / 8
    assert 0.1 * most < down[3] < most
    assert down[1] > 1.5 * down[3]
    assert min(up[1], up[3]) > 0
    assert down[2] == up[2] == 0


def held(host: EmulatedHost) -> int:
    """Packets that the kernel keeps until somebody gives their verdict."""
    lines = output(host, "cat", "/proc/net/netfilter/nfnetlink_queue").splitlines()
    assert lines, "no queue of the element's"
    return sum(int(line.split()[2]) for line in lines)  # number, port, packets that wait, ...


@pytest.mark.parametrize(
    ("rlc", "lost"),
    [
        ({"block_error_percent": 10}, 0),
        ({"mode": "um", "block_error_percent": 50, "harq_retransmissions": 1}, 0.25),
    ],
)
def test_what_rlc_and_harq_lose_is_let_go_and_all_else_arrives(
    rlc: dict[str, Any], lost: float, tmp_path: Path
) -> None:
    downlink = {"rate_mbps": 20, "delay_ms": 10, "jitter_ms": 0, "rlc": rlc}
    with running_testbed(scenario("sc", downlink), tmp_path) as bed:
        bed.gnb.order("start")
        arrivals = bed.probe(500, 2, size=1000)
        left, counters = held(bed.hosts.gnb), bed.gnb.stop()["legs"]["1"]
    assert (left, counters["queue_packets"], counters["air_packets"]) == (0, 0, 0)
    assert counters["dropped_radio"] == counters["pushed_packets"] - counters["delivered_packets"]
    if lost:
        assert len(arrivals.number) == pytest.approx(1000 * (1 - lost), abs=100)
        return
    assert len(arrivals.number) == 1000
    assert in_order(arrivals)
    assert 0.05 < counters["harq_retransmissions"] / counters["blocks"] < 0.2
    # At least one round trip for one packet in ten, and for those that wait for it.
    assert np.percentile(arrivals.delays_ms, 99) > 18


@contextmanager
def udp_socket(host: EmulatedHost, version: IpVersion) -> Any:
    with inside(host.pid):
        made = socket.socket(FAMILIES[version], socket.SOCK_DGRAM)
    with made:
        yield made


def wait_until(is_over: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not is_over() and time.monotonic() < until:
        time.sleep(0.01)


@needs_native
@pytest.mark.parametrize(("core", "version"), [long("native", 4), ("native", 6), ("python", 4)])
def test_the_receiver_counts_the_marks_of_both_legs(
    core: str, version: IpVersion, tmp_path: Path
) -> None:
    """300 packets at once over two legs of 2 Mbit/s: those that wait for over 20 ms are marked."""
    link = {"rate_mbps": 2, "delay_ms": 1, "jitter_ms": 0, "queue_packets": 1000}
    step = {"queue_discipline": "step", "queue_parameters": {"threshold_ms": 20}}
    asked = scenario("dc", link | step, real={"core": core}, ip_version=version, pdcp={"batch": 2})
    came: list[int] = []

    def is_over(receiver: socket.socket) -> bool:
        came.extend(ecn for _, _, ecn in receive_with_ecn(receiver))
        return len(came) == MARKED_PACKETS

    with running_testbed(asked, tmp_path) as bed:
        bed.start()
        hosts = bed.hosts
        with (
            udp_socket(hosts.client, version) as receiver,
            udp_socket(hosts.server, version) as udp,
        ):
            to = client_address(1, version), PORT
            receiver.bind(to)
            set_receive_buffer(receiver, 4 << 20)
            for end in (receiver, udp):
                use_ecn(end, Ecn.ECT_0)
            for _ in range(MARKED_PACKETS):
                udp.sendto(bytes(1000), to)
            wait_until(lambda: is_over(receiver))
        legs = bed.stop()[0]["legs"].values()
    assert set(came) == {Ecn.ECT_0, Ecn.CE}
    assert len(came) == MARKED_PACKETS
    assert came.count(Ecn.CE) == sum(leg["marked_packets"] for leg in legs)
    # A packet takes 4 ms: the last half of each leg's 150 waits for about 300 ms and more.
    assert min(leg["marked_packets"] for leg in legs) > MARKED_PACKETS / 4


@pytest.mark.parametrize(
    ("mode", "version", "mtu"), [("sc", 6, 1300), ("dc", 4, 1297), ("sc", 4, None)]
)
def test_a_kernel_learns_the_mtu_of_a_leg_unless_it_is_a_black_hole(
    tmp_path: Path, mode: str, version: IpVersion, mtu: int | None
) -> None:
    narrow = INSTANT | {"mtu_bytes": 1300} | ({} if mtu is None else {"mtu_icmp": True})
    with running_testbed(scenario(mode, narrow, ip_version=version), tmp_path) as bed:
        level, path_mtu, discover = MTU[version]
        with udp_socket(bed.hosts.server, version) as sender:
            sender.setsockopt(level, discover, FORBID)
            sender.connect((client_address(1, version), PORT))
            sender.send(bytes(1400))
            wait_until(lambda: sender.getsockopt(level, path_mtu) != 1500)
            seen = sender.getsockopt(level, path_mtu)
        legs = bed.stop()[0]["legs"].values()
    assert seen == (mtu or 1500)
    assert sum(leg["dropped_mtu"] for leg in legs) == 1


def served_mbps(directory: Path) -> list[float]:
    """Return what each user of the cell was served between 1 and 3 s after the start."""
    start = json.loads((directory / "gnb-summary.json").read_text())["start_ns"]
    with (directory / "gnb-cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first, last = (
        next(row for row in rows if int(row["time_ns"]) - start >= second * 10**9)
        for second in (1, 3)
    )
    seconds = (int(last["time_ns"]) - int(first["time_ns"])) / 1e9
    names = [name for name in first if name.startswith("served_bytes")]
    return [8e-6 * (int(last[name]) - int(first[name])) / seconds for name in names]


@pytest.mark.long
def test_a_greedy_user_has_half_of_the_cell_on_both_clocks(tmp_path: Path) -> None:
    full = {"kind": "full", "rate_mbps": 10}
    fields = {
        "transport": "quic-picoquic",
        "mode": "sc",
        "legs": [leg(rate_mbps=10, delay_ms=5, queue_packets=60)],
        "cells": [{"legs": [1], "scheduler": "round-robin", "background": [full]}],
        "workload": {"duration_s": 3.5},
    }
    for clock, run in (("real", run_real), ("virtual", virtual.run_virtual)):
        directory = tmp_path / clock
        directory.mkdir()
        result = run(whole_scenario(clock=clock, **fields), directory)
        assert result.status == "ok", result.reason
        assert served_mbps(directory) == pytest.approx([5, 5], rel=0.03)
    summary = json.loads((tmp_path / "real" / "gnb-summary.json").read_text())
    assert (summary["core"], summary["core_reason"]) == ("python", "it has cells")
