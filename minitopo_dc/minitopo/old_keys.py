"""Keys of an experiment file that Minitopo had at some time, from all commits of its repository.

A key that changes nothing in the experiments that run here, and never did, is ignored; one that did
has another name by now, which the error says.
"""

from __future__ import annotations

from collections.abc import Iterator

from minitopo_dc.minitopo.lines import Line, ParameterFile

OF_OTHER_EXPERIMENTS = {
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
SNAPLENS = ("snaplen_pcap", "snaplenPcap")
"""The name of today, and that up to 2020, which has done nothing since."""
HTTP_KEYS = {"http_file": "file", "http_file_size": "file_size"}
"""Of xpType:http, up to 2020, and their names of today."""
_OWNERS = {key: kind for kind, keys in OF_OTHER_EXPERIMENTS.items() for key in keys}
NAMES = (*_OWNERS, *NEVER_READ, *SNAPLENS, *HTTP_KEYS)
PREFIXES = ("ncClientPort_",)


def old_key_notes(file: ParameterFile, kind: str) -> Iterator[str]:
    """Yield a note on each line whose key changes nothing.

    Raises:
        ParameterError: a key did change something in an older Minitopo.
    """
    for line in file.lines:
        if (words := _note(line, kind)) is not None:
            yield line.says(words)


def _note(line: Line, kind: str) -> str | None:
    key = "ncClientPort" if line.key.startswith(PREFIXES) else line.key
    if key in _OWNERS:
        return f"ignored, as in Minitopo: only its xpType:{_OWNERS[key]} has it"
    if key in NEVER_READ:
        return "ignored: no version of Minitopo reads it"
    if key in SNAPLENS:
        return "ignored: packets are captured whole"
    if key in HTTP_KEYS:
        if kind == "http":
            raise line.error(f"an older Minitopo's; write {HTTP_KEYS[key]}")
        return "ignored, as in Minitopo: only xpType:http had it"
    return None
