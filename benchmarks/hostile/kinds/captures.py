"""A run of TCP with both ends' captures, made here, and damage to one of them."""

from __future__ import annotations

import csv
import json
import struct
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from minitopo_dc.capture import CaptureFile
from minitopo_dc.results.judge import blank_result
from minitopo_dc.runners.tcp.info import FIELDS, FILE
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import SERVER_PORT

MS = 1_000_000
OFFSET_NS = 1_700_000_000_000_000_000
"""From the monotonic clock to that of captures."""
DELAY_MS = 20
CLIENT_PORT = 40_000
SYN, ACK, RST = 0x02, 0x10, 0x04
HELLO = struct.pack("!BHH", 22, 0x0301, 5) + b"hello"
REQUEST = struct.pack("!BHH", 20, 0x0303, 1) + b"c" + struct.pack("!BHH", 23, 0x0303, 3) + b"get"
SEGMENTS = (
    ("client", 0, 0, b"", SYN),
    ("client", 1, 1, HELLO, ACK),
    ("server", 30, 1, b"s" * 700, ACK),
    ("client", 40, 1 + len(HELLO), REQUEST, ACK),
    *(("server", 70 + n, 701 + 1000 * n, b"d" * 1000, ACK) for n in range(20)),
    ("server", 120, 2701, b"d" * 1000, ACK),  # sent again
    *(("client", 95 + n, 30, b"", ACK) for n in range(10)),
    ("client", 400, 30, b"", RST | ACK),
)
"""Who sent it, when (ms), its first byte, its data and flags."""
SAMPLES = ((0, "open"), (60, "open"), (110, "recovery"), (200, "open"))
HEADER, RECORD = 24, 16
"""Bytes, of the file and of each packet in it."""
NUMBERS = (0, 1, 2, 15, 16, 19, 20, 39, 40, 127, 128, 255)
"""Of a byte: lengths of headers and what is beside them."""


def tcp_run(run: Path) -> None:
    """Write a run that went well, with all that its connection left."""
    run.mkdir(parents=True)
    for host in ("server", "client"):
        capture = CaptureFile(run / f"{host}.pcap", OFFSET_NS)
        for at, datagram in sorted(_seen(host)):
            capture.write(at * MS, datagram)
        capture.close()
    with (run / FILE).open("w", newline="") as file:
        rows = csv.DictWriter(file, ["time_ns", *FIELDS], restval=0)
        rows.writeheader()
        rows.writerows(_sample(at, state) for at, state in SAMPLES)
    summary = {"start_ns": 0, "wall_clock_offset_ns": OFFSET_NS}
    (run / "gnb-summary.json").write_text(json.dumps(summary))
    leg = {"downlink": {"rate_mbps": 10}}
    base = {"transport": "tcp", "mode": "sc", "legs": [leg], "options": {"tcp_info": True}}
    scenario = Scenario.check(base, "base")
    scenario.save(run / "scenario.yaml")
    blank = blank_result(scenario, run)
    result = replace(blank, status="ok", goodput_mbps=1.0, completion_s=0.4, leg_bytes=[20_000])
    replace(result, capacity_share=0.1).save(run)


def damaged(rng: Random, capture: bytes) -> bytes:
    """Return a capture in which one field of the file, of a packet or of its headers is changed."""
    changed = bytearray(capture)
    packets = _places(capture)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice(packets)
        size = struct.unpack_from("=I", capture, place + 8)[0]
        way = rng.randrange(5)
        if way == 0:  # of the file: its magic number, version, link type
            changed[rng.randrange(HEADER)] = rng.choice(NUMBERS)
        elif way == 1:  # of a packet: its time or its lengths
            value = rng.choice((0, 1, size - 1, size + 1, 2 * size, 2**31, 2**32 - 1, 262_145))
            struct.pack_into("=I", changed, place + 4 * rng.randrange(4), value)
        elif way == 2 or not size:  # cut
            return bytes(changed[: rng.randrange(len(changed))])
        elif way == 3:  # of its headers: versions, lengths, ports, flags
            at = place + RECORD + rng.randrange(min(size, 40))
            changed[min(at, len(changed) - 1)] = rng.choice(NUMBERS)
        else:
            at = place + RECORD + rng.randrange(size)
            changed[min(at, len(changed) - 1)] = rng.randrange(256)
    return bytes(changed)


def _places(capture: bytes) -> list[int]:
    """Return where each packet's header begins (byte offset)."""
    places, at = [], HEADER
    while at < len(capture):
        places.append(at)
        at += RECORD + struct.unpack_from("=I", capture, at + 8)[0]
    return places


def _seen(host: str) -> list[tuple[int, bytes]]:
    """Return what a host's capture has: when (ms), and the datagram."""
    return [
        (at + (0 if sender == host else DELAY_MS), _datagram(number, sender, start, data, flags))
        for number, (sender, at, start, data, flags) in enumerate(SEGMENTS)
    ]


def _datagram(number: int, sender: str, start: int, data: bytes, flags: int) -> bytes:
    """Return a datagram of IPv4 and TCP without options; checksums are checked by nobody here."""
    ports = (SERVER_PORT, CLIENT_PORT) if sender == "server" else (CLIENT_PORT, SERVER_PORT)
    addresses = bytes((10, 1, 1, 2, 10, 0, 0, 2))
    segment = struct.pack("!HHIIBBHHH", *ports, 1000 + start, 0, 5 << 4, flags, 65_535, 0, 0) + data
    size = 20 + len(segment)
    return struct.pack("!BBHHHBBH", 0x45, 0, size, number, 0, 64, 6, 0) + addresses + segment


def _sample(at: int, state: str) -> dict[str, Any]:
    return {
        "time_ns": at * MS,
        "client_port": CLIENT_PORT,
        "cwnd_bytes": 20_000 if state == "open" else 10_000,
        "in_flight_bytes": 9_000,
        "ssthresh_bytes": "",
        "state": state,
        "least_rtt_ms": 40,
        "smoothed_rtt_ms": 45,
        "retransmissions": int(at > 100),
    }
