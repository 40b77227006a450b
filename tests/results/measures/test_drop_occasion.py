"""A needless drop occasion, from a qlog written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError
from minitopo_dc.results.measures.drop_occasion import (
    ACKNOWLEDGED,
    LOST,
    NEIGHBOURS,
    SENT,
    drop_occasion,
)

Event = dict[str, Any]


def sent(time: float, number: int, kind: str = "1RTT") -> Event:
    header = {"packet_type": kind, "packet_number": number}
    return {"name": "transport:packet_sent", "time": time, "data": {"header": header}}


def acknowledged(time: float, *ranges: tuple[int, int]) -> Event:
    frames = [{"frame_type": "ping"}, {"frame_type": "ack", "acked_ranges": ranges}]
    data = {"header": {"packet_type": "1RTT", "packet_number": 1}, "frames": frames}
    return {"name": "transport:packet_received", "time": time, "data": data}


def lost(time: float, number: int) -> Event:
    data = {"type": "1RTT", "packet_number": number}
    return {"name": "recovery:packet_lost", "time": time, "data": data}


def run_with(directory: Path, *events: Event) -> Path:
    path = directory / "qlog" / "server" / "1.qlog"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"traces": [{"events": events}]}))
    return directory


OVERTAKEN = (
    *(sent(number, number) for number in range(8)),
    acknowledged(20, (0, 1), (5, 6)),
    lost(20, 2),
    lost(20.013, 3),
    acknowledged(25, (0, 6)),
)


def test_time_begins_when_the_overtaken_packets_were_taken_for_lost(tmp_path: Path) -> None:
    table = drop_occasion(run_with(tmp_path, *OVERTAKEN))
    assert table[table["event"] == LOST]["time_ms"].tolist() == pytest.approx([0.0, 0.013])
    assert table[table["event"] == SENT]["time_ms"].tolist() == [n - 20.0 for n in range(8)]


def test_packets_lost_after_the_next_datagram_are_another_occasion(tmp_path: Path) -> None:
    far = [sent(8, 60), acknowledged(20, (62, 62)), lost(20, 60)]
    numbers = drop_occasion(run_with(tmp_path, *OVERTAKEN, *far))["packet_number"]
    assert numbers.max() == 7


def test_each_packet_is_acknowledged_once(tmp_path: Path) -> None:
    table = drop_occasion(run_with(tmp_path, *OVERTAKEN))
    rows = table[table["event"] == ACKNOWLEDGED]
    times = dict(zip(rows["packet_number"], rows["time_ms"], strict=True))
    assert times == {0: 0.0, 1: 0.0, 5: 0.0, 6: 0.0, 2: 5.0, 3: 5.0, 4: 5.0}


def test_packets_that_never_came_are_no_needless_occasion(tmp_path: Path) -> None:
    really = [sent(0, 0), sent(1, 1), lost(10, 0)]
    later = [sent(30, 4), acknowledged(50, (1, 3)), lost(50, 4), acknowledged(60, (4, 4))]
    table = drop_occasion(run_with(tmp_path, *really, *later))
    assert table[table["event"] == LOST]["packet_number"].tolist() == [0, 4]
    assert table["time_ms"].max() == 10.0


def test_packets_far_from_the_occasion_are_left_out(tmp_path: Path) -> None:
    last = 2 + NEIGHBOURS
    events = [*OVERTAKEN[:-1], sent(21, last), sent(21, last + 2), OVERTAKEN[-1]]
    numbers = drop_occasion(run_with(tmp_path, *events))["packet_number"]
    assert numbers.max() == last


def test_packets_of_the_handshake_do_not_count(tmp_path: Path) -> None:
    table = drop_occasion(run_with(tmp_path, sent(0, 3, "initial"), *OVERTAKEN))
    assert table["time_ms"].min() == -20.0
    assert (table["event"] == SENT).sum() == 8


def test_a_run_without_such_an_occasion_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no packet was declared lost that came after all"):
        drop_occasion(run_with(tmp_path, sent(0, 0), lost(5, 0)))


def test_a_spoilt_event_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="malformed qlog"):
        drop_occasion(run_with(tmp_path, {"name": "transport:packet_sent", "time": 0, "data": {}}))
