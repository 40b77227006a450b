"""What qlogs of aioquic, ngtcp2 and picoquic tell, read alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minitopo_dc.results import ResultError
from minitopo_dc.results.qlog import (
    LOST,
    METRICS,
    RECEIVED,
    SENT,
    qlog_events,
)
from tests.studies.digests import module

server_recovery = module("thesis", "recovery").server_recovery


def metrics(time: float, **data: float) -> dict[str, Any]:
    return {"name": METRICS, "time": time, "data": data}


LOSS = {"name": LOST, "time": 30, "data": {"type": "1RTT", "packet_number": 1}}
EVENTS = [
    {"name": SENT, "time": 1000, "data": {}},
    metrics(1010, cwnd=10_000, bytes_in_flight=1),
    metrics(1020, cwnd=12_000, latest_rtt=20.0),
    LOSS,
    metrics(1030, cwnd=12_000),
    LOSS,
    metrics(1030, cwnd=6_000),
    metrics(1040, cwnd=7_000, latest_rtt=40.0),
    metrics(1050, cwnd=3_500),
    metrics(1060, cwnd=3_500),
]


def write(run: Path, content: str | list[dict[str, Any]], flow: str = ".") -> Path:
    """A server's qlog, as the given text or with the given events."""
    path = run / flow / "qlog" / "server" / "1.qlog"
    path.parent.mkdir(parents=True, exist_ok=True)
    events = content if isinstance(content, list) else None
    text = json.dumps({"traces": [{"events": events}]}) if events is not None else content
    path.write_text(str(text))
    return path


def test_of_several_flows_the_first_one_s_qlog_is_read_and_no_other(tmp_path: Path) -> None:
    write(tmp_path, EVENTS[:3], "flow-2")
    with pytest.raises(ResultError, match="options: qlog: true"):
        server_recovery(tmp_path)
    write(tmp_path, EVENTS, "flow-1")
    assert server_recovery(tmp_path).drop_occasions == 2


# ngtcp2.

NGTCP2 = Path(__file__).parent / "data" / "ngtcp2-server.sqlog"
"""The first 240 records of a real one: NewReno, 20 Mbit/s, a queue of 15,000 bytes."""


def test_ngtcp2s_qlog_gives_the_same_figures(tmp_path: Path) -> None:
    write(tmp_path, NGTCP2.read_text())
    recovery = server_recovery(tmp_path)
    assert (recovery.lost_packets, recovery.drop_occasions) == (17, 2)
    falls = recovery.window[recovery.window["cwnd_bytes"].diff() < 0]
    assert list(falls["time_s"]) == pytest.approx([0.034, 0.047])
    assert list(falls["cwnd_bytes"]) == [16_717, 9_022]


def sequence(*events: dict[str, Any]) -> str:
    head = {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": {}}
    return "".join(f"\x1e{json.dumps(record)}\n" for record in (head, *events))


def sampled(time: float, latest_rtt: int) -> dict[str, Any]:
    data = {"congestion_window": 12_000, "bytes_in_flight": 0, "latest_rtt": latest_rtt}
    return {"time": time, "name": METRICS, "data": data}


def received(time: float, *ranges: list[int], kind: str = "1RTT") -> dict[str, Any]:
    frames = [{"frame_type": "ack", "ack_delay": 0, "acked_ranges": list(ranges)}]
    data = {"frames": frames, "header": {"packet_type": kind, "packet_number": 1}}
    return {"time": time, "name": RECEIVED, "data": data}


def test_ngtcp2s_events_are_told_as_aioquic_tells_them(tmp_path: Path) -> None:
    header = {"packet_type": "1RTT", "packet_number": 7}
    lost = {"time": 3, "name": LOST, "data": {"header": header}}
    write(tmp_path, sequence(lost, received(4, [9], [5, 6])))
    first, second = qlog_events(tmp_path, "server")
    assert first["data"] == {"type": "1RTT", "packet_number": 7}
    assert second["data"]["frames"][0]["acked_ranges"] == [[9, 9], [5, 6]]


# picoquic.

FIELDS = ["relative_time", "category", "event", "data"]


def packet(number: int, **more: Any) -> dict[str, Any]:
    return {"packet_type": "1RTT", "header": {"packet_number": number}, "frames": []} | more


def ack(*ranges: list[int]) -> dict[str, Any]:
    return packet(1, frames=[{"frame_type": "ack", "acked_ranges": list(ranges)}])


PICOQUIC: list[list[Any]] = [
    [0, "transport", "packet_sent", packet(1)],
    [10, "recovery", "metrics_updated", {"cwnd": 15_360, "bytes_in_flight": 1200}],
    [20, "transport", "packet_sent", packet(2)],
    [20_000, "transport", "packet_received", ack([2])],
    [20_000, "recovery", "packet_lost", packet(1, packet_number=1, trigger="repeat")],
    [20_000, "recovery", "metrics_updated", {"cwnd": 7_680, "latest_rtt": 20_000}],
    [22_000, "transport", "packet_received", ack([1, 2])],
    [40_000, "recovery", "metrics_updated", {"bytes_in_flight": 0, "latest_rtt": 30_000}],
]


def draft(events: list[list[Any]], *more: str) -> str:
    trace = {"event_fields": [*FIELDS[:1], *more, *FIELDS[1:]], "events": events}
    return json.dumps({"qlog_version": "draft-00", "traces": [trace]})


def test_picoquics_windows_losses_and_round_trips_are_read(tmp_path: Path) -> None:
    write(tmp_path, draft(PICOQUIC))
    recovery = server_recovery(tmp_path)
    assert list(recovery.window["cwnd_bytes"]) == [15_360, 7_680]
    assert list(recovery.window["time_s"]) == pytest.approx([0.00001, 0.02])
    assert (recovery.lost_packets, recovery.drop_occasions, recovery.rtt_ms) == (1, 1, 25.0)


def test_picoquics_packets_are_told_as_aioquic_tells_them(tmp_path: Path) -> None:
    write(tmp_path, draft(PICOQUIC))
    events: dict[str, list[Any]] = {name: [] for name in (SENT, RECEIVED, LOST, METRICS)}
    for event in qlog_events(tmp_path, "server"):
        events[event["name"]].append(event["data"])
    assert [data["header"]["packet_number"] for data in events[SENT]] == [1, 2]
    frames = [frame for data in events[RECEIVED] for frame in data["frames"]]
    assert [frame["acked_ranges"] for frame in frames] == [[[2, 2]], [[1, 2]]]
    assert events[LOST] == [{"type": "1RTT", "packet_number": 1}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "malformed qlog") for text in ("", "{}", '{"traces": []}')),
        (sequence(sampled(1, 1))[:-1], "malformed qlog: .*record 2 is cut"),
        (sequence({"time": 1, "name": METRICS, "data": {}}), "malformed .*congestion_window"),
        ("\x1e{}\n", "malformed qlog: .*qlog_format"),
        ('\x1e{"qlog_format": "JSON"}\n', "qlog_format 'JSON' is not JSON-SEQ"),
        ("\x1e", "malformed qlog: .*record 1 is cut"),
        (draft([[0, "transport", "packet_sent"]]), "malformed qlog"),
        (draft([], "path_id"), r"several paths; .* is in paths\.csv"),
    ],
)
def test_a_spoilt_qlog_is_an_error_that_names_it(text: str, words: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(ResultError, match=rf"1\.qlog: .*{words}"):
        qlog_events(tmp_path, "server")
