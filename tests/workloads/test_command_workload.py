"""A user's own: commands, a workload, a file of a path."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest

import minitopo_dc
from minitopo_dc.clocks import run_scenario
from minitopo_dc.fields import SettingsError
from minitopo_dc.files import CsvFile
from minitopo_dc.results.measures import named
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.workloads import Command, parse_workload
from minitopo_dc.workloads.base import workload_values
from minitopo_dc.workloads.command import RESERVED, filled, placeholders
from minitopo_dc.workloads.path_reports import (
    COLUMNS,
    PathReport,
    PathSample,
    bytes_of_legs,
    path_rows,
)

VALUES = {"server": "10.0.0.2", "leg_2": "10.2.2.2"}


def command(**given: Any) -> Command:
    made = parse_workload({"kind": "command", "client": ["true"], **given})
    assert isinstance(made, Command)
    return made


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("http://{server}:80/", "http://10.0.0.2:80/"),
        ("{leg_2}{server}", "10.2.2.210.0.0.2"),
        ("{{server}}", "{server}"),
        ("${server}", "${server}"),
        ("${MINITOPO_DC_SERVER}", "${MINITOPO_DC_SERVER}"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{print $1}", "{print $1}"),
        ('{"a": "{server}"}', '{"a": "10.0.0.2"}'),
    ],
)
def test_only_a_name_in_braces_is_a_placeholder(word: str, meaning: str) -> None:
    assert filled(word, VALUES) == meaning


def test_every_placeholder_of_the_words_is_found() -> None:
    assert list(placeholders(["{server}:{leg_1}", "{{run}}", "x", "{run}"])) == [
        *("server", "leg_1", "run"),
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"client": []}, "client: has 0 items; allowed: 1"),
        ({"client": "iperf3 -s"}, "client: iperf3 -s is no list"),
        ({"client": [True]}, "client.0: True is no text"),
        ({"client": ["{srv}"]}, r"{srv}: no such placeholder; allowed: {server}, {client}, {run}"),
        ({"server": ["x", "{leg_0}"]}, "server: {leg_0}: no such placeholder"),
        ({"server_ready": 80}, "server_ready: needs a server"),
        ({"server": ["x"], "server_ready": 0}, "server_ready: 0; allowed: 1"),
        ({"exit_codes": [256]}, "exit_codes.0: 256; allowed: 255"),
        ({"measures": {"Big": {"regex": "(x)"}}}, "measures.Big.*allowed: what matches"),
        ({"measures": {"seed": {"regex": "(x)"}}}, "measures: seed: every run has such a number"),
        ({"measures": {"flow_1": {"regex": "(x)"}}}, "flow_1: every run has such a number"),
        ({"measures": {"a": {}}}, "measures.a: give regex or json_path"),
        ({"measures": {"a": {"regex": "(x)", "json_path": "x"}}}, "give regex or json_path"),
        ({"measures": {"a": {"regex": "x"}}}, "'x' has 0 groups; allowed: one, around the number"),
        ({"measures": {"a": {"regex": "("}}}, "missing \\), unterminated subpattern"),
        ({"measures": {"a": {"regex": "(x)", "scale": 0}}}, "scale: 0; allowed: any other"),
        ({"measures": {"a": {"regex": "(x)", "file": "/tmp/x"}}}, "a file below the run's"),
        ({"measures": {"a": {"regex": "(x)", "file": "../x"}}}, "a file below the run's"),
        ({"shell": True}, "shell: unknown field; known: client, server"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_allowed(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        command(**given)


def test_a_leg_that_is_not_there_is_refused() -> None:
    wanted = command(client=["x", "{leg_3}"])
    assert wanted.obstacle(3) is None
    assert wanted.obstacle(2) == "{leg_3}: no such leg; allowed: 1 to 2"


def test_its_values_make_the_same_workload_again() -> None:
    wanted = command(
        server=["iperf3", "-s"], server_ready=5201, measures={"rate": {"json_path": "a.0.b"}}
    )
    assert parse_workload(workload_values(wanted)) == wanted


def test_no_measure_takes_the_name_of_another_number() -> None:
    taken = {field.name for field in fields(RunResult)} | {"client_cpu_s", "server_cpu_s"}
    assert taken | set(named.FROM_FILES) <= RESERVED


PLUGIN = Path(minitopo_dc.__file__).parents[1] / "examples" / "polling.py"
TRANSPORTS = ("quic-picoquic", "mpquic-picoquic", "quic", "tcp", "mptcp")
REAL = [
    pytest.param(
        name, "real", marks=[pytest.mark.root, *([] if name == "quic" else [pytest.mark.long])]
    )
    for name in TRANSPORTS
]
COUNT, SIZE = 10, 30_000


@pytest.mark.parametrize(
    ("transport", "clock"), [*((name, "virtual") for name in TRANSPORTS), *REAL]
)
def test_every_transport_carries_it_on_both_clocks(
    transport: str, clock: str, tmp_path: Path
) -> None:
    values: dict[str, Any] = {
        "legs": 2 * [{"rate_mbps": 20, "delay_ms": 10}],
        "transport": transport,
        "mode": "multipath" if transport.startswith("mp") else "dc",
        "workload": {"kind": "polling", "count": COUNT, "message_bytes": SIZE},
        "clock": clock,
        "plugins": [str(PLUGIN)],
    }
    result = run_scenario(minitopo_dc.Scenario.check(values, "test"), tmp_path / "run")
    if result.status == "unsupported":
        pytest.skip(result.reason)
    assert (result.status, result.reason) == ("ok", "")
    assert result.details["bytes_received"] == COUNT * SIZE
    # A round trip takes 20 ms; slow start takes two for the first messages.
    assert 20 < result.details["wait_ms"] < (200 if clock == "virtual" else 2000)


def test_a_file_of_paths_has_a_row_per_flow_path_and_sample(tmp_path: Path) -> None:
    samples = [
        PathSample(0.1, leg=1, path=0, state="open", cwnd_bytes=14480, smoothed_rtt_ms=20.5),
        PathSample(0.2, leg=2, path=1, state="backup", bytes_sent=7),
    ]
    with CsvFile(tmp_path / "paths.csv", COLUMNS) as file:
        file.add_all(path_rows(1, samples))
        file.add_all(path_rows(2, samples[:1]))
    header, *rows = (tmp_path / "paths.csv").read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert header.startswith("time_s,flow,leg,path,state,cwnd_bytes,in_flight_bytes,")
    assert rows == [
        "0.1000,1,1,0,open,14480,,20.5,,,",
        "0.2000,1,2,1,backup,,,,7,,",
        "0.1000,2,1,0,open,14480,,20.5,,,",
    ]


def test_a_leg_that_was_opened_twice_has_carried_what_both_paths_did() -> None:
    paths = [PathReport(1, 0.1, 2.0, 500), PathReport(2, 1.0, None, 30), PathReport(1, 3, None, 8)]
    details = {"paths": [asdict(path) for path in paths]}
    assert bytes_of_legs(details, 3) == [508, 30, 0]
