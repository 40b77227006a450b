"""A needless drop occasion, from a qlog written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError
from tests.studies.digests import module

study = module("thesis", "drop_occasion")
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


def occasion(directory: Path, *events: Event) -> dict[str, list[tuple[float, int]]]:
    """Times (ms) and numbers of the packets of the occasion, by what happened to them."""
    path = directory / "qlog" / "server" / "1.qlog"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"traces": [{"events": events}]}))
    table = study.drop_occasion(directory).round(6)
    return {
        name: list(zip(rows["time_ms"], rows["packet_number"], strict=True))
        for name, rows in table.groupby("event")
    }


OVERTAKEN = (
    *(sent(number, number) for number in range(8)),
    acknowledged(20, (0, 1), (5, 6)),
    lost(20, 2),
    lost(20.013, 3),
    acknowledged(25, (0, 6)),
)


def test_time_begins_when_the_overtaken_packets_were_taken_for_lost(tmp_path: Path) -> None:
    assert occasion(tmp_path, sent(0, 3, "initial"), *OVERTAKEN) == {
        study.SENT: [(number - 20.0, number) for number in range(8)],
        study.ACKNOWLEDGED: [*((0.0, n) for n in (0, 1, 5, 6)), *((5.0, n) for n in (2, 3, 4))],
        study.LOST: [(0.0, 2), (0.013, 3)],
    }


def test_packets_that_never_came_are_no_needless_occasion(tmp_path: Path) -> None:
    really = [sent(0, 0), sent(1, 1), lost(10, 0)]
    later = [sent(30, 4), acknowledged(50, (1, 3)), lost(50, 4), acknowledged(60, (4, 4))]
    assert occasion(tmp_path, *really, *later)[study.LOST] == [(-40.0, 0), (0.0, 4)]


def test_other_occasions_and_packets_far_away_are_left_out(tmp_path: Path) -> None:
    last = 2 + study.NEIGHBOURS
    far = [sent(21, last), sent(21, last + 2), acknowledged(40, (62, 62)), lost(40, last)]
    rows = occasion(tmp_path, *OVERTAKEN[:-1], *far, OVERTAKEN[-1])
    assert max(number for _, number in rows[study.SENT]) == last


def test_without_such_an_occasion_or_with_a_spoilt_event_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no packet was declared lost that came after all"):
        occasion(tmp_path / "none", sent(0, 0), lost(5, 0))
    with pytest.raises(ResultError, match="malformed qlog"):
        occasion(tmp_path / "bad", {"name": "transport:packet_sent", "time": 0, "data": {}})
