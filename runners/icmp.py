"""ICMP echoes by ping(8), answered by the server's kernel: the transport of workload `ping`.

As a program it is the client, which prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, ClassVar, Literal, NamedTuple

from minitopo_dc.runners.base import Runner, Transfer, TransferFailed, runner
from minitopo_dc.runners.processes.process import last_json
from minitopo_dc.runners.programs import Tool, not_installed, wait_for_start
from minitopo_dc.workloads import Measurement, Ping


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

    def obstacle(self) -> str | None:
        """Return what this machine lacks, None if it has the client, ping."""
        return not_installed(self.tools)

    def run_obstacle(self, congestion_control: str) -> str | None:  # noqa: ARG002 (it has none)
        """Return what this machine lacks; echoes have no congestion control."""
        return self.obstacle()

    def server_command(self, transfer: Transfer) -> list[str]:
        """Refuse with TypeError, as there is no server program."""
        raise TypeError(f"{self.name} has no server: {transfer.server_address} answers by itself")

    def client_command(self, transfer: Transfer) -> list[str]:
        """Return the command of `minitopo_dc.runners.icmp`, which pings all pairs."""
        return transfer.command("minitopo_dc.runners.icmp", "client")

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


DATA_BYTES = 16
"""The least that ping(8) can put its timestamp in. The whole packet has 44 bytes (IPv6: 64), which
take 0.09 ms at 4 Mbit/s; ping's own 84 would add 0.34 ms to the round-trip time of two such paths.
"""
_REPLY = re.compile(r"\[(\d+\.\d+)\].*icmp_seq=(\d+) .*time=([\d.]+) ms")
_TOTALS = re.compile(r"(\d+) packets transmitted, (\d+) received")
_TIMES = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/[\d.]+ ms")


class Pair(NamedTuple):
    """The addresses of a leg and of a backhaul link, each counted from 1."""

    leg: int
    backhaul: int
    client: str
    server: str


def read(pair: Pair, printed: str, start: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a pair's summary, and a row per echo that came back.

    Times are in s since `start`, round-trip times in ms.

    Raises:
        TransferFailed: ping printed no totals.
    """
    totals, times = _TOTALS.search(printed), _TIMES.search(printed)
    if totals is None:
        raise TransferFailed(f"ping failed: {printed.strip()[-200:]}")
    place = {"leg": pair.leg, "backhaul": pair.backhaul}
    rows = [
        # ping -D prints when the answer came
        {**place, "time_s": round(float(at) - start - float(rtt) / 1e3, 4), "rtt_ms": float(rtt)}
        for at, _, rtt in _REPLY.findall(printed)
    ]
    names = ("minimum_ms", "mean_ms", "maximum_ms")
    values = [float(time) for time in times.groups()] if times else [None] * len(names)
    counts = {"sent": int(totals[1]), "received": int(totals[2])}
    return {**place, **counts, **dict(zip(names, values, strict=True))}, rows


def main() -> None:
    """Run ping for all pairs and print the report."""
    transfer = Transfer.given()
    wait_for_start()
    started_ns, begin, start = time.monotonic_ns(), time.monotonic(), time.time()
    report: dict[str, Any] = {"round_trips": [], "rows": [], "error": None}
    try:
        for pair, printed in _ping_all(transfer, begin):
            summary, rows = read(pair, printed, start)
            report["round_trips"].append(summary)
            report["rows"] += rows
    except TransferFailed as error:
        report["error"] = str(error)
    ended_s = time.monotonic() - begin
    print(json.dumps({**report, "ended_s": ended_s, "started_ns": started_ns}), flush=True)  # noqa: T201


def _ping_all(transfer: Transfer, begin: float) -> Iterator[tuple[Pair, str]]:
    """Yield what the ping of each pair printed; they begin one after the other in an interval."""
    workload = transfer.workload
    assert isinstance(workload, Ping)  # it carries no other
    servers = (transfer.server_address, *transfer.more_server_addresses)
    pairs = [
        Pair(leg, link, client, server)
        for link, server in enumerate(servers, start=1)
        for leg, client in enumerate(transfer.client_addresses, start=1)
    ]
    words = [
        # It ends with this process, however that ends.
        *("setpriv", "--pdeathsig", "KILL", "ping", "-n", "-D", "-s", str(DATA_BYTES)),
        *("-c", str(workload.count), "-i", f"{workload.interval_s:g}", "-I"),
    ]
    with ExitStack() as stack:
        running = []
        for index, pair in enumerate(pairs):
            due = begin + index / len(pairs) * workload.interval_s
            time.sleep(max(0.0, due - time.monotonic()))
            process = subprocess.Popen(
                [*words, pair.client, pair.server],
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            running.append((pair, process))
        for pair, process in running:
            yield pair, process.communicate()[0]


if __name__ == "__main__":
    main()
