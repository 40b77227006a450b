"""ICMP echoes by ping(8), answered by the server's kernel: the transport of workload `ping`.

As a program it is the client, which prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.processes.start_signal import wait_for_start
from minitopo_dc.runners.programs import ProgramSettings, Tool, not_installed
from minitopo_dc.workloads import Measurement, Ping, Workload


@runner("icmp")
class IcmpRunner(Runner):
    """Echoes from each of the client's addresses to each of the server's, all at the same time."""

    stack: ClassVar[str] = "ping"
    multipath: ClassVar[bool] = False
    every_leg: ClassVar[bool] = True
    has_server: ClassVar[bool] = False
    socket_table: ClassVar[Literal["tcp", "udp"]] = "udp"
    congestion_controls: ClassVar[tuple[str, ...]] = ()
    workloads: ClassVar[tuple[str, ...]] = ("ping",)
    tools: ClassVar[tuple[Tool, ...]] = (Tool("ping", "-V", "iputils-ping"),)
    set_up: ClassVar[bool] = True

    def missing(self) -> str | None:
        """Return what this machine lacks, None if it has the client, ping."""
        return not_installed(self.tools)

    def unsupported(self, congestion_control: str) -> str | None:  # noqa: ARG002 (it has none)
        """Return what this machine lacks; echoes have no congestion control."""
        return self.missing()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Refuse with TypeError, as there is no server program."""
        raise TypeError(f"{self.name} has no server: {transfer.server_address} answers by itself")

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.icmp`, which pings all pairs."""
        wanted = _ping(transfer.workload)
        settings = ClientSettings(
            count=wanted.count,
            interval_s=wanted.interval_s,
            clients=transfer.client_addresses,
            servers=(transfer.server_address, *transfer.more_server_addresses),
        )
        return settings.command("minitopo_dc.runners.icmp", transfer.client_settings)

    def client_waits(self, transfer: Transfer) -> bool:  # noqa: ARG002
        """Return True, as the client is a Python program of this project."""
        return True

    def read(self, transfer: Transfer) -> Measurement:
        """Return the client's report: a summary per pair, and a row per echo that came back."""
        report: dict[str, Any] = last_json(transfer.client_output, "client")
        if report["error"] is not None:
            raise TransferFailed(f"client: {report['error']}")
        details = {"round_trips": report["round_trips"]}
        return Measurement(0, report["ended_s"], details, report["started_ns"], report["rows"])


def _ping(workload: Workload) -> Ping:
    if not isinstance(workload, Ping):
        raise TypeError(f"workload {workload.kind} is no ping")
    return workload


DATA_BYTES = 16
"""The least that ping(8) can put its timestamp in. The whole packet has 44 bytes (IPv6: 64), which
take 0.09 ms at 4 Mbit/s; ping's own 84 would add 0.34 ms to the round-trip time of two such paths.
"""
_REPLY = re.compile(r"\[(\d+\.\d+)\].*icmp_seq=(\d+) .*time=([\d.]+) ms")
_TOTALS = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")


class ClientSettings(ProgramSettings):
    """Settings of this client program."""

    count: int
    """Number of echoes per pair of addresses."""
    interval_s: float
    """Time (s) between echoes of a pair."""
    clients: tuple[str, ...]
    """Addresses to ping from."""
    servers: tuple[str, ...]
    """Addresses to ping."""


class PingFailedError(MinitopoDcError):
    """Error: a ping printed nothing that can be read."""


@dataclass(frozen=True)
class Pair:
    """The addresses of a leg and of a backhaul link, each counted from 1."""

    leg: int
    backhaul: int
    client: str
    server: str


def pairs(clients: Sequence[str], servers: Sequence[str]) -> Iterator[Pair]:
    """Yield all pairs of addresses, leg by leg for each of the server's addresses."""
    for link, server in enumerate(servers, start=1):
        for leg, client in enumerate(clients, start=1):
            yield Pair(leg, link, client, server)


def read(pair: Pair, printed: str, start: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a pair's summary, and a row per echo that came back.

    Times are in s since `start`, round-trip times in ms.

    Raises:
        PingFailedError: ping printed no totals.
    """
    totals, times = _TOTALS.search(printed), _TIMES.search(printed)
    if totals is None:
        raise PingFailedError(f"ping failed: {printed.strip()[-200:]}")
    place = {"leg": pair.leg, "backhaul": pair.backhaul}
    rows = [
        # ping -D prints when the answer came
        {**place, "time_s": round(float(at) - start - float(rtt) / 1e3, 4), "rtt_ms": float(rtt)}
        for at, _, rtt in _REPLY.findall(printed)
    ]
    least, mean, most = (float(times[index]) if times else None for index in (1, 2, 3))
    summary = {
        **place,
        "sent": int(totals[1]),
        "received": int(totals[2]),
        "minimum_ms": least,
        "mean_ms": mean,
        "maximum_ms": most,
    }
    return summary, rows


def main() -> None:
    """Run ping for all pairs and print the report."""
    settings = ClientSettings.given()
    wait_for_start()
    started_ns, begin, start = time.monotonic_ns(), time.monotonic(), time.time()
    report: dict[str, Any] = {"round_trips": [], "rows": [], "error": None}
    try:
        for pair, printed in _ping_all(settings, begin):
            summary, rows = read(pair, printed, start)
            report["round_trips"].append(summary)
            report["rows"] += rows
    except PingFailedError as error:
        report["error"] = str(error)
    ended_s = time.monotonic() - begin
    print(json.dumps({**report, "ended_s": ended_s, "started_ns": started_ns}), flush=True)  # noqa: T201


def _ping_all(settings: ClientSettings, begin: float) -> Iterator[tuple[Pair, str]]:
    wanted = list(pairs(settings.clients, settings.servers))
    with ExitStack() as stack:
        running = []
        for index, pair in enumerate(wanted):
            due = begin + index / len(wanted) * settings.interval_s
            time.sleep(max(0.0, due - time.monotonic()))
            process = stack.enter_context(_start(pair, settings))
            stack.callback(process.kill)
            running.append((pair, process))
        for pair, process in running:
            yield pair, process.communicate()[0]


def _start(pair: Pair, settings: ClientSettings) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            # It ends with this process, however that ends.
            *("setpriv", "--pdeathsig", "KILL", "ping", "-n", "-D", "-s", str(DATA_BYTES)),
            *("-c", str(settings.count), "-i", f"{settings.interval_s:g}"),
            *("-I", pair.client, pair.server),
        ],
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


if __name__ == "__main__":
    main()
