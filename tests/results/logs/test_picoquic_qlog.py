"""What picoquic's own log tells, read as the other stacks' are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results.files import ResultError
from minitopo_dc.results.logs.quic import LOST, RECEIVED, SENT, qlog_events, read_recovery

FIELDS = ["relative_time", "category", "event", "data"]


def packet(number: int, **more: Any) -> dict[str, Any]:
    return {"packet_type": "1RTT", "header": {"packet_number": number}, "frames": []} | more


def ack(*ranges: list[int]) -> dict[str, Any]:
    return packet(1, frames=[{"frame_type": "ack", "acked_ranges": list(ranges)}])


EVENTS: list[list[Any]] = [
    [0, "transport", "packet_sent", packet(1)],
    [10, "recovery", "metrics_updated", {"cwnd": 15_360, "bytes_in_flight": 1200}],
    [20, "transport", "packet_sent", packet(2)],
    [20_000, "transport", "packet_received", ack([2])],
    [20_000, "recovery", "packet_lost", packet(1, packet_number=1, trigger="repeat")],
    [20_000, "recovery", "metrics_updated", {"cwnd": 7_680, "latest_rtt": 20_000}],
    [22_000, "transport", "packet_received", ack([1, 2])],
    [40_000, "recovery", "metrics_updated", {"bytes_in_flight": 0, "latest_rtt": 30_000}],
]


def write(directory: Path, fields: list[str], events: list[list[Any]]) -> Path:
    path = directory / "qlog" / "server" / "04dcd7ee.server.qlog"
    path.parent.mkdir(parents=True)
    trace = {"event_fields": fields, "events": events}
    path.write_text(json.dumps({"qlog_version": "draft-00", "traces": [trace]}))
    return path


def test_windows_losses_and_round_trips_are_read(tmp_path: Path) -> None:
    recovery = read_recovery(write(tmp_path, FIELDS, EVENTS))
    assert list(recovery.window["cwnd_bytes"]) == [15_360, 7_680]
    assert list(recovery.window["time_s"]) == pytest.approx([0.00001, 0.02])
    assert (recovery.lost_packets, recovery.drop_occasions) == (1, 1)
    assert recovery.rtt_ms == 25.0


def test_packets_are_as_aioquic_writes_them(tmp_path: Path) -> None:
    write(tmp_path, FIELDS, EVENTS)
    sent, received, lost = (
        [event["data"] for event in qlog_events(tmp_path, "server") if event["name"] == name]
        for name in (SENT, RECEIVED, LOST)
    )
    assert [packet["header"]["packet_number"] for packet in sent] == [1, 2]
    frames = [frame for packet in received for frame in packet["frames"]]
    assert [frame["acked_ranges"] for frame in frames] == [[[2, 2]], [[1, 2]]]
    assert lost == [{"type": "1RTT", "packet_number": 1}]


def test_of_several_paths_it_is_told_where_their_windows_are(tmp_path: Path) -> None:
    path = write(tmp_path, ["relative_time", "path_id", *FIELDS[1:]], [])
    with pytest.raises(ResultError, match=r"qlog: .*several paths; .* is in paths\.csv"):
        read_recovery(path)


def test_a_cut_event_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, FIELDS, [[0, "transport", "packet_sent"]])
    with pytest.raises(ResultError, match="malformed qlog"):
        read_recovery(path)
