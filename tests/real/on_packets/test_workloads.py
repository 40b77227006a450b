"""Requests, answers and pings on real packets, from a scenario's file to its results."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from minitopo_dc.runners.base import get_runner
from tests import long

pytestmark = pytest.mark.root
COMMAND = [sys.executable, "-m", "minitopo_dc.cli", "run"]
DELAY_MS = 10
LINK: dict[str, Any] = {"rate_mbps": 10, "delay_ms": DELAY_MS, "jitter_ms": 0}
LEG = {"downlink": LINK, "uplink": LINK}
REQUESTS = 10
ASKING = {"kind": "request-response", "count": REQUESTS, "interval_s": 0.05, "patience_s": 2}
ANSWERS_BYTES = REQUESTS * 750


def run(directory: Path, **fields: Any) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """The result of a scenario that the command line runs, and its workload's rows."""
    if reason := get_runner(fields["transport"]).run_obstacle("reno"):
        pytest.skip(reason)
    path, output = directory / "scenario.yaml", directory / "out"
    path.write_text(yaml.safe_dump({"clock": "real", "legs": [LEG, LEG]} | fields))
    command = [*COMMAND, str(path), "--output", str(output), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((output / "result.json").read_text(encoding="utf-8"))
    with (output / f"{fields['workload']['kind']}.csv").open(encoding="utf-8", newline="") as file:
        return result, list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("transport", "mode"),
    [
        ("quic", "dc-duplicate"),
        long("mptcp", "multipath"),
        *(long("quic", "sc"), long("tcp", "dc"), long("quic-picoquic", "dc")),
        long("mpquic-picoquic", "multipath"),
    ],
)
def test_every_request_is_answered_and_is_a_row(transport: str, mode: str, tmp_path: Path) -> None:
    batches = {"batch": 2}  # of which the first leg's half is one packet
    result, rows = run(tmp_path, transport=transport, mode=mode, workload=ASKING, pdcp=batches)
    assert (result["status"], result["workload"]) == ("ok", "request-response")
    details = result["details"]
    assert details["requests"] == details["answered"] == REQUESTS
    assert details["unanswered"] == 0
    assert (result["size_bytes"], result["goodput_mbps"]) == (ANSWERS_BYTES, None)
    assert [row["request"] for row in rows] == [str(n) for n in range(1, REQUESTS + 1)]
    delays = [float(row["delay_ms"]) for row in rows]
    assert min(delays) > 2 * DELAY_MS
    assert details["delay_max_ms"] == max(delays)
    assert details["delay_median_ms"] < 10 * DELAY_MS
    first, second = result["leg_bytes"]
    assert first + second > ANSWERS_BYTES
    least = {"sc": 0, "multipath": 0, "dc": ANSWERS_BYTES / 4, "dc-duplicate": ANSWERS_BYTES}[mode]
    assert min(first, second) >= least
    assert (second > 0) == (mode != "sc")


@pytest.mark.long
@pytest.mark.slow
def test_a_leg_that_goes_down_for_good_leaves_requests_unanswered_and_the_run_ends(
    tmp_path: Path,
) -> None:
    """From 2.5 s after the elements' start on, nothing passes; both ends wait 3 s for the other."""
    down = LINK | {"outages": [[2.5, 3600]]}
    workload = {"kind": "request-response", "interval_s": 0.1, "duration_s": 3, "patience_s": 0.5}
    legs = [{"downlink": down, "uplink": down}]
    result, rows = run(tmp_path, transport="tcp", mode="sc", legs=legs, workload=workload)
    assert result["status"] == "ok", result["reason"]
    details = result["details"]
    assert details["answered"] + details["unanswered"] == details["requests"] == len(rows) == 30
    assert min(details["answered"], details["unanswered"]) > 0
    without = [row["answered_s"] == "" for row in rows]
    assert without == sorted(without), "once it is down, nothing is answered"
    assert float(rows[details["answered"]]["sent_s"]) + details["started_s"] > 2.4


def test_pings_take_every_leg_and_have_a_row_each(tmp_path: Path) -> None:
    slow = LINK | {"delay_ms": 3 * DELAY_MS}
    legs = [LEG, {"downlink": slow, "uplink": slow}]
    workload = {"kind": "ping", "count": 5, "interval_s": 0.1}
    result, rows = run(tmp_path, transport="icmp", mode="sc", legs=legs, workload=workload)
    assert (result["status"], result["goodput_mbps"]) == ("ok", None)
    assert (result["details"]["sent"], result["details"]["received"]) == (10, 10)
    assert [row["leg"] for row in rows] == ["1"] * 5 + ["2"] * 5
    for leg, least_ms in (("1", 2 * DELAY_MS), ("2", 6 * DELAY_MS)):
        times = [float(row["rtt_ms"]) for row in rows if row["leg"] == leg]
        assert least_ms - 1 < min(times) < least_ms + 10
    # 5 answers of 44 bytes (IPv4, ICMP, 16 bytes of data) on each leg
    assert min(result["leg_bytes"]) >= 5 * 44
