"""Minitopo's experiments that start programs, as workloads `command` of this project's programs.

The numbers and their defaults are those of Minitopo's `ab` and `sirimsg`.
"""

from __future__ import annotations

from dataclasses import dataclass

from minitopo_dc.fields import SettingsError
from minitopo_dc.minitopo.lines import ParameterFile, number, whole
from minitopo_dc.workloads import Command
from minitopo_dc.workloads.command import Measure

AB, SIRI_MSG = "ab", "sirimsg"
TYPES = (AB, SIRI_MSG)
HTTP_PORT, SIRI_PORT, MESSAGE_PORT = 8000, 8080, 8000
"""Where the servers listen; Minitopo's HTTP server has 80, for which it needs root."""
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Key:
    """A number of an experiment file, which becomes an option of a program."""

    option: str
    default: float | None
    """None: it has to be given."""
    least: float
    most: float
    is_whole: bool = True


AB_KEYS = {
    "abConccurentRequests": Key("--concurrent", 50, 1, 20_000),  # Minitopo's spelling; ab's limit
    "abTimelimit": Key("--seconds", 20, 0.001, 86_400, is_whole=False),
}
SIRI_KEYS = {
    "siriRunTime": Key("--seconds", None, 0.001, 86_400, is_whole=False),
    "siriQuerySize": Key("--query-bytes", 2500, 64, MAX_BYTES),
    "siriResponseSize": Key("--response-bytes", 750, 16, MAX_BYTES),
    "siriDelayQueryResponse": Key("--response-delay", 0, 0, 3600),
    "siriMinPayloadSize": Key("--least-payload", 85, 48, MAX_BYTES),
    "siriMaxPayloadSize": Key("--most-payload", 500, 96, MAX_BYTES),
    "siriIntervalTimeMs": Key("--interval-ms", 333, 1, 3_600_000),
    "siriBufferSize": Key("--buffer-queries", 9, 1, 10_000),
    "siriBurstSize": Key("--burst-queries", 0, 0, MAX_BYTES),
    "siriIntervalBurstTimeMs": Key("--burst-interval-ms", 0, 0, 3_600_000),
    "msgClientSleep": Key("--message-pause", 5, 0, 3600, is_whole=False),
    "msgServerSleep": Key("--message-delay", 5, 0, 3600, is_whole=False),
    "msgNbRequests": Key("--messages", 5, 0, 100_000),
    "msgBytes": Key("--message-bytes", 1200, 1, MAX_BYTES),
}
KEYS = {AB: AB_KEYS, SIRI_MSG: SIRI_KEYS}
AB_MEASURES = (  # The first three are in the line of progress.
    *("requests_per_s", "request_mean_ms", "failed_requests", "complete_requests", "received_mbps"),
    *("connect_mean_ms", "request_median_ms", "request_p95_ms", "request_max_ms"),
)
SIRI_MEASURES = (
    *("query_mean_ms", "queries", "missed_queries", "answered_queries", "query_median_ms"),
    *("query_p95_ms", "query_max_ms", "messages", "answered_messages"),
)
UNITS = {"per_s": "1/s", "ms": "ms", "mbps": "Mbit/s"}
"""By the end of a measure's name; others are counts."""


def program_workload(
    source: ParameterFile, kind: str, size_bytes: int, seed: int, *, multipath: bool
) -> Command:
    """Return the programs of an experiment file, with the numbers that they print.

    Args:
        source: the experiment file.
        kind: one of `TYPES`.
        size_bytes: of the file that `ab` requests.
        seed: of the sizes of Siri's packets.
        multipath: whether the sockets are MPTCP's.

    Raises:
        SettingsError: names file and line of a number that is not allowed.
    """
    options = _options(source, KEYS[kind]) + (["--mptcp"] if multipath else [])
    if kind == AB:
        options += ["--port", str(HTTP_PORT), "--bytes", str(size_bytes)]
        return _command("web_load", options, HTTP_PORT, AB_MEASURES)
    _check_payloads(source)
    options += ["--port", str(SIRI_PORT), "--message-port", str(MESSAGE_PORT), "--seed", str(seed)]
    return _command("messages", options, SIRI_PORT, SIRI_MEASURES)


def _command(program: str, options: list[str], port: int, measures: tuple[str, ...]) -> Command:
    words = ("{python}", "-m", "minitopo_dc.runners.command.programs", program)
    both = ["--server", "{server}", *options]
    return Command(
        client=(*words, "client", *both),
        server=(*words, "server", *both),
        server_ready=port,
        measures={name: Measure(json_path=name, unit=_unit(name)) for name in measures},
    )


def _unit(measure: str) -> str:
    return next((unit for end, unit in UNITS.items() if measure.endswith(f"_{end}")), "")


def _options(source: ParameterFile, keys: dict[str, Key]) -> list[str]:
    words = []
    for name, key in keys.items():
        line = source.one(name)
        if line is None and key.default is None:
            raise SettingsError(f"{source.path}: no {name}; allowed: {key.least:g} to {key.most:g}")
        value = key.default
        if line is not None and key.is_whole:
            value = whole(line, line.value, name, int(key.least), int(key.most))
        elif line is not None:
            value = number(line, line.value, name, key.least, key.most)
        words += [key.option, f"{value:.15g}"]
    return words


def _check_payloads(source: ParameterFile) -> None:
    names = ("siriQuerySize", "siriMinPayloadSize", "siriMaxPayloadSize")
    lines = [source.one(name) for name in names]
    query, least, most = (
        SIRI_KEYS[name].default if line is None else float(line.value)
        for name, line in zip(names, lines, strict=True)
    )
    assert query is not None and least is not None and most is not None
    wrong = next((line for line in reversed(lines) if line is not None), None)
    if wrong is not None and most < 2 * least:
        raise wrong.error(f"siriMaxPayloadSize {most:g}; allowed: twice the least, {2 * least:g}")
    if wrong is not None and query < least:
        raise wrong.error(f"siriQuerySize {query:g}; allowed: siriMinPayloadSize or more")
