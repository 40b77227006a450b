"""What Minitopo's files mean here."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest

from minitopo_dc.minitopo import read_minitopo
from minitopo_dc.minitopo.path_parameters import held_packets
from minitopo_dc.runs.check import check_scenario
from minitopo_dc.workloads import Ping, RequestResponse
from tests.minitopo.files import DUAL, PING, THREE_SERVER_PATHS, TWO_PATHS, read


def test_a_path_has_its_rate_delay_and_queue_in_both_directions(tmp_path: Path) -> None:
    leg = read(tmp_path, TWO_PATHS).scenario.legs[1]
    assert leg.downlink == leg.uplink
    assert (leg.downlink.rate_mbps, leg.downlink.delay_ms) == (4, 40)
    assert (leg.downlink.queue_packets, leg.downlink.jitter_ms) == (55, 0)


def test_without_a_queue_field_it_is_a_bandwidth_delay_product(tmp_path: Path) -> None:
    """4 Mbit/s times 80 ms of round trip are 40,000 bytes, 27 packets; as a queue field 77 ms."""
    scenario = read(tmp_path, "topoType:MultiIf\npath_c2r_0:40,4\npath_c2r_1:0,4\n").scenario
    assert [leg.downlink.queue_packets for leg in scenario.legs] == [52, 1]


def test_paths_between_router_and_server_are_the_backhaul(tmp_path: Path) -> None:
    scenario = read(tmp_path, THREE_SERVER_PATHS).scenario
    assert (len(scenario.legs), len(scenario.real.backhaul)) == (2, 3)
    assert scenario.real.backhaul[2].uplink.delay_ms == 10


def test_comments_blank_lines_and_any_order_are_fine(tmp_path: Path) -> None:
    text = "# a comment\n\n  path_c2r_1 : 40,30,4 \ntopoType:MultiIf\r\npath_c2r_0:10,10,4,1,0\n"
    scenario = read(tmp_path, text).scenario
    assert [leg.downlink.loss_percent for leg in scenario.legs] == [1, 0]


@pytest.mark.parametrize(
    ("topology", "experiment", "transport", "mode"),
    [
        (TWO_PATHS, "xpType:ping\n", "icmp", "sc"),
        (TWO_PATHS, "xpType:https\n", "mptcp", "multipath"),
        (TWO_PATHS, "xpType:https\nmptcpEnabled:0\n", "tcp", "sc"),
        ("topoType:MultiIf\npath_c2r_0:1,1,1\n", "xpType:http\n", "tcp", "sc"),
        (TWO_PATHS, "xpType:quic\n", "quic", "sc"),
        (TWO_PATHS, "xpType:quic\nquicMultipath:1\n", "mpquic-picoquic", "multipath"),
        (TWO_PATHS, "xpType:mpquic-picoquic\n", "mpquic-picoquic", "multipath"),
        (TWO_PATHS, "xpType:iperf\nmptcpEnabled:0\n", "tcp", "sc"),
        (DUAL, "xpType:https\n", "tcp", "dc"),
        (DUAL, "xpType:quic\n", "quic", "dc"),
        (DUAL + "split:duplicate\n", "xpType:tcp\n", "tcp", "dc-duplicate"),
        (DUAL, "xpType:ping\n", "icmp", "sc"),
        (TWO_PATHS, "xpType:quicreqres\n", "quic", "sc"),
    ],
)
def test_topology_and_experiment_choose_transport_and_mode(
    topology: str, experiment: str, transport: str, mode: str, tmp_path: Path
) -> None:
    scenario = read(tmp_path, topology, experiment).scenario
    assert (scenario.transport, scenario.mode) == (transport, mode)


TCP = "xpType:tcp\n"
SYSCTL = {"net.ipv4.tcp_rmem": "4096 87380 300000", "net.ipv4.tcp_autocorking": "0"}


@pytest.mark.parametrize(
    ("experiment", "field", "value"),
    [
        (PING, "workload", Ping(count=5, interval_s=1.0)),  # Minitopo's own defaults
        ("xpType:https\n", "workload.size_bytes", 1024 * 1024),
        ("xpType:quicreqres\n", "workload", RequestResponse(duration_s=30)),
        ("xpType:quicreqres\nquicReqresRunTime:20\n", "workload", RequestResponse(duration_s=20)),
        (TCP + "file_size:20000\n", "workload.size_bytes", 20_480_000),
        (TCP + "congctrl:bbr\n", "congestion_control", "bbr"),
        (TCP + "rmem:4096 87380 300000\nautocork:0\n", "real.sysctl", SYSCTL),
        (TCP + "clientPcap:yes\nserverPcap:no\n", "real.capture", ("client",)),
    ],
)
def test_keys_of_an_experiment_are_taken_over(
    experiment: str, field: str, value: object, tmp_path: Path
) -> None:
    assert attrgetter(field)(read(tmp_path, TWO_PATHS, experiment).scenario) == value


def test_buffers_on_the_virtual_clock_are_those_of_the_guest_s_kernel(tmp_path: Path) -> None:
    text = "xpType:tcp\nclock:virtual\nwmem:4096 16384 300000\n"
    scenario = read(tmp_path, TWO_PATHS, text).scenario
    assert scenario.virtual.sysctl == {"net.ipv4.tcp_wmem": "4096 16384 300000"}
    assert scenario.real.sysctl == {}
    assert scenario.on_clock("real").real.sysctl == scenario.virtual.sysctl


@pytest.mark.parametrize("given", ["clock:virtual\n", ""])
def test_captures_of_end_hosts_are_had_on_either_clock(given: str, tmp_path: Path) -> None:
    text = f"xpType:quic\n{given}clientPcap:yes\nserverPcap:yes\n"
    scenario = read(tmp_path, TWO_PATHS, text).scenario
    virtual = scenario.on_clock("virtual")
    assert (virtual.virtual.capture, virtual.real.capture) == (("client", "server"), ())
    real = scenario.on_clock("real")
    assert (real.virtual.capture, real.real.capture) == ((), ("client", "server"))


@pytest.mark.parametrize("given", ["clock:virtual\n", ""])
def test_quic_has_no_settings_of_tcp_on_either_clock(given: str, tmp_path: Path) -> None:
    read_ = read(tmp_path, TWO_PATHS, f"xpType:quic\n{given}rmem:1 2 3\n")
    on_virtual = read_.scenario.on_clock("virtual")
    assert (on_virtual.virtual.sysctl, on_virtual.real.sysctl) == ({}, {})
    check_scenario(on_virtual)
    assert "rmem: no effect: a setting of TCP, and this is quic" in read_.notes[-1]


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        ("xpType:https\nquicMultipath:1\n", "ignored: only xpType:quic or quicreqres has it"),
        (
            "xpType:quic\nmptcpEnabled:1\n",
            "ignored: only xpType:http or https or iperf has it",
        ),
        ("xpType:ping\ncongctrl:cubic\n", "ignored: xpType:ping has no congestion control"),
        *(
            (
                f"xpType:none\n{line}\n",
                f"{line.partition(':')[0]}: ignored: xpType:none transfers nothing",
            )
            for line in (
                "congctrl:reno",
                "file_size:9",
                "pingCount:7",
                "duration:7",
                "clock:virtual",
            )
        ),
    ],
)
def test_a_key_of_other_experiments_is_named(lines: str, note: str, tmp_path: Path) -> None:
    assert any(text.endswith(note) for text in read(tmp_path, TWO_PATHS, lines).notes)


def test_mptcp_over_one_path_is_named_as_tcp(tmp_path: Path) -> None:
    one = "topoType:MultiIf\npath_c2r_0:10,100,20\n"
    run = read(tmp_path, one, "xpType:https\nmptcpEnabled:1\n")
    assert run.scenario.transport == "tcp"
    assert "mptcpEnabled: ignored: MPTCP here needs two c2r paths" in run.notes[-1]
    others = read(tmp_path, one, "xpType:https\nmptcpEnabled:0\n").notes
    assert not any("mptcpEnabled" in note for note in others)


def test_the_split_bearer_s_keys_become_its_settings(tmp_path: Path) -> None:
    keys = "split:batch\nbatch:10\nratio:9,1\nsnBits:12\ntReordering:infinity\nsplitUplink:yes\n"
    scenario = read(tmp_path, DUAL + keys + "seed:7\n", "xpType:quic\n").scenario
    assert (scenario.pdcp.batch, scenario.pdcp.ratio, scenario.pdcp.sn_bits) == (10, (9, 1), 12)
    assert scenario.pdcp.t_reordering_ms.setting == "infinity"
    assert scenario.split_uplink
    assert scenario.seed == 7


def test_jitter_uplink_and_trace_are_those_of_their_path(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,rate_mbps\n0,10\n1,20\n2,5\n", encoding="utf-8")
    keys = "jitter_c2r_1:2,uniform\nuplink_c2r_0:20,50,5,1\ntrace_c2r_0:t.csv,hold\n"
    first, second = read(tmp_path, DUAL + keys).scenario.legs
    assert (first.downlink.trace, first.downlink.end) == (tmp_path / "t.csv", "hold")
    assert first.downlink.rate_mbps is None
    assert (first.uplink.rate_mbps, first.uplink.delay_ms, first.uplink.loss_percent) == (5, 20, 1)
    assert (second.downlink.jitter, second.uplink.jitter_ms) == ("uniform", 2)


def test_a_netem_command_changes_what_it_names_and_keeps_the_rest(tmp_path: Path) -> None:
    text = TWO_PATHS + (
        "changeNetem:yes\nnetemAt_c2r_0:2,loss 1%\nnetemAt_c2r_0:5.5,delay 0.03s 2ms\n"
        "netemAt_c2r_0:6,rate 500kbit loss random 2\n"
    )
    leg = read(tmp_path, text).scenario.legs[0]
    stages = [stage for _, stage in leg.downlink.stages()]
    assert leg.uplink.changes == leg.downlink.changes
    assert [change.at_s for change in leg.downlink.changes] == [2, 5.5, 6]
    assert [(stage.delay_ms, stage.jitter_ms) for stage in stages] == [(10, 0), (30, 2), (30, 2)]
    assert [stage.loss_percent for stage in stages] == [1, 1, 2]
    assert [stage.rate_mbps for stage in stages] == [4, 4, 0.5]


def test_changes_that_are_switched_off_are_read_named_and_not_made(tmp_path: Path) -> None:
    text = TWO_PATHS + "changeNetem:no\nnetemAt_c2r_0:2,loss 1%\nnetemAt_c2r_1:3,rate 1mbit\n"
    run = read(tmp_path, text)
    assert [leg.downlink.changes for leg in run.scenario.legs] == [(), ()]
    notes = [note for note in run.notes if "netemAt" in note]
    assert notes == [
        f"{tmp_path}/topo:{line}: netemAt_c2r_{path}: ignored: changeNetem:no in line 6"
        for line, path in ((7, 0), (8, 1))
    ]


@pytest.mark.parametrize("flows", ["", "flow:dc\nflow:sc,1,tcp\n"])
def test_a_duration_takes_the_place_of_the_size(flows: str, tmp_path: Path) -> None:
    run = read(tmp_path, DUAL, f"xpType:quic\nduration:180\nfile_size:10\n{flows}")
    assert run.scenario.workload.lasts_s == 180
    assert run.notes == (
        f"{tmp_path}/xp:3: file_size: ignored: duration says when a download ends",
    )


def test_ignored_settings_are_named_with_file_and_line(tmp_path: Path) -> None:
    text = "xpType:quic\nkpms:fullmesh\ncongctrl:olia\nsnaplen_pcap:100\nrmem:1 2 3\npingCount:9\n"
    notes = read(tmp_path, THREE_SERVER_PATHS, text).notes
    named = sorted(note.removeprefix(f"{tmp_path}/").split(": ")[0] for note in notes)
    assert named == ["topo:1", "topo:2", "topo:6", "topo:7", "xp:2", "xp:3", "xp:4", "xp:5", "xp:6"]
    assert f"{tmp_path}/xp:2: kpms: ignored: a setting of MPTCP v0" in "\n".join(notes)


@pytest.mark.parametrize("experiment", [None, "xpType:none\n"])
def test_without_an_experiment_there_are_the_paths_alone(
    experiment: str | None, tmp_path: Path
) -> None:
    topology, file = tmp_path / "topo", tmp_path / "xp"
    topology.write_text(TWO_PATHS.replace("40,30,4", "40,30,4,0,1"), encoding="utf-8")
    file.write_text(experiment or "", encoding="utf-8")
    run = read_minitopo(topology, None if experiment is None else file)
    assert (run.interactive, run.scenario.mode, len(run.scenario.legs)) == (True, "multipath", 2)
    assert [note.split(": ")[1] for note in run.notes] == [
        *("leftSubnet", "rightSubnet", "path_c2r_1")
    ]


def test_idle_clients_of_a_topology_with_several_are_named_as_left_out(tmp_path: Path) -> None:
    run = read(tmp_path, TWO_PATHS.replace("MultiIf", "MultiIfMultiClient"), PING)
    assert len(run.scenario.legs) == 2
    assert "topo:5: topoType: the further clients send nothing" in "\n".join(run.notes)


TOPO_3 = "topoType:MultiIf\npath_c2r_0:100,20,4\npath_r2s_0:10,20,10\n"


@pytest.mark.parametrize(
    ("delay_ms", "queue", "rate_mbps", "packets"),
    [
        # topo_3's c2r: 67 packets of a round trip, and 57 ms (of 57.2) at 4 Mbit/s: 129,000 bytes.
        (100, 20, 4, 86),
        # topo_3's r2s: 17 packets, and 22 ms (of 22.9) at 10 Mbit/s: 53,000 bytes.
        (10, 20, 10, 35),
        # topo_1's: 7 and 28 ms, 27 and 85 ms.
        (10, 10, 4, 16),
        (40, 30, 4, 55),
    ],
)
def test_a_shaper_holds_a_round_trip_and_the_queue_field_in_whole_milliseconds(
    delay_ms: float, queue: int, rate_mbps: float, packets: int
) -> None:
    assert held_packets(delay_ms, queue, rate_mbps) == packets


@pytest.mark.parametrize("kind", ["MultiIf", "DualConnectivity"])
def test_the_rule_is_that_of_every_path_and_uplink_of_a_file(kind: str, tmp_path: Path) -> None:
    topology = TOPO_3.replace("MultiIf", kind) + "path_c2r_1:100,20,4\nuplink_c2r_1:10,20,10\n"
    scenario = read(tmp_path, topology).scenario
    queues = [(leg.downlink.queue_packets, leg.uplink.queue_packets) for leg in scenario.legs]
    assert queues == [(86, 86), (86, 35)]
    assert scenario.real.backhaul[0].downlink.queue_packets == 35


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
    "https": "xpType:https\nclientPcap:yes\nkpms:fullmesh\nkpmc:fullmesh\n"
    "rmem:300000 300000 300000\n",
    "iperf": "xpType:iperf\nsize:10M\n",
    "none": "xpType:none\n",
    "ping": "xpType:ping\n",
}


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_each_pair_is_a_run(topology: str, experiment: str, tmp_path: Path) -> None:
    made = read(tmp_path, TOPOLOGIES[topology], EXPERIMENTS[experiment])
    paths = len(made.scenario.legs)
    assert made.interactive == (experiment == "none")
    assert made.scenario.mode == ("multipath" if paths > 1 and experiment != "ping" else "sc")
    tcp = "mptcp" if paths > 1 else "tcp"
    assert made.scenario.transport == ("icmp" if experiment == "ping" else tcp)
