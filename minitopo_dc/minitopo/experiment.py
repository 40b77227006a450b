"""An experiment file: who sends what, with which congestion control and kernel settings.

Minitopo was made for the out-of-tree kernel of MPTCP v0. Those of its settings that have no
counterpart in the kernel's own MPTCP (RFC 8684) are named as ignored, so that nobody relies on
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.fields import PathSchedule, SettingsError, parse_path_words
from minitopo_dc.fields.ranges import CONGESTION_CONTROL
from minitopo_dc.minitopo.lines import Line, ParameterFile, fields, whole, word
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
PREFIXES = ("ncClientPort_",)
SYSCTLS = {
    "rmem": "net.ipv4.tcp_rmem",
    "wmem": "net.ipv4.tcp_wmem",
    "autocork": "net.ipv4.tcp_autocorking",
    "earlyRetrans": "net.ipv4.tcp_early_retrans",
    "bufferAutotuning": "net.ipv4.tcp_moderate_rcvbuf",
}
BUFFERS = ("rmem", "wmem")
FILE_KEYS = ("file", "file_size")
RUN_TIME = "quicReqresRunTime"
IPERF_TIME, IPERF_PARALLEL = "iperfTime", "iperfParallel"
IPERF_SIZE = "size"
"""In Minitopo's own file for iperf, which takes a time whatever stands there."""
PATHS = "paths"
CAPTURES = {"clientPcap": "client", "serverPcap": "server"}
NAMES = (
    *(
        "xpType",
        "congctrl",
        "mptcpEnabled",
        "quicMultipath",
        "pingCount",
        "pingInterval",
        *(RUN_TIME, IPERF_TIME, IPERF_PARALLEL),
        *FILE_KEYS,
        *SYSCTLS,
    ),
    *(*CAPTURES, PATHS, "flow", "duration", "clock", "timeout", "desc", *IGNORED),
)


@dataclass(frozen=True, slots=True)
class ExperimentFlow:
    """One of several downloads that run at once."""

    line: Line
    mode: str
    path: int
    transport: str | None
    """The transport; None: the experiment's."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """The checked content of an experiment file."""

    source: ParameterFile
    type: Line
    workload: Workload
    congestion_control: str
    mptcp: bool | None
    """The value of `mptcpEnabled`, if it is given."""
    quic_multipath: bool
    sysctl: dict[str, str]
    captures: tuple[str, ...]
    """The hosts whose packets are captured."""
    flows: tuple[ExperimentFlow, ...]
    paths: PathSchedule | None
    """The path schedule; legs are numbered from 1, as `path_c2r_0` is leg 1."""
    clock: str | None
    timeout_s: float | None
    notes: tuple[str, ...]


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
    if (given := file.one("xpType")) is not None and given.value not in types:
        raise given.error(
            f"experiment {given.value!r}; allowed: {', '.join(types)} "
            "(Minitopo's others, as ab and vlc, run inside your Minitopo: minitopo-dc minitopo)"
        )
    is_iperf = given is not None and given.value == IPERF
    names = (*NAMES, IPERF_SIZE) if is_iperf else NAMES
    file.check_keys(names, PREFIXES)
    kind = file.needed("xpType", types)
    for key in names:
        if key != "flow":
            file.one(key)
    control, ignored = _congestion_control(file)
    clock, content = file.one("clock"), file.one("file")
    if content is not None and content.value != "random":
        raise content.error(f"{content.value!r}: only random content is served; write file:random")
    return Experiment(
        source=file,
        type=kind,
        workload=_workload(file, kind.value),
        congestion_control=control,
        mptcp=file.boolean("mptcpEnabled"),
        quic_multipath=bool(file.boolean("quicMultipath")),
        sysctl={name: value for key, name in SYSCTLS.items() for value in _sysctl(file, key)},
        captures=tuple(host for key, host in CAPTURES.items() if file.boolean(key)),
        flows=tuple(_flow(line) for line in file.all("flow")),
        paths=_paths(file),
        clock=word(clock, clock.value, "clock", ("real", "virtual")) if clock else None,
        timeout_s=file.number("timeout", *SECONDS),
        notes=(*ignored, *_notes(file)),
    )


def _congestion_control(file: ParameterFile) -> tuple[str, list[str]]:
    line = file.one("congctrl")
    if line is None:
        return DEFAULT_CONGESTION_CONTROL, []
    # Each run checks that its own runner has it.
    known = {name: None for runner in all_runners() for name in runner.congestion_controls}
    chosen = word(line, line.value, "congestion control", (*known, *COUPLED))
    if chosen in COUPLED:
        words = f"ignored: {chosen} is MPTCP v0's; using {DEFAULT_CONGESTION_CONTROL}"
        return DEFAULT_CONGESTION_CONTROL, [line.says(words)]
    return chosen, []


def _sysctl(file: ParameterFile, key: str) -> Iterator[str]:
    line = file.one(key)
    if line is None:
        return
    if key not in BUFFERS:
        yield str(whole(line, line.value, key, 0, 4))
        return
    parts = line.value.split()
    if len(parts) != 3:
        raise line.error(f"{len(parts)} numbers; write minimum default maximum, in bytes")
    sizes = [whole(line, part, key, 1, 2**31 - 1) for part in parts]
    if sizes != sorted(sizes):
        raise line.error("minimum, default and maximum must ascend")
    yield " ".join(map(str, sizes))


def _flow(line: Line) -> ExperimentFlow:
    """Read `dc[,transport]`, `dc-duplicate[,transport]` or `sc[,path[,transport]]`."""
    mode = word(line, line.value.partition(",")[0].strip(), "mode", FLOW_MODES)
    names = ("mode", "path", "transport") if mode == "sc" else ("mode", "transport")
    given = dict(zip(names, fields(line, names, 1), strict=False))
    path, transport = given.get("path", "0"), given.get("transport")
    if mode != "sc" and transport is not None and transport.isdigit():
        raise line.error(f"{mode} uses all paths; only sc names one")
    return ExperimentFlow(line, mode, whole(line, path, "path", 0, 250), transport)


def _paths(file: ParameterFile) -> PathSchedule | None:
    line = file.one(PATHS)
    if line is None:
        return None
    try:
        return parse_path_words(line.value.split(), "paths", first=0)
    except SettingsError as error:
        raise line.error(str(error).removeprefix("paths: ")) from None


def _workload(file: ParameterFile, kind: str) -> Workload:
    parallel = file.one(IPERF_PARALLEL)
    if parallel is not None and file.whole(IPERF_PARALLEL, 1, 1000) != 1:
        raise parallel.error(
            "only 1 connection here; several in your Minitopo: minitopo-dc minitopo"
        )
    pings = Ping(
        count=file.whole("pingCount", 1, 100_000) or DEFAULT_PINGS,
        interval_s=file.number("pingInterval", *PING_INTERVAL_S) or 1.0,
    )
    requests = RequestResponse(duration_s=file.number(RUN_TIME, *SECONDS) or DEFAULT_RUN_TIME_S)
    duration_s, iperf_s = file.number("duration", *SECONDS), file.number(IPERF_TIME, *SECONDS)
    if kind == IPERF and (line := file.one("duration")) is not None:
        raise line.error(f"xpType:{IPERF} has {IPERF_TIME}")
    if kind == IPERF:
        duration_s = iperf_s or DEFAULT_IPERF_S
    size_bytes = KB * (file.whole("file_size", 1, 100_000_000) or DEFAULT_SIZE_KB)
    download = Download(size_mb=size_bytes / 1e6, duration_s=duration_s)
    return {PING: pings, REQUEST_RESPONSE: requests}.get(kind, download)


def _notes(file: ParameterFile) -> Iterator[str]:
    for line in file.lines:
        key = "ncClientPort" if line.key.startswith(PREFIXES) else line.key
        if key in IGNORED:
            yield line.says(IGNORED[key])
        if key == IPERF_SIZE:
            yield line.says(f"ignored, as Minitopo does: iperf sends for {IPERF_TIME}")
