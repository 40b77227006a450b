"""Every pair of the topologies and experiments that Minitopo comes with (its folder config)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minitopo_dc.clocks import run_scenario
from minitopo_dc.minitopo import ParameterError
from minitopo_dc.results.run_result import RunResult
from minitopo_dc.workloads import Command
from tests.linux_guest.guests import needs_guest
from tests.minitopo.files import DUAL, THREE_SERVER_PATHS, TWO_PATHS, read

HEAD = "leftSubnet:10.0.\nrightSubnet:10.1.\n"
SLOW, BEHIND = "100,20,4", "10,20,10"
TOPOLOGIES = {
    "topo_1": TWO_PATHS,
    "topo_2": f"{HEAD}path_c2r_0:{SLOW}\npath_c2r_1:1,20,4\npath_r2s_0:{BEHIND}\n"
    "topoType:MultiIf\n",
    "topo_3": f"{HEAD}path_c2r_0:{SLOW}\npath_r2s_0:{BEHIND}\ntopoType:MultiIf\n",
    "topo_4": HEAD
    + "".join(f"path_c2r_{path}:{SLOW}\n" for path in range(3))
    + "".join(f"path_r2s_{path}:{BEHIND}\n" for path in range(2))
    + "topoType:MultiIf\n",
    "topo_5": THREE_SERVER_PATHS,
    "topo_cong": TWO_PATHS.replace("MultiIf", "MultiIfMultiClient"),
}
EXPERIMENTS = {
    "ab": "xpType:ab\n",
    "https": "xpType:https\nclientPcap:yes\nkpms:fullmesh\nkpmc:fullmesh\n"
    "rmem:300000 300000 300000\n",
    "iperf": "xpType:iperf\nsize:10M\n",
    "none": "xpType:none\n",
    "ping": "xpType:ping\n",
    "sirimsg": "xpType:sirimsg\nsiriRunTime:10\n",
}
TRANSPORTS = {"ab": "command", "sirimsg": "command", "ping": "icmp"}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_each_pair_is_a_run(topology: str, experiment: str, tmp_path: Path) -> None:
    made = read(tmp_path, TOPOLOGIES[topology], EXPERIMENTS[experiment])
    paths = len(made.scenario.legs)
    assert made.interactive == (experiment == "none")
    assert made.scenario.mode == ("multipath" if paths > 1 and experiment != "ping" else "sc")
    tcp = "mptcp" if paths > 1 else "tcp"
    assert made.scenario.transport == TRANSPORTS.get(experiment, tcp)
    if isinstance(workload := made.scenario.workload, Command):
        assert ("--mptcp" in workload.client) == ("--mptcp" in workload.server) == (paths > 1)


def finished(directory: Path, topology: str, experiment: str) -> RunResult:
    """Run a pair of files; it must do what it should."""
    result = run_scenario(read(directory, topology, experiment).scenario, directory / "out")
    assert (result.status, result.reason) == ("ok", "")
    return result


@needs_guest
@pytest.mark.parametrize("topology", ["topo_1", "topo_cong"])
def test_web_requests_and_messages_use_both_paths_in_virtual_time(
    topology: str, tmp_path: Path
) -> None:
    """Two of 4 Mbit/s; the server serves one request at a time."""
    ab = "xpType:ab\nfile_size:64\nabConccurentRequests:3\nabTimelimit:4\nclock:virtual\n"
    load = finished(tmp_path, TOPOLOGIES[topology], ab)
    assert load.completion_s == pytest.approx(4, abs=0.1)
    assert 2 < load.details["received_mbps"] < 8
    found = json.loads((tmp_path / "out" / "client.out").read_text())
    assert load.details["complete_requests"] == len(found["requests_s"]) > 8
    assert load.details["failed_requests"] == 0
    assert min(load.leg_bytes or [0]) > 20_000


@needs_guest
def test_queries_are_missed_while_too_many_are_unanswered(tmp_path: Path) -> None:
    keys = "siriRunTime:3\nsiriIntervalTimeMs:100\nsiriDelayQueryResponse:1\nsiriBufferSize:2\n"
    result = finished(tmp_path, DUAL, f"xpType:sirimsg\n{keys}clock:virtual\n").details
    assert result["missed_queries"] > result["queries"] >= 4
    assert result["query_median_ms"] > 1000


@pytest.mark.root
@pytest.mark.parametrize("experiment", ["ab", "sirimsg"])
def test_programs_run_over_three_paths_and_two_backhauls(experiment: str, tmp_path: Path) -> None:
    """NewReno, as not every kernel lets hosts have CUBIC by default."""
    keys = {"ab": "abTimelimit:5\nfile_size:64\n", "sirimsg": ""}
    text = f"{EXPERIMENTS[experiment]}{keys[experiment]}congctrl:reno\n"
    result = finished(tmp_path, TOPOLOGIES["topo_4"], text)
    assert min(result.leg_bytes or [0]) > 0
    answered = {"ab": "complete_requests", "sirimsg": "answered_queries"}
    assert result.details[answered[experiment]] > 0


@pytest.mark.parametrize(
    ("experiment", "words"),
    [
        ("xpType:sirimsg\n", "no siriRunTime; allowed: 0.001 to 86400"),
        ("xpType:ab\nabTimelimit:0\n", "2: abTimelimit: abTimelimit 0 is out of range"),
        ("xpType:ab\nflow:dc\n", "2: flow: only downloads have it, not ab"),
        ("xpType:ab\nabConccurentRequests:1.5\n", "'1.5' is not a whole number"),
        ("xpType:sirimsg\nsiriRunTime:9\nsiriMaxPayloadSize:150\n", "allowed: .* 170"),
        ("xpType:sirimsg\nsiriRunTime:9\nsiriQuerySize:64\n", "allowed: siriMinPayloadSize or"),
    ],
)
def test_numbers_of_the_programs_are_checked(experiment: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=words):
        read(tmp_path, DUAL, experiment)
