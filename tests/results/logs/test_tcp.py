"""Features of TCP connections, of captures and samples made here."""

from __future__ import annotations

import csv
import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as given_values
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw

from minitopo_dc.capture import CaptureFile
from minitopo_dc.results.files import ResultError
from minitopo_dc.runners.tcp.info import FIELDS, FILE
from minitopo_dc.scenario import Scenario
from tests.results.synthetic_runs import result
from tests.studies.digests import module

features, limits = (module("mesh", name) for name in ("features", "limits"))
connection_log = module("mesh", "connection").connection_log

MS = 1_000_000
OFFSET = 1_700_000_000_000_000_000
"""From the monotonic clock to that of captures."""
DELAY = 20 * MS
SIZE = 1000
SERVER, CLIENT = 4433, 40_000
HELLO = struct.pack("!BHH", 22, 0x0301, 5) + b"hello"
REQUEST = struct.pack("!BHH", 20, 0x0303, 1) + b"c" + struct.pack("!BHH", 23, 0x0303, 3) + b"get"
THREE: list[tuple[float, int, Any, str]] = [
    (0, 10_000, "", "open"),
    (60, 20_000, "", "open"),
    (100, 40_000, "", "open"),
]
"""Samples: ms, window, threshold, state."""


class Sent(NamedTuple):
    """A segment: when it left (ms), its first byte, when it arrived (None: after `DELAY`), size."""

    at: float
    start: int
    arrives: float | None = None
    size: int = SIZE


class Wire:
    """Both ends' captures of one connection while it is made."""

    def __init__(self, first: int, version: int = 4) -> None:
        self._first = first
        self._version = version
        self._count = 0
        self.seen: dict[str, list[tuple[float, bytes]]] = {"server": [], "client": []}

    def send(
        self, sender: str, at: float, start: int, data: bytes, flags: str = "A", **to: float | None
    ) -> None:
        """`arrives`: ms, NaN: never."""
        self._count += 1
        ports = (SERVER, CLIENT) if sender == "server" else (CLIENT, SERVER)
        sequence = (self._first + start) % 2**32
        stamp = [("Timestamp", (int(at), self._count))]
        segment = TCP(sport=ports[0], dport=ports[1], seq=sequence, flags=flags, options=stamp)
        header = IP(id=self._count) if self._version == 4 else IPv6()
        datagram = bytes(header / segment / Raw(data))
        arrives = to.get("arrives")
        other = "client" if sender == "server" else "server"
        self.seen[sender].append((at, datagram))
        when = at + DELAY / MS if arrives is None else arrives
        if not math.isnan(when):
            hop = bytearray(datagram)
            hop[8 if self._version == 4 else 7] -= 3  # routers between
            self.seen[other].append((when, bytes(hop)))

    def save(self, run: Path) -> None:
        for host, packets in self.seen.items():
            capture = CaptureFile(run / f"{host}.pcap", OFFSET)
            for at, datagram in sorted(packets, key=lambda packet: packet[0]):
                capture.write(round(at * MS), datagram)
            capture.close()


def made(
    run: Path,
    content: list[Sent],
    samples: Sequence[tuple[float, int, Any, str]] = THREE,
    *,
    first: int = 1000,
    version: int = 4,
    acknowledgements: int = 2,
) -> Path:
    """The run of a download whose request arrives after 60 ms."""
    run.mkdir(exist_ok=True)
    wire = Wire(first, version)
    wire.send("client", 0, 0, b"", "S")
    wire.send("client", 1, 1, HELLO)
    wire.send("server", 30, 1, b"s" * 700)
    wire.send("client", 40, 1 + len(HELLO), REQUEST)
    for segment in content:
        wire.send("server", segment.at, segment.start, b"d" * segment.size, arrives=segment.arrives)
    for number in range(acknowledgements):
        wire.send("client", 90 + number, 30, b"")
    wire.send("client", 400, 30, b"", "RA")
    wire.send("server", 401, 90_000, b"last word")
    wire.save(run)
    with (run / FILE).open("w", newline="") as file:
        rows = csv.DictWriter(file, ["time_ns", *FIELDS], restval=0)
        rows.writeheader()
        for at, window, threshold, state in samples:
            rows.writerow(
                {
                    "time_ns": round(at * MS),
                    "client_port": CLIENT,
                    "cwnd_bytes": window,
                    "in_flight_bytes": window,
                    "ssthresh_bytes": threshold,
                    "state": state,
                    "least_rtt_ms": 40,
                    "smoothed_rtt_ms": 45,
                    "retransmissions": sum(state == "recovery" for *_, state in samples),
                }
            )
    summary = {"start_ns": 0, "wall_clock_offset_ns": OFFSET}
    (run / "gnb-summary.json").write_text(json.dumps(summary))
    leg = {"downlink": {"rate_mbps": 10}}
    scenario = Scenario.check({"transport": "tcp", "mode": "sc", "legs": [leg]}, "test")
    scenario.save(run / "scenario.yaml")
    result("tcp", "sc", capacity_share=0.5, goodput_mbps=8.0, clock="real").save(run)
    return run


def burst(*starts: int) -> list[Sent]:
    """Segments 10 ms apart, the first 70 ms after the begin."""
    return [Sent(70 + 10 * number, 701 + SIZE * at) for number, at in enumerate(starts)]


@pytest.mark.parametrize("version", [4, 6])
def test_times_and_acknowledgements_are_those_of_the_captures(tmp_path: Path, version: int) -> None:
    row = features.connection_features(made(tmp_path, burst(0, 1, 2, 3), version=version))
    assert tuple(row) == features.FEATURES
    assert row["mean_delay_ms"] == pytest.approx(20)
    assert row["delay_variation_ms2"] == pytest.approx(0, abs=1e-6)
    for end in ("server", "client"):
        assert row[f"{end}_inter_packet_time_mean_ms"] == pytest.approx(10)
        assert row[f"{end}_burstiness_1"] == pytest.approx(0)
    assert row["packet_loss"] == row["out_of_order"] == 0
    assert row["ack_frequency"] == pytest.approx(0.5)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with captures, one of which is damaged again and again."""
    return made(tmp_path_factory.mktemp("whole") / "run", burst(0, 1, 2))


@given_values(
    host=st.sampled_from(("server", "client")),
    changes=st.dictionaries(st.integers(0, 800), st.integers(0, 255), min_size=1, max_size=3),
    end=st.one_of(st.none(), st.integers(0, 2000)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_of_a_damaged_capture_there_is_a_log_or_an_error_of_results(
    whole: Path, host: str, changes: dict[int, int], end: int | None
) -> None:
    path = whole / f"{host}.pcap"
    content = path.read_bytes()
    damaged = bytearray(content)
    for place, value in changes.items():
        damaged[place] = value
    path.write_bytes(damaged[:end])
    try:
        connection_log(whole).during()
    except ResultError as error:
        assert str(error)
    finally:
        path.write_bytes(content)


def test_neither_the_handshake_nor_the_last_word_is_content(tmp_path: Path) -> None:
    packets = connection_log(made(tmp_path, burst(0, 1))).packets
    assert list(packets["bytes"]) == [SIZE, SIZE]
    assert packets["sent_s"].iloc[0] == pytest.approx(0.05)  # of the server, SYN at 20 ms


def test_what_never_arrived_and_what_was_overtaken_is_told(tmp_path: Path) -> None:
    content = burst(0, 1, 2, 3)
    content[1] = content[1]._replace(arrives=math.nan)
    content[2] = content[2]._replace(arrives=150)
    row = features.connection_features(made(tmp_path, content))
    assert row["packet_loss"] == pytest.approx(0.25)
    assert row["out_of_order"] == pytest.approx(0.25)


def test_the_window_is_averaged_over_the_time_of_the_transfer(tmp_path: Path) -> None:
    # From 70 ms to the arrival at 130 ms: 30 ms at 20 kB, 30 ms at 40 kB.
    row = features.connection_features(made(tmp_path, burst(0, 1, 2, 3, 4)))
    assert row["cwnd_mean_kb"] == pytest.approx(30)
    assert row["slow_start_share"] == pytest.approx(1)
    assert sum(row[f"{state}_share"] for state in features.STATES) == pytest.approx(1)


RECOVERY = [*THREE, (115, 28_000, 28_000, "recovery"), (160, 28_000, 28_000, "open")]


@pytest.mark.parametrize(("arrived", "kind"), [(True, "false loss"), (False, "normal")])
def test_a_cut_is_false_when_the_segment_sent_again_had_arrived(
    tmp_path: Path, arrived: bool, kind: str
) -> None:
    content = burst(0, 1, 2, 3, 1, 4)  # byte 1701 again after 110 ms
    if not arrived:
        content[1] = content[1]._replace(arrives=math.nan)
    run = made(tmp_path, content, RECOVERY)
    log = connection_log(run)
    assert log.lost == (1,)
    assert [(cut.cwnd_bytes, cut.lost) for cut in log.cuts] == [(40_000, (1,))]
    flow = limits.behaviour(run)
    assert flow.optimum_bytes == pytest.approx(16e6 / 8 * 0.04)
    assert flow.kind == kind
    assert flow.spurious_losses == int(arrived)
    assert features.connection_features(run)["recovery_share"] > 0


def test_sequence_numbers_may_wrap(tmp_path: Path) -> None:
    run = made(tmp_path, burst(0, 1, 2, 3, 1), RECOVERY, first=2**32 - 1500)
    log = connection_log(run)
    assert len(log.packets) == 5
    assert log.lost == (1,)


def test_recovery_is_read_from_the_samples(tmp_path: Path) -> None:
    recovery = module("thesis", "recovery").server_recovery(
        made(tmp_path, burst(0, 1, 2, 3, 1), RECOVERY)
    )
    assert (recovery.lost_packets, recovery.drop_occasions, recovery.rtt_ms) == (1, 1, 45)
    assert recovery.window["time_s"].iloc[-1] == pytest.approx(0.16)


@pytest.mark.parametrize(
    ("name", "words"), [(FILE, "tcp_info: true"), ("client.pcap", r"capture: \[client, server\]")]
)
def test_a_run_that_lacks_a_file_is_told_which(tmp_path: Path, name: str, words: str) -> None:
    (made(tmp_path, burst(0, 1)) / name).unlink()
    with pytest.raises(ResultError, match=words):
        features.connection_features(tmp_path)


@pytest.mark.parametrize("size", [10, 30, -3])
def test_a_capture_that_was_cut_is_an_error_that_names_it(tmp_path: Path, size: int) -> None:
    path = made(tmp_path, burst(0, 1)) / "server.pcap"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ResultError, match=r"server\.pcap"):
        features.connection_features(tmp_path)
