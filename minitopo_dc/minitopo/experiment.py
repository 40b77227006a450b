"""An experiment file: who sends what, with which congestion control and kernel settings.

Minitopo was made for the out-of-tree kernel of MPTCP v0. Those of its settings that have no
counterpart in the kernel's own MPTCP (RFC 8684) are named as ignored, so that nobody relies on
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minitopo_dc.fields import PathSchedule, SettingsError, parse_path_words
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.minitopo.lines import (
    Line,
    ParameterFile,
    Reader,
    boolean,
    fields,
    number,
    plain,
    whole,
    word,
)
from minitopo_dc.runners.base import all_runners
from minitopo_dc.workloads import Download, Ping, RequestResponse, Workload

NONE = "none"
"""The type without an experiment: Mininet's command line."""
PING = "ping"
REQUEST_RESPONSE = "quicreqres"
"""The type with a request every 400 ms on one QUIC connection, as of the Multipath QUIC
experiments."""
WEB = ("http", "https")
"""Minitopo's downloads over TCP or MPTCP: here HTTP/2 over TLS 1.3 for both."""
IPERF = "iperf"
"""Minitopo's bulk transfer for a time: here a download, with the transport that WEB has."""
FLOW_MODES = ("sc", "dc", "dc-duplicate")
COUPLED = ("lia", "olia", "balia", "wvegas")
"""The coupled congestion controls of the MPTCP v0 kernel."""
DEFAULT_CONGESTION_CONTROL = CONGESTION_CONTROL
"""Minitopo's is olia, which leaves a kernel without MPTCP v0 at its own default."""
DEFAULT_SIZE_KB, DEFAULT_PINGS, DEFAULT_RUN_TIME_S, DEFAULT_IPERF_S = 1024, 5, 30.0, 10.0
"""Minitopo's defaults."""
SECONDS = (0.001, 1e6)
"""The range of a duration or timeout."""
PING_INTERVAL_S = (0.002, 3600.0)
"""The range of the interval that ping(8) takes; its default and Minitopo's are 1 s."""
KB = 1024
"""The bytes of a unit of `file_size`."""
MPTCP_V0 = (
    *("sched", "schedc", "scheds", "kpm", "kpmc", "kpms", "upmc", "upms", "upmc_args", "upms_args"),
    *("priority_path_0", "priority_path_1", "backup_path_0", "backup_path_1"),
    *("expiration", "metric", "useFastjoin"),
    *("prioPath0", "prioPath1", "backupPath0", "backupPath1", "openBup"),  # of older Minitopos
)
OF_OTHER_EXPERIMENTS = {
    "ab": ("abConccurentRequests", "abTimelimit"),  # Minitopo's spelling
    "sirimsg": (
        *("siriRunTime", "siriQuerySize", "siriResponseSize", "siriDelayQueryResponse"),
        *("siriMinPayloadSize", "siriMaxPayloadSize", "siriIntervalTimeMs", "siriBufferSize"),
        *("siriBurstSize", "siriIntervalBurstTimeMs"),
        *("msgClientSleep", "msgServerSleep", "msgNbRequests", "msgBytes"),
    ),
    "nc": ("ddIBS", "ddCount", "ncServerPort", "ncClientPort"),
    "ncpv": ("pvRateLimit", "pvG", "pvZ", "changePv", "changePvAt"),
    "netperf": ("netperfTestlen", "netperfTestname", "netperfReqresSize"),
    "ditg": (
        *("ditgBytes", "ditgKBytes", "ditgConstantPacketSize", "ditgMeanPoissonPacketsSec"),
        *("ditgConstantPacketsSec", "ditgBurstsOnPacketsSec", "ditgBurstsOffPacketsSec"),
        *("burstsOnPacketsSec", "burstsOffPacketsSec"),
    ),
    "epload": ("epload_test_dir", "test_dir"),
    "vlc": ("vlcFile", "vlcTime"),
    "quicsiri": ("quicSiriRunTime",),
    "iperfScenario": ("iperfScenarioFMSublows",),
    "pquic": ("pquicPlugins", "pquicClientPlugins", "pquicServerPlugins", "pquicSize"),
}
"""Keys that only one of Minitopo's other experiments reads."""
NEVER_READ = ("kCommit", "pmCommit", "sysctl")
"""Keys of a comment in its examples, "option to dvlp", that no version reads."""
IGNORED = {
    **dict.fromkeys(MPTCP_V0, "ignored: a setting of MPTCP v0; the kernel's MPTCP has none such"),
    **{
        key: f"ignored, as in Minitopo: only its xpType:{kind} has it"
        for kind, keys in OF_OTHER_EXPERIMENTS.items()
        for key in keys
    },
    **dict.fromkeys(NEVER_READ, "ignored: no version of Minitopo reads it"),
    # The name of today, and that up to 2020, which has done nothing since.
    **dict.fromkeys(("snaplen_pcap", "snaplenPcap"), "ignored: packets are captured whole"),
    **dict.fromkeys(
        ("http_file", "http_file_size"), "ignored: of xpType:http up to 2020; write file, file_size"
    ),
}
"""What is said of keys that change nothing here: of MPTCP v0, and of all commits of Minitopo."""
SYSCTLS = {
    "rmem": "net.ipv4.tcp_rmem",
    "wmem": "net.ipv4.tcp_wmem",
    "autocork": "net.ipv4.tcp_autocorking",
    "earlyRetrans": "net.ipv4.tcp_early_retrans",
    "bufferAutotuning": "net.ipv4.tcp_moderate_rcvbuf",
}
BUFFERS = ("rmem", "wmem")
FLOW, CLIENT_PORTS = "flow", "ncClientPort_"
FILE_KEYS = ("file", "file_size")
RUN_TIME = "quicReqresRunTime"
IPERF_TIME, IPERF_PARALLEL = "iperfTime", "iperfParallel"
IPERF_SIZE = "size"
"""In Minitopo's own file for iperf, which takes a time whatever stands there."""
PATHS = "paths"
CAPTURES = {"clientPcap": "client", "serverPcap": "server"}


def _congestion_control(line: Line, text: str, name: str) -> str:
    # Each run checks that its own runner has it.
    known = {control: None for runner in all_runners() for control in runner.congestion_controls}
    chosen: str = word(*known, *COUPLED)(line, text, name)
    return DEFAULT_CONGESTION_CONTROL if chosen in COUPLED else chosen


def _one_connection(line: Line, text: str, name: str) -> None:
    if whole(1, 1000)(line, text, name) != 1:
        raise line.error("only 1 connection here; several in your Minitopo: minitopo-dc minitopo")


def _buffer(line: Line, text: str, name: str) -> str:
    parts = text.split()
    if len(parts) != 3:
        raise line.error(f"{len(parts)} numbers; write minimum default maximum, in bytes")
    sizes = [whole(1, 2**31 - 1)(line, part, name) for part in parts]
    if sizes != sorted(sizes):
        raise line.error("minimum, default and maximum must ascend")
    return " ".join(map(str, sizes))


def _paths(line: Line, text: str, _name: str) -> PathSchedule:
    try:
        return parse_path_words(text.split(), "paths", first=0)
    except SettingsError as error:
        raise line.error(str(error).removeprefix("paths: ")) from None


READERS: dict[str, Reader] = {
    "xpType": plain,
    "congctrl": _congestion_control,
    **dict.fromkeys(("mptcpEnabled", "quicMultipath"), boolean),
    "pingCount": whole(1, 100_000),
    "pingInterval": number(*PING_INTERVAL_S),
    **dict.fromkeys((RUN_TIME, IPERF_TIME), number(*SECONDS)),
    IPERF_PARALLEL: _one_connection,
    "file": word("random"),
    "file_size": whole(1, 100_000_000),
    **{key: _buffer if key in BUFFERS else whole(0, 4) for key in SYSCTLS},
    **dict.fromkeys(CAPTURES, boolean),
    PATHS: _paths,
    "duration": number(*SECONDS),
    "clock": word("real", "virtual"),
    "timeout": number(*SECONDS),
    **dict.fromkeys(("desc", *IGNORED), plain),
}
"""What reads the value of each key that has one."""


@dataclass(frozen=True, slots=True)
class ExperimentFlow:
    """One of several downloads that run at once."""

    line: Line
    mode: str
    path: int = 0
    transport: str | None = None
    """The transport; None: the experiment's."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The checked content of an experiment file."""

    source: ParameterFile
    type: Line
    values: Mapping[str, Any]
    """The values of the keys that are given (`READERS`); legs of its path schedule are numbered
    from 1, as `path_c2r_0` is leg 1."""
    workload: Workload
    flows: tuple[ExperimentFlow, ...]
    notes: tuple[str, ...]

    @property
    def ends(self) -> dict[str, Any]:
        """Return the kernel settings of the end hosts, and whose packets are captured."""
        sysctl = {SYSCTLS[key]: str(self.values[key]) for key in SYSCTLS if key in self.values}
        captures = tuple(host for key, host in CAPTURES.items() if self.values.get(key))
        return {"sysctl": sysctl, "capture": captures}


def read_experiment(path: Path, types: tuple[str, ...]) -> Experiment:
    """Read and check an experiment file.

    Args:
        path: the file.
        types: the experiment types that are known.

    Raises:
        SettingsError: names file and line of the first mistake, and says what is allowed there.
    """
    file = ParameterFile.read(path)
    # The type is read before the keys, as another experiment has others.
    kind = file.one("xpType")
    if kind is not None and kind.value not in types:
        raise kind.error(
            f"experiment {kind.value!r}; allowed: {', '.join(types)} "
            "(Minitopo's others, as ab and vlc, run inside your Minitopo: minitopo-dc minitopo)"
        )
    is_iperf = kind is not None and kind.value == IPERF
    readers = READERS | ({IPERF_SIZE: plain} if is_iperf else {})
    values = file.values(readers, (FLOW, CLIENT_PORTS), "xpType", types)
    assert kind is not None  # `values` needs it
    if is_iperf and (line := file.one("duration")) is not None:
        raise line.error(f"xpType:{IPERF} has {IPERF_TIME}")
    flows = tuple(_flow(line) for line in file.all(FLOW))
    return Experiment(file, kind, values, _workload(kind.value, values), flows, (*_notes(file),))


def _flow(line: Line) -> ExperimentFlow:
    """Read `dc[,transport]`, `dc-duplicate[,transport]` or `sc[,path[,transport]]`."""
    readers = {"mode": word(*FLOW_MODES), "path": whole(0, 250), "transport": plain}
    mode = readers["mode"](line, line.value.partition(",")[0].strip(), "mode ")
    if mode != "sc":
        del readers["path"]
    flow = ExperimentFlow(line, **fields(line, readers, 1))
    if mode != "sc" and flow.transport is not None and flow.transport.isdigit():
        raise line.error(f"{mode} uses all paths; only sc names one")
    return flow


def _workload(kind: str, values: Mapping[str, Any]) -> Workload:
    if kind == PING:
        interval_s = values.get("pingInterval", 1.0)
        return Ping(count=values.get("pingCount", DEFAULT_PINGS), interval_s=interval_s)
    if kind == REQUEST_RESPONSE:
        return RequestResponse(duration_s=values.get(RUN_TIME, DEFAULT_RUN_TIME_S))
    duration_s = values.get("duration")
    if kind == IPERF:
        duration_s = values.get(IPERF_TIME, DEFAULT_IPERF_S)
    size_bytes = KB * values.get("file_size", DEFAULT_SIZE_KB)
    return Download(size_mb=size_bytes / 1e6, duration_s=duration_s)


def _notes(file: ParameterFile) -> Iterator[str]:
    for line in file.lines:
        key = "ncClientPort" if line.key.startswith(CLIENT_PORTS) else line.key
        if key in IGNORED:
            yield line.says(IGNORED[key])
        if key == IPERF_SIZE:
            yield line.says(f"ignored, as Minitopo does: iperf sends for {IPERF_TIME}")
        if key == "congctrl" and line.value in COUPLED:
            using = f"using {DEFAULT_CONGESTION_CONTROL}"
            yield line.says(f"ignored: {line.value} is MPTCP v0's; {using}")
