"""QUIC stacks on the real clock: what their runners do beyond what every runner does."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.fields import PathEvent, PathPlan
from minitopo_dc.quic.connection import Datagram
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.runners.base import Transfer, TransferFailed, accepted, get_runner
from minitopo_dc.runners.sans_io.endpoint import Sockets
from minitopo_dc.runners.sans_io.runner import MultipathPicoquicRunner, PicoquicRunner
from minitopo_dc.scenario import Scenario
from minitopo_dc.workloads import Download, Measurement, Realtime, Workload
from tests import REPOSITORY
from tests.quic.extension import each_stack, needs_picoquic
from tests.runners.hosts import (
    CLIENT_ADDRESSES,
    TwoHosts,
    local_transfer,
    run_transfer,
    told,
    transfer_between,
    transfer_in,
)

LOOPBACK = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
SIZE = 2_000_000


def local(directory: Path, workload: Workload, **fields: Any) -> Transfer:
    return local_transfer(directory, workload, **{"client_addresses": LOOPBACK[:1], **fields})


def done(name: str, transfer: Transfer) -> Measurement:
    return run_transfer(get_runner(name), transfer)


@each_stack
def test_a_download_tells_what_was_negotiated_and_how_it_went(tmp_path: Path, stack: str) -> None:
    measured = done(f"quic-{stack}", local(tmp_path, Download(size_mb=2)))
    details = measured.details
    assert measured.bytes_received == SIZE
    assert details[stack].startswith("1.")
    assert (details["quic_version"], details["multipath"]) == (1, False)
    assert details["congestion_control"] == "cubic"
    assert details["server_datagrams_sent"] > SIZE / 1200
    assert details["server_datagrams_received"] > 5
    assert details["receive_buffer_bytes"] > 4096
    assert 0 < details["handshake_s"] < details["first_byte_s"] < measured.completion_s
    assert "paths" not in details
    assert measured.path_samples == ()


@needs_picoquic
@pytest.mark.parametrize("name", ["reno", "prague"])
def test_the_congestion_control_is_the_one_asked_for(tmp_path: Path, name: str) -> None:
    wanted = local(tmp_path, Download(size_mb=0.1), congestion_control=name)
    used = {"reno": "newreno"}.get(name, name)
    assert done("quic-picoquic", wanted).details["congestion_control"] == used


@each_stack
@pytest.mark.parametrize("legs", [2, 3])
def test_every_path_is_told_with_what_it_carried(tmp_path: Path, stack: str, legs: int) -> None:
    wanted = local(tmp_path, Download(size_mb=8), client_addresses=LOOPBACK[:legs])
    measured = done(f"mpquic-{stack}", wanted)
    paths = measured.details["paths"]
    assert sorted(path["leg"] for path in paths) == list(range(1, legs + 1))
    assert sum(path["bytes_sent"] for path in paths) > 8_000_000
    for path in paths:
        assert path["bytes_sent"] > 100_000
        assert path["closed_s"] is None
        started = measured.details["started_s"]
        assert started <= path["opened_s"] <= started + measured.completion_s
    assert {sample.leg for sample in measured.path_samples} == set(range(1, legs + 1))
    last = {sample.path: sample.bytes_sent for sample in measured.path_samples}
    assert sorted(last.values(), key=str) == sorted((path["bytes_sent"] for path in paths), key=str)
    assert all(sample.state == "open" for sample in measured.path_samples)


@each_stack
def test_key_frames_come_on_a_connection_of_their_own(tmp_path: Path, stack: str) -> None:
    workload = Realtime(direction="both", gop=5, duration_s=1, key_frame_dscp=46)
    measured = done(f"quic-{stack}", local(tmp_path, workload))
    assert measured.details["lost_frames"] == 0
    assert measured.details["frames"] == 60


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_datagrams_to_or_from_a_marked_address_have_its_code_point(host: str) -> None:
    level, wanted, tells = {
        "127.0.0.1": (socket.IPPROTO_IP, socket.IP_RECVTOS, socket.IP_TOS),
        "::1": (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, socket.IPV6_TCLASS),
    }[host]
    with Sockets([host]) as sending, Sockets([host, host]) as receiving:
        own, others = sending.addresses[0], receiving.addresses
        for udp in receiving.all:
            udp.setsockopt(level, wanted, 1)
        sending.code_points[others[1]] = 46
        sending.send([(b"other", own, others[0]), (b"marked", own, others[1])])
        sending.code_points[own] = 10
        sending.send([(b"from", own, others[0])])
        assert _dscps(receiving.all[0], level, tells, 2) == [0, 10]
        assert _dscps(receiving.all[1], level, tells, 1) == [46]


def _dscps(udp: socket.socket, level: int, tells: int, count: int) -> list[int]:
    """The code points of the next datagrams."""
    udp.settimeout(5)
    found = []
    for _ in range(count):
        _, ancillary, *_ = udp.recvmsg(100, 100)
        [value] = [data for kind, name, data in ancillary if (kind, name) == (level, tells)]
        found.append(value[0] >> 2)
    return found


@needs_picoquic
def test_qlog_of_both_ends_is_kept_and_has_datagrams_of_the_size_asked_for(tmp_path: Path) -> None:
    size = 1472
    options = {"max_datagram_bytes": size, "qlog": True}
    wanted = local(tmp_path, Download(size_mb=0.3), options=options)
    done("quic-picoquic", wanted)
    (log,) = (wanted.directory / "qlog" / "client").iterdir()
    assert "packet_received" in log.read_text(encoding="utf-8")
    (log,) = (wanted.directory / "qlog" / "server").iterdir()
    events = json.loads(log.read_text(encoding="utf-8"))["traces"][0]["events"]
    sent = [each[3]["byte_length"] for each in events if each[2] == "datagram_sent"]
    assert max(sent) == size
    assert sent.count(size) > 0.9 * 300_000 / size


def test_one_path_uses_the_first_address_and_the_paths_their_plan(tmp_path: Path) -> None:
    transfer = transfer_in(tmp_path)
    one, several = PicoquicRunner(), MultipathPicoquicRunner()
    plan = PathPlan((2,), (PathEvent(1.5, "open", 1),))
    read = told(several.client_command(replace(transfer, paths=plan)))
    assert (one.addresses(read), one.plan(read).initial) == (CLIENT_ADDRESSES[:1], (1,))
    assert (several.addresses(read), several.plan(read)) == (CLIENT_ADDRESSES, plan)


class Broken:
    """A socket that cannot send."""

    def __init__(self, reason: int) -> None:
        self._reason = reason

    def sendto(self, *_: object) -> None:
        raise OSError(self._reason, "no")

    def close(self) -> None:
        pass


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        yield udp


def test_what_has_no_way_is_lost_and_ends_nothing(peer: socket.socket) -> None:
    with Sockets(LOOPBACK[:2]) as sockets:
        first, second = sockets.addresses
        sending: dict[object, object] = sockets._by_address  # type: ignore[assignment]
        sockets.all[0].close()
        sending[first] = Broken(errno.ENETUNREACH)
        here = peer.getsockname()
        datagrams: list[Datagram] = [(b"lost", first, here), (b"sent", second, here)]
        sockets.send(datagrams)
        assert peer.recvfrom(10) == (b"sent", second)
        assert sockets.sent == 1
        sending[first] = Broken(errno.EBADF)
        with pytest.raises(OSError, match="no"):
            sockets.send(datagrams)


def test_what_arrives_is_told_with_both_addresses(peer: socket.socket) -> None:
    with Sockets(LOOPBACK[:2]) as sockets:
        first, second = sockets.addresses
        peer.sendto(b"one", first)
        peer.sendto(b"two", second)
        ready = [*sockets.all, peer]  # another one that was waited for
        source = peer.getsockname()
        assert list(sockets.receive(ready)) == [
            (b"one", source, first, 0),
            (b"two", source, second, 0),
        ]
        assert (sockets.received, sockets.drops) == (2, 0)


SERVER = {
    "picoquic": "1.1.53.0",
    "quic_version": 1,
    "multipath": True,
    "congestion_control": "cubic",
    "paths": [{"leg": 1, "opened_s": 100.25, "closed_s": None, "bytes_sent": 10}],
    "path_samples": [{"time_s": 101.0, "leg": 1, "path": 0, "state": "open"}],
}
CLIENT = {
    "bytes_received": 0,
    "sha256": "",
    "completion_s": 2.0,
    "stopped_s": None,
    "error": None,
    "started_ns": 100_200_000_000,
}


def read(directory: Path, client: dict[str, object], server: dict[str, object]) -> Measurement:
    workload = Download(size_mb=1)
    transfer = transfer_in(directory, workload, begin_ns=100_000_000_000)
    transfer.client_output.write_text(json.dumps(client))
    transfer.server_output.write_text(json.dumps(server))
    return get_runner("mpquic-picoquic").read(transfer)


def test_times_of_paths_count_from_time_zero_of_the_legs(tmp_path: Path) -> None:
    measured = read(tmp_path, CLIENT, SERVER)
    (path,) = measured.details["paths"]
    assert (path["opened_s"], path["closed_s"]) == (0.25, None)
    assert measured.path_samples[0].time_s == 1.0


@pytest.mark.parametrize(
    ("client", "server", "words"),
    [
        ({"error": "closed by peer"}, {}, "client: closed by peer"),
        ({"bytes_received": 5, "sha256": "abc"}, {}, "received 5 bytes, not those sent"),
        ({}, {"congestion_control": "newreno"}, "congestion control newreno, not cubic"),
        ({}, {"multipath": False}, "multipath was not negotiated"),
        ({}, {"quic_version": None}, "the server saw no connection"),
    ],
)
def test_what_was_not_asked_for_is_a_failure(
    tmp_path: Path, client: dict[str, object], server: dict[str, object], words: str
) -> None:
    with pytest.raises(TransferFailed, match=words):
        accepted(Download(size_mb=1), read(tmp_path, CLIENT | client, SERVER | server))


@pytest.mark.alone
@needs_picoquic
@pytest.mark.long
@pytest.mark.root
def test_a_schedule_opens_abandons_and_reopens_a_path(hosts: TwoHosts, tmp_path: Path) -> None:
    plan = PathPlan(
        (1,), (PathEvent(1.0, "open", 2), PathEvent(2.0, "abandon", 2), PathEvent(3.0, "open", 2))
    )
    transfer = replace(transfer_between(tmp_path, Download(duration_s=4.0)), paths=plan)
    runner = get_runner("mpquic-picoquic")
    with hosts.limited("10mbit"):
        measured = run_transfer(runner, transfer, hosts.server, hosts.client)
    second = [path for path in measured.details["paths"] if path["leg"] == 2]
    assert [path["opened_s"] for path in second] == [
        pytest.approx(1.0, abs=0.4),
        pytest.approx(3.0, abs=0.4),
    ]
    assert second[0]["closed_s"] == pytest.approx(2.0, abs=0.4)
    assert second[1]["closed_s"] is None
    assert all(path["bytes_sent"] > 400_000 for path in second)
    carried = {leg: bytes_between(measured, leg, 2.5, 2.95) for leg in (1, 2)}
    assert carried[1] > 300_000
    assert carried[2] == 0


def bytes_between(measured: Measurement, leg: int, begin_s: float, end_s: float) -> int:
    """What was sent on a leg, by the samples."""
    by_path: dict[int, list[int]] = {}
    for sample in measured.path_samples:
        if sample.leg == leg and begin_s <= sample.time_s <= end_s and sample.bytes_sent:
            by_path.setdefault(sample.path, []).append(sample.bytes_sent)
    return sum(max(each) - min(each) for each in by_path.values())


def multipath(directory: Path, **fields: Any) -> RunResult:
    """A run on the real clock that must succeed."""
    common: dict[str, Any] = {"transport": "mpquic-picoquic", "mode": "multipath", "clock": "real"}
    result = run_scenario(Scenario.check(common | fields, "test"), directory)
    assert (result.status, result.reason) == ("ok", "")
    return result


LEG = {"rate_mbps": 20, "delay_ms": 10}


@needs_picoquic
@pytest.mark.root
def test_both_programs_have_a_scheduler_of_the_user_s_own(tmp_path: Path) -> None:
    fields = {"legs": [LEG, {"rate_mbps": 10, "delay_ms": 30}], "workload": {"size_mb": 1}}
    example = str(REPOSITORY / "examples" / "shortest_round_trip.py")
    options = {"scheduler": "shortest-round-trip"}
    multipath(tmp_path / "run", **fields, options=options, plugins=[example])


@each_stack
@pytest.mark.root
def test_a_client_tries_the_next_leg_and_opens_another_path_late(
    tmp_path: Path, stack: str
) -> None:
    legs = [LEG | {"outages": [[0, 1000]]}, LEG, LEG]
    paths = {"attempt_delay_ms": 250, "others_after_kb": 1000}
    fields = {"transport": f"mpquic-{stack}", "workload": {"size_mb": 4}}
    result = multipath(tmp_path / "run", legs=legs, paths=paths, **fields)
    assert 0.25 < result.details["handshake_s"] < 1
    opened = {path["leg"]: path["opened_s"] for path in result.details["paths"]}
    assert opened.keys() == {2, 3}
    assert opened[3] > opened[2] + 0.3  # 1 MB of 20 Mbit/s
