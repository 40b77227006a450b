"""Elements in Python and in C beside a plain UDP proxy: `python -m benchmarks.element`, as root.

The elements of gnb and ue are in series: Dual Connectivity over two legs that take no time, PDUs of
1,200 bytes, in bursts of 16 (at 20,000 a second and below of 4). All kinds take turns at each rate,
in each repetition. CPU time is that of the element's or proxy's process while packets pass.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from minitopo_dc.real.machine.run_registry import registered
from minitopo_dc.real.network.hosts import EmulatedHost, Network, network
from minitopo_dc.real.network.testbed import testbed
from minitopo_dc.scenario import Scenario
from minitopo_dc.topologies.two_path import client_address

HERE = Path(__file__).parent
DEFAULT_KINDS = ("python", "native", "proxy", "none")
CAPTURED = {"python-captures": "python", "native-captures": "native"}
"""Elements that write captures of their legs, and their cores."""
KINDS = (*DEFAULT_KINDS, *CAPTURED)
PORT = "5000"
SIZE = 1200
SILENCE_MS = 500
GNB, UE = "10.0.0.1", "10.1.1.2"
UE_OWN_RULE = ("to", "10.2.0.0/16", "lookup", "main", "priority", "100")
"""What ue sends to the client itself does not take a leg."""
INSTANT = {"rate_mbps": 10_000, "delay_ms": 0, "jitter_ms": 0, "queue_packets": 100_000}
LEGS = [{"downlink": INSTANT, "uplink": INSTANT}] * 2


class Programs(NamedTuple):
    """The programs that are compiled for the benchmark."""

    traffic: Path
    proxy: Path


class Between(NamedTuple):
    """Hosts, the address to send to, and the processes on gnb and ue that carry packets."""

    hosts: Network
    address: str
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """One measurement: of traffic at a rate, or (`rate` 0) of round trips."""

    kind: str
    rate: float
    lost: float
    """Part of the packets."""
    disordered: int
    median_us: float
    p99_us: float
    cpu_us: tuple[float, ...]
    """CPU time for each packet, of gnb's process and of ue's."""


def compiled(directory: Path) -> Programs:
    """Compile the traffic and the proxy.

    Raises:
        subprocess.CalledProcessError: a compiler refused.
    """
    made = Programs(directory / "traffic", directory / "proxy")
    commands = (
        ["cc", "-O2", "-o", str(made.traffic), str(HERE / "traffic.c")],
        ["c++", "-std=c++17", "-O2", "-o", str(made.proxy), str(HERE / "proxy.cpp")],
    )
    for command in commands:
        subprocess.run(command, check=True)
    return made


@contextmanager
def between(kind: str, programs: Programs, directory: Path) -> Iterator[Between]:
    """Give fresh hosts with what carries packets between them, for a block."""
    core = CAPTURED.get(kind, kind)
    if core in ("python", "native"):
        real = {"core": core, "capture": ["legs"] if kind in CAPTURED else []}
        fields = {"transport": "tcp", "mode": "dc", "legs": LEGS, "real": real}
        with testbed(Scenario.check(fields, "benchmark"), directory) as bed:
            yield Between(bed.hosts, client_address(1), tuple(each.pid for each in bed.elements))
        return
    with registered(), network(2) as hosts, ExitStack() as stack:
        hosts.ue.popen(["ip", "rule", "add", *UE_OWN_RULE]).wait()
        ways = ((hosts.ue, client_address(1)), (hosts.gnb, UE)) if kind == "proxy" else ()
        pids = [
            stack.enter_context(running(host, programs.proxy, PORT, following, PORT)).pid
            for host, following in ways
        ]
        address = GNB if kind == "proxy" else client_address(1)
        yield Between(hosts, address, tuple(reversed(pids)))


@contextmanager
def running(host: EmulatedHost, program: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program on a host from its line `ready` to the end of the block."""
    process = host.popen([str(program), *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{program.name} on {host.name} did not start")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def cpu_ns(pid: int) -> int:
    """Return the CPU time (ns) of a process with one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])


def answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the JSON that a program prints at its end."""
    found: dict[str, Any] = json.loads(process.communicate()[0])
    return found


def at_rate(kind: str, rate: float, seconds: float, programs: Programs, directory: Path) -> Row:
    """Send packets at a rate (1/s), and count what arrives."""
    burst = "4" if rate <= 20_000 else "16"
    words = [str(rate), str(seconds), str(SIZE), burst]
    with between(kind, programs, directory) as way:
        with running(way.hosts.client, programs.traffic, "sink", PORT, str(SILENCE_MS)) as sink:
            before = [cpu_ns(pid) for pid in way.pids]
            send = [str(programs.traffic), "send", way.address, PORT, *words]
            answer(way.hosts.server.popen(send, stdout=subprocess.PIPE))
            found = answer(sink)
        spent = [cpu_ns(pid) - each for pid, each in zip(way.pids, before, strict=True)]
    packets = int(rate * seconds)
    return Row(
        kind,
        rate,
        1 - found["received"] / packets,
        found["disordered"],
        found["median_us"],
        found["p99_us"],
        tuple(round(each / packets / 1000, 2) for each in spent),
    )


def round_trips(kind: str, count: int, programs: Programs, directory: Path) -> Row:
    """Ask one thing after the other, every 2 ms, and measure the round trips."""
    with (
        between(kind, programs, directory) as way,
        running(way.hosts.client, programs.traffic, "echo", PORT),
    ):
        ask = [str(programs.traffic), "ask", way.address, PORT, str(count), "2000", "128"]
        found = answer(way.hosts.server.popen(ask, stdout=subprocess.PIPE))
    lost = 1 - found["answered"] / count
    return Row(kind, 0, lost, 0, found["median_us"], found["p99_us"], ())


def medians(rows: Sequence[Row]) -> str:
    """Return a line of the medians over repetitions."""
    first = rows[0]
    what = f"{first.rate:>8.0f}/s" if first.rate else "round trip"
    of_ends = zip(*(row.cpu_us for row in rows), strict=True)
    numbers = (
        f"{median(row.lost for row in rows):8.2%} lost",
        f"{max(row.disordered for row in rows):6d} disordered",
        f"{median(row.median_us for row in rows):9.0f} us",
        f"p99 {median(row.p99_us for row in rows):9.0f} us",
        "CPU us " + " / ".join(f"{median(each):.1f}" for each in of_ends),
    )
    return f"{what:>10} {first.kind:15}" + "  ".join(numbers)


def main() -> None:
    """Measure all kinds in turn and print a line for each rate and kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=DEFAULT_KINDS)
    parser.add_argument("--rates", nargs="+", type=float, default=[10e3, 20e3, 40e3, 100e3, 140e3])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--round-trips", type=int, default=500, help="of a repetition; 0: none")
    parser.add_argument("--json", type=Path, help="write every measurement there, a line each")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f}", file=sys.stderr)  # noqa: T201
    found: dict[tuple[float, str], list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="minitopo-dc-") as name, ExitStack() as stack:
        directory = Path(name)
        programs = compiled(directory)
        file = stack.enter_context(asked.json.open("w", encoding="utf-8")) if asked.json else None
        for _ in range(asked.repetitions):
            for rate in (*([0.0] if asked.round_trips else []), *asked.rates):
                for kind in asked.kinds:
                    row = (
                        at_rate(kind, rate, asked.seconds, programs, directory)
                        if rate
                        else round_trips(kind, asked.round_trips, programs, directory)
                    )
                    found.setdefault((rate, kind), []).append(row)
                    if file is not None:
                        print(json.dumps(asdict(row)), file=file, flush=True)
    for rows in found.values():
        print(medians(rows))  # noqa: T201


if __name__ == "__main__":
    main()
