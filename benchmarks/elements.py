"""Elements in Python and in C beside a plain UDP proxy, and beside the system calls of an element.

The elements of gnb and ue are in series: Dual Connectivity over two legs that take no time. PDUs of
1,200 bytes come one by one (up to 1,000 a second, which tells the delay that is added), in bursts
of 4 (up to 20,000) or 16. All kinds take turns at each rate, in each repetition. CPU time is that
of the element's or proxy's process while packets pass, memory what is resident when they have
passed. Proxies have the priority of elements. With `--seconds 1800` this is a long run.

What the kinds `queue` cost is the kernel's: they receive packets from an NFQUEUE and give them
back, and nothing else (`traffic.c`). With `queue-gso` the segments of a burst stay together, which
no PDU of PDCP can.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from minitopo_dc.cli.screen import progress
from minitopo_dc.real.run_registry import registered
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.addresses import client_address
from minitopo_dc.scratch import scratch

if TYPE_CHECKING:
    from minitopo_dc.real.hosts import EmulatedHost, Network

# ruff: noqa: PLC0415
# What needs Mininet is imported when it is used: other benchmarks run without.

DEFAULT_KINDS = ("none", "proxy", "queue", "python", "native")
CAPTURED = {"python-captures": "python", "native-captures": "native"}
"""Elements that write captures of their legs, and their cores."""
KINDS = (*DEFAULT_KINDS, "queue-gso", *CAPTURED)
PORT = "5000"
QUEUE = "1"
TO_QUEUE = (
    *("iptables", "-t", "mangle", "-A", "PREROUTING", "-p", "udp", "--dport", PORT),
    *("-j", "NFQUEUE", "--queue-num", QUEUE),
)
AS_ELEMENTS = ("chrt", "--fifo", "10")
"""The priority of elements: what waits longer for a processor reads more packets in a call."""
UNCUT = ("tx", "on", "gso", "on", "tx-udp-segmentation", "on")
"""Settings of ethtool with which the server's kernel leaves the segments of a burst together."""
SIZE = 1200
BURSTS = {1000: "1", 20_000: "4", math.inf: "16"}
"""PDUs that are sent at once, by the highest rate."""
SILENCE_MS = 500
GNB, UE = "10.0.0.1", "10.1.1.2"
UE_OWN_RULE = ("to", "10.2.0.0/16", "lookup", "main", "priority", "100")
"""What ue sends to the client itself does not take a leg."""
INSTANT = {"rate_mbps": 10_000, "delay_ms": 0, "jitter_ms": 0, "queue_packets": 100_000}
LEGS = [{"downlink": INSTANT, "uplink": INSTANT}] * 2


class Between(NamedTuple):
    """Hosts, the address to send to, and the processes on gnb and ue that carry packets."""

    hosts: Network
    address: str
    pids: tuple[int, ...]


def compiled(directory: Path) -> Path:
    """Compile the program that sends, receives and is the proxy; return it."""
    program = directory / "traffic"
    source = Path(__file__).with_name("traffic.c")
    subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)
    return program


@contextmanager
def between(kind: str, program: Path, directory: Path) -> Iterator[Between]:
    """Give fresh hosts with what carries packets between them, for a block."""
    from minitopo_dc.real.elements import testbed
    from minitopo_dc.real.hosts import network

    core = CAPTURED.get(kind, kind)
    if core in ("python", "native"):
        real = {"core": core, "capture": ["legs"] if kind in CAPTURED else []}
        fields = {"transport": "tcp", "mode": "dc", "legs": LEGS, "real": real}
        with testbed(Scenario.check(fields, "benchmark"), directory) as bed:
            pids = tuple(element.pid for element in bed.elements)
            yield Between(bed.hosts, client_address(1), pids)
        return
    with registered(), network(2) as hosts, ExitStack() as stack:
        hosts.ue.popen(["ip", "rule", "add", *UE_OWN_RULE]).wait()
        if kind.startswith("queue"):
            pids = tuple(
                _queue(stack, hosts, host, program, whole=kind == "queue-gso")
                for host in (hosts.gnb, hosts.ue)
            )
            yield Between(hosts, client_address(1), pids)
            return
        hops = ((hosts.ue, client_address(1)), (hosts.gnb, UE)) if kind == "proxy" else ()
        pids = tuple(
            stack.enter_context(
                running(host, program, "proxy", PORT, address, PORT, within=AS_ELEMENTS)
            ).pid
            for host, address in hops
        )
        yield Between(hosts, GNB if kind == "proxy" else client_address(1), pids[::-1])


def _queue(
    stack: ExitStack, hosts: Network, host: EmulatedHost, program: Path, *, whole: bool
) -> int:
    """Have the program carry what reaches a host, until the stack ends; return its process."""
    if whole:
        command = ["ethtool", "-K", "server-core", *UNCUT]
        hosts.server.popen(command, stdout=subprocess.DEVNULL).wait()
    words = ("queue", QUEUE, str(int(whole)))
    process = stack.enter_context(running(host, program, *words, within=AS_ELEMENTS))
    if code := host.popen(TO_QUEUE).wait():
        raise RuntimeError(f"iptables on {host.name} ended with {code}")
    return process.pid


@contextmanager
def running(
    host: EmulatedHost, program: Path, *words: str, within: Sequence[str] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program on a host, by another one, from its line `ready` to the end of the block."""
    process = host.popen([*within, str(program), *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{program.name} on {host.name} did not start")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def answer(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """Return the JSON that a program prints at its end."""
    printed: dict[str, float] = json.loads(process.communicate()[0])
    return printed


def cpu_ns(pid: int) -> int:
    """Return the CPU time (ns) of a process with one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


def at_rate(way: Between, rate: float, seconds: float, program: Path) -> dict[str, float]:
    """Send packets at a rate (1/s), and count what arrives."""
    hosts, address, pids = way
    burst = next(burst for most, burst in BURSTS.items() if rate <= most)
    words = [address, PORT, str(rate), str(seconds), str(SIZE), burst]
    with running(hosts.client, program, "sink", PORT, str(SILENCE_MS)) as sink:
        before = [cpu_ns(pid) for pid in pids]
        answer(hosts.server.popen([str(program), "send", *words], stdout=subprocess.PIPE))
        arrived = answer(sink)
    packets = int(rate * seconds)
    row = {name: arrived[name] for name in ("disordered", "median_us", "p99_us")}
    row["lost"] = 1 - arrived["received"] / packets
    for host, pid, start in zip(("gnb", "ue"), pids, before, strict=False):
        row[f"{host}_cpu_us"] = (cpu_ns(pid) - start) / packets / 1000
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        row[f"{host}_memory_mb"] = pages * os.sysconf("SC_PAGE_SIZE") / 1e6  # proc(5)
    return row


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the medians over repetitions by rate and kind, and what CPU time is of the proxy's."""
    table = pd.DataFrame(rows).groupby(["rate", "kind"], sort=False).median()
    cpu = table.filter(like="cpu_us").sum(axis=1, min_count=1)
    proxies = cpu[cpu.index.get_level_values("kind") == "proxy"].droplevel("kind")
    of_rate = proxies.reindex(table.index.get_level_values("rate")).to_numpy()
    table["cpu_to_proxy"] = (cpu / of_rate).round(2)
    return {
        f"{rate:g}/s": {
            str(kind): values.dropna().round(3).to_dict()
            for kind, values in part.droplevel("rate").iterrows()
        }
        for rate, part in table.groupby(level="rate", sort=False)
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=DEFAULT_KINDS)
    parser.add_argument("--rates", nargs="+", type=float, default=[500, 20e3, 40e3, 100e3, 140e3])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--repetitions", type=int, default=9)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure loss, delay and CPU time of both elements beside a plain UDP proxy (root)."""
    rows = []
    with scratch() as directory:
        program = compiled(directory)
        turns = [*product(range(options.repetitions), options.rates, options.kinds)]
        for _, rate, kind in progress(turns, lambda turn: f"{turn[2]} at {turn[1]:,.0f} packets/s"):
            with between(kind, program, directory) as way:
                measured = at_rate(way, rate, options.seconds, program)
            rows.append({"rate": rate, "kind": kind} | measured)
    return {**summary(rows), "processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
