"""Every malformed line gets one error with its file and line; nothing else ever comes out."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo import read_minitopo, read_topology
from tests.minitopo.files import DUAL, PING, TWO_PATHS, read

MULTI = "topoType:MultiIf\npath_c2r_0:10,10,4\n"
VIRTUAL = "xpType:quic\nclock:virtual\n"
CHANGING = MULTI + "changeNetem:yes\n"

BAD_TOPOLOGIES = [
    ("topoType MultiIf\n", "topo:1: topoType MultiIf: no colon; write key:value"),
    (":MultiIf\n", "topo:1: no key before the colon; write key:value"),
    (MULTI + "desc:\n", "topo:3: desc: no value behind the colon"),
    ("path_c2r_0:10,10,4\n", "topo: no topoType; allowed: MultiIf, MultiIfMultiClient, Dual"),
    ("topoType:Star\n", "topo:1: topoType: .*'Star'.*allowed: MultiIf, MultiIf"),
    ("topoTyp:MultiIf\n", "topo:1: topoTyp: .*topoType"),
    (MULTI + "topoType:MultiIf\n", "topo:3: topoType: .*1"),
    (MULTI + "zzz:1\n", "topo:3: zzz: unknown key; known: "),
    (MULTI + "leftSubnet:10.0\n", "topo:3: leftSubnet: write the first two octets and a dot"),
    (MULTI + "rightSubnet:10.256.\n", "topo:3: rightSubnet: write the first two octets"),
    ("topoType:MultiIf\n", "topo:1: topoType: MultiIf.*path_c2r_0"),
    ("topoType:DualConnectivity\npath_c2r_0:1,1,1\n", "topo:1: topoType: .* needs .* path_c2r_1"),
    (MULTI + "path_c2r_0:10,10,4\n", "topo:3: path_c2r_0: .*2"),
    (MULTI + "path_c2r_2:10,10,4\n", "topo:3: path_c2r_2: .*path_c2r_1"),
    (MULTI + "path_r2s_1:10,10,4\n", "topo:3: path_r2s_1: .*path_r2s_0"),
    (MULTI + "path_1:10,10,4\n", "topo:3: path_1: .*path_c2r_1"),
    (MULTI + "path_c2s_1:10,10,4\n", "topo:3: path_c2s_1: .*'c2s'.*allowed: c2r"),
    (MULTI + "path_c2r_x:10,10,4\n", "topo:3: path_c2r_x: .*'x'.*0.*1.*2"),
    (MULTI + "path_c2r_1_2:10,10,4\n", "topo:3: path_c2r_1_2: .*path_<type>_<id>"),
    (MULTI + "path_c2r_1:10\n", "topo:3: path_c2r_1: 1.*delay_ms,queue_packets"),
    (MULTI + "path_c2r_1:10,,4\n", "topo:3: path_c2r_1: queue_packets"),
    (MULTI + "path_c2r_1:ten,10,4\n", "topo:3: path_c2r_1: delay_ms.*'ten'"),
    (MULTI + "path_c2r_1:10,1.5,4\n", "topo:3: path_c2r_1: queue_packets.*'1.5'"),
    (MULTI + "path_c2r_1:-1,10,4\n", "topo:3: path_c2r_1: delay_ms.*1.*allowed: 0"),
    (MULTI + "path_c2r_1:10,0,4\n", "topo:3: path_c2r_1: queue_packets.*0"),
    (CHANGING, "topo:3: changeNetem: .*netemAt"),
    (MULTI + "netemAt_c2r_0:1,loss 1%\n", "topo:3: netemAt_c2r_0: netemAt.*changeNetem:yes"),
    (CHANGING + "netemAt_c2r_1:1,loss 1%\n", "topo:4: .*: .*path_c2r_1.*c2r.*0"),
    (CHANGING + "netemAt_c2r_0:loss 1%\n", "topo:4: netemAt_c2r_0: write seconds,command"),
    (CHANGING + "netemAt_c2r_0:1,\n", "topo:4: netemAt_c2r_0: no command"),
    (CHANGING + "netemAt_c2r_0:1,reorder 5%\n", "topo:4: .*'reorder'"),
    (CHANGING + "netemAt_c2r_0:1,delay 1ms limit 9\n", "topo:4: .*'limit' .* packets on the way"),
    (CHANGING + "netemAt_c2r_0:1,delay 30\n", "topo:4: .*: .*'30'"),
    (CHANGING + "netemAt_c2r_0:1,delay\n", "topo:4: .*: delay has no value"),
    (CHANGING + "netemAt_c2r_0:1,loss 1% loss 2%\n", "topo:4: .*: loss is given twice"),
    (
        CHANGING + "netemAt_c2r_0:2,loss 1%\nnetemAt_c2r_0:1,loss 2%\n",
        "topo:5: .*: 1 s ",
    ),
    (
        "topoType:MultiIfMultiClient\npath_c2r_0:1,1,1\npath_r2s_0:1,1,1\n",
        "topo:3: path_r2s_0: MultiIfMultiClient.*r2s",
    ),
    (MULTI + "split:batch\n", "topo:3: split: .*topoType:DualConnectivity"),
    (DUAL + "pathAt_c2r_1:1,open\n", "topo:4: pathAt_c2r_1: DualConnectivity"),
    (DUAL + "split:best\n", "topo:4: split: .*batch.*duplicate"),
    (DUAL + "ratio:9:1\n", "topo:4: ratio: .*9,1"),
    (DUAL + "ratio:1,1,1\n", "topo:4: ratio: .*ratio"),
    (DUAL + "tReordering:7\n", "topo:4: tReordering: .*7"),
    (DUAL + "jitter_c2r_0:2,flat\n", "topo:4: .*: .*'flat'.*allowed: normal, uniform"),
    (DUAL + "jitter_c2r_0:20,uniform\n", "topo:2: path_c2r_0: .*uniform jitter may be at most"),
    (DUAL + "jitter_c2r_0:1\njitter_c2r_0:2\n", "topo:5: jitter_c2r_0: given twice, first in lin"),
    (DUAL + "trace_c2r_0:none.csv\n", r"topo:4: trace_c2r_0: no file .*none\.csv"),
    (DUAL + "trace_c2r_0:topo,again\n", "topo:4: .*: .*'again'.*allowed: loop, hold, stop"),
    (DUAL + "trace_c2r_0:topo\n", "topo:2: path_c2r_0: .*topo"),
]
BAD_EXPERIMENTS = [
    (TWO_PATHS, "file_size:10\n", "xp: no xpType; allowed: none, ping, http, https, "),
    (TWO_PATHS, "vlctime:20\nxpType:vlc\n", "xp:2: xpType: .* minitopo-dc minitopo"),
    (TWO_PATHS, "xpType:tcp\nfile:movie\n", "xp:2: file: 'movie'"),
    (TWO_PATHS, "xpType:tcp\ncongctrl:vegas\n", "xp:2: .* 'vegas'; allowed: reno, cubic, bbr"),
    (TWO_PATHS, "xpType:tcp\nrmem:1 2\n", "xp:2: rmem: 2"),
    (TWO_PATHS, "xpType:tcp\nwmem:3 2 1\n", "xp:2: wmem: .* must ascend"),
    (TWO_PATHS, "xpType:tcp\nclock:wall\n", "xp:2: clock: .*'wall'.*allowed: real, virtual"),
    (TWO_PATHS, "xpType:ping\nclock:virtual\n", "xp:2: clock: .* has tcp, quic, .*, not icmp"),
    (TWO_PATHS, "xpType:tcp\nflow:sc,0\n", "xp:2: flow: .*topoType:DualConnectivity"),
    (DUAL, VIRTUAL + "flow:both\n", "xp:3: flow: .*'both'.*allowed: sc, dc"),
    (DUAL, VIRTUAL + "flow:sc,5\n", "xp:3: flow: .*path_c2r_5"),
    (DUAL, VIRTUAL + "flow:dc,1\n", "xp:3: flow: dc uses all paths"),
    (DUAL + "split:duplicate\n", "xpType:quic\nflow:dc\n", "xp:2: flow: .*; write dc-duplicate"),
    (DUAL, "xpType:quic\nflow:dc,\n", "xp:2: flow: transport is empty; write mode,?"),
    (DUAL, "xpType:quic\nflow:sc,1,smtp\n", "xp:2: flow: .*'smtp'.*allowed: tcp, quic, "),
    (DUAL, "xpType:ping\nflow:dc\n", "xp:2: flow: only downloads have it, not ping"),
    (DUAL, "xpType:ping\nduration:9\n", "xp:2: duration: only downloads have it, not ping"),
    (DUAL, "xpType:iperf\nduration:9\n", "xp:2: duration: xpType:iperf.*iperfTime"),
    (DUAL, "xpType:iperf\niperfParallel:4\n", "xp:2: iperfParallel: .*1"),
    (TWO_PATHS, "xpType:mpquic\n", "xp:1: xpType: .*'mpquic'.*allowed: .*mpquic-picoquic"),
    (DUAL, "xpType:ab\nabTimelimit:3\n", "xp:1: xpType: .* minitopo-dc minitopo"),
    (DUAL, "xpType:mptcp\n", "xp:1: xpType: .*topoType:MultiIf"),
    (DUAL, "xpType:https\nmptcpEnabled:1\n", "xp:2: mptcpEnabled: .*Connectivity"),
    (MULTI, "xpType:mptcp\n", "xp:1: xpType: .*path_c2r_0.*path_c2r_1"),
    (MULTI + "path_c2r_1:10,10,4,0,1\n", "xpType:mptcp\n", "topo:3: .*: no backup paths here"),
    (DUAL + "path_r2s_0:1,1,1\n", VIRTUAL, "topo:4: .*: .*r2s"),
]


@pytest.mark.parametrize(
    ("topology", "experiment", "words"),
    [*((topology, PING, words) for topology, words in BAD_TOPOLOGIES), *BAD_EXPERIMENTS],
)
def test_a_malformed_file_is_one_error_with_file_and_line(
    topology: str, experiment: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=f"^{tmp_path}/{words}") as caught:
        read(tmp_path, topology, experiment)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_one_error(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "topo").write_bytes(content)
    with pytest.raises(SettingsError, match=r"topo: (not UTF-8 text|No such file)"):
        read_topology(tmp_path / "topo")


KEYS = st.sampled_from(
    [
        *("topoType", "leftSubnet", "changeNetem", "seed", "desc", "split", "batch", "ratio"),
        *("snBits", "tReordering", "delivery", "splitUplink", "path_c2r_0", "path_c2r_1"),
        *("path_r2s_0", "netemAt_c2r_0", "netemAt_r2s_0", "trace_c2r_0", "jitter_c2r_0"),
        *("uplink_c2r_1", "xpType", "congctrl", "rmem", "autocork", "clientPcap", "pingCount"),
        *("file_size", "flow", "clock", "timeout", "sched", "mptcpEnabled", "quicMultipath"),
        *("duration", "pingInterval", "serverPcap", "iperfTime", "iperfParallel"),
    ]
)
VALUES = st.sampled_from(
    [
        *("MultiIf", "MultiIfMultiClient", "DualConnectivity", "10.0.", "yes", "no", "1", "0"),
        *("10,10,4", "10,4", "10,10,4,1,0", "1,delay 3ms 1ms loss 1% rate 2mbit", "ping", "quic"),
        *("https", "mptcp", "1 2 3", "batch", "duplicate", "9,1", "12", "200", "infinity", "olia"),
        *("topo", "/dev/null", "..", "dc", "sc,1", "virtual", "1e308,1,1", "0,1,1e-300"),
        *("dc,tcp", "sc,0,mptcp", "180", "mpquic-picoquic", "real"),
    ]
) | st.text(max_size=20)
LINES = st.lists(st.tuples(KEYS | st.text(max_size=12), VALUES).map(":".join), max_size=12)
TEXTS = st.one_of(st.text(max_size=200), LINES.map("\n".join))


@given(topology=TEXTS, experiment=TEXTS)
@example(topology=DUAL + "trace_c2r_0:/dev/null\n", experiment=PING)
@example(topology=DUAL + "trace_c2r_0:" + "x" * 5000, experiment=PING)
@example(topology=DUAL + f"batch:{'9' * 5000}\n", experiment=PING)
def test_whatever_the_files_hold_there_is_a_run_or_that_error(
    topology: str, experiment: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for path, text in (("topo", topology), ("xp", experiment)):
            (directory / path).write_bytes(text.encode("utf-8", "replace"))
        try:
            run = read_minitopo(directory / "topo", directory / "xp")
        except SettingsError as error:
            assert re.match(rf"{name}/(topo|xp)(:\d+)?: ", str(error))
        else:
            run.scenario.read_traces()


ADDED = st.lists(st.tuples(KEYS, VALUES).map(":".join), max_size=5)


@given(
    lines=ADDED,
    topology=st.sampled_from([TWO_PATHS, DUAL]),
    kind=st.sampled_from(["ping", "https", "quic", "tcp", "mptcp"]),
)
@example(lines=["flow:dc"], topology=DUAL, kind="ping")
def test_lines_added_to_a_good_experiment_give_a_run_or_an_error_with_its_line(
    lines: list[str], topology: str, kind: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        try:
            run = read(Path(name), topology, "\n".join([f"xpType:{kind}", *lines]))
        except SettingsError as error:
            assert re.match(rf"{name}/(topo|xp):\d+: ", str(error))
        else:
            run.scenario.read_traces()
