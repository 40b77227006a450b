"""The hosts of a run: a Mininet network, and processes that end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mininet.cli import CLI
from mininet.log import setLogLevel
from mininet.net import Mininet

from minitopo_dc.fields import IpVersion
from minitopo_dc.real.run_registry import signal_all
from minitopo_dc.runners.processes.process import clean_environment
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.topologies.host import ShellEndedError, dismiss_ended, in_ipv6, run_ip, words
from minitopo_dc.topologies.two_path import TwoPath
from minitopo_dc.units import ETHERNET_HEADER_BYTES

Output = IO[bytes] | int | None


class EmulatedHost:
    """One host of the network: the place where a process runs."""

    def __init__(self, node: Any, name: str | None = None) -> None:
        """Wrap a Mininet node, under its own name or another."""
        self._shell = node.shell
        self.name: str = name or node.name
        self.pid: int = node.pid
        """A process whose namespaces are the host's."""

    def popen(
        self,
        arguments: Sequence[str],
        *,
        stdin: Output = subprocess.DEVNULL,
        stdout: Output = None,
        stderr: Output = None,
        in_terminal: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a process on this host.

        It gets SIGKILL when this process ends, however that happens (setpriv's parent-death signal
        outlasts exec). Unless it is to be `in_terminal`, it gets no Ctrl-C of the terminal: its
        starter ends it in order.
        """
        enter = ["setpriv", "--pdeathsig", "KILL", "mnexec", "-a", str(self.pid)]
        return subprocess.Popen(
            [*enter, *arguments],
            env=os.environ if in_terminal else clean_environment(),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=not in_terminal,
        )

    def check(self) -> None:
        """Raise RunFailedError when its shell was ended from outside."""
        code = self._shell and self._shell.poll()
        if code is not None:
            raise RunFailedError(f"host {self.name}: its shell ended with {code}")

    def received_bytes(self) -> int:
        """Return the IP bytes that all interfaces but lo have received."""
        return sum(count for name, count in self.interface_bytes().items() if name != "lo")

    def interface_bytes(self) -> dict[str, int]:
        """Return the IP bytes that each interface has received (proc(5), net/dev)."""
        table = Path(f"/proc/{self.pid}/net/dev").read_text(encoding="ascii")
        rows = [line.split(":", 1) for line in table.splitlines() if ":" in line]
        counts = [(name.strip(), counts.split()) for name, counts in rows]
        return {name: int(row[0]) - ETHERNET_HEADER_BYTES * int(row[1]) for name, row in counts}


class Network:
    """The hosts of a run: server, gnb, ue and client; edge and agg where there is a backhaul."""

    def __init__(self, net: Mininet) -> None:
        self._net = net
        self.server, self.gnb, self.ue, self.client = (
            self[name] for name in ("server", "gnb", "ue", "client")
        )

    def __getitem__(self, name: str) -> EmulatedHost:
        """Return the host of this name."""
        return EmulatedHost(self._net[name])

    def check(self) -> None:
        """Raise RunFailedError when a host was ended from outside."""
        for node in self._net.hosts:
            EmulatedHost(node).check()

    def command_line(self) -> None:
        """Read and run Mininet's commands from standard input until it ends, or `exit`."""
        setLogLevel("output")  # the command line writes what commands say through the log
        before = signal.getsignal(signal.SIGINT)
        try:
            if sys.stdin.isatty():
                # Ctrl-C ends a host's command, as often as it is typed, and not this one.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                CLI(self._net)
                return
            # An input on which nothing ever arrives, and that does not end.
            reading, writing = os.pipe()
            with os.fdopen(reading) as stdin, os.fdopen(writing, "w"):
                _Batch(self._net, stdin=stdin)
        finally:
            signal.signal(signal.SIGINT, before)
            setLogLevel("error")


@contextmanager
def network(legs: int, backhaul: int = 0, ip_version: IpVersion = 4) -> Iterator[Network]:
    """Build the two-path topology with `legs` legs, and take it down again."""
    setLogLevel("error")
    topology = TwoPath(legs=legs, backhaul=backhaul, ip=ip_version)
    net = Mininet(topo=topology, controller=None, build=False)
    try:
        net.build()
        _introduce(net, "gnb", "ue", ip_version)
        _introduce(net, "ue", "gnb", ip_version)
        made = Network(net)
        yield made
        made.check()
    except ShellEndedError as error:
        raise RunFailedError(str(error)) from error
    except Exception:
        for node in net.hosts:
            EmulatedHost(node).check()  # it explains whatever came of it
        raise
    finally:
        take_down(net, net.stop)


def take_down(net: Mininet, stop: Callable[[], None]) -> None:
    """Stop a network, whatever happened to its hosts' shells.

    A host without its shell goes with its processes (`run_registry.registered`).
    """
    dismiss_ended(net.values())
    try:
        stop()
    except ShellEndedError:  # meanwhile
        for node in net.values():
            node.terminate()


def _introduce(net: Mininet, near: str, far: str, ip_version: IpVersion) -> None:
    """Tell a host at one end of the legs the link-layer addresses of the other for good.

    A radio bearer has no neighbours to find. A leg of the kernel's would delay and lose the packets
    that find them (RFC 826, RFC 4861), and then all packets that wait for the answer.
    """
    commands = []
    for leg in net.linksBetween(net[near], net[far]):
        own, other = sorted((leg.intf1, leg.intf2), key=lambda end: end.node.name != near)
        addresses = [other.ip] if ip_version == 4 else [other.ip, in_ipv6(other.ip)]
        commands += [
            words(f"neighbour replace {address} lladdr {other.MAC()} dev {own.name}")
            for address in addresses
        ]
    run_ip(net[near], commands)


class _Batch(CLI):  # type: ignore[misc]
    """Commands one after the other; Mininet would feed waiting ones to the one that runs."""

    readlineInited = True  # noqa: N815 - Mininet's name
    """No history of what nobody typed."""

    def run(self) -> None:
        """Run each line of standard input as a command."""
        for line in sys.stdin:
            if self.onecmd(self.precmd(line.strip())):
                return

    def emptyline(self) -> Any:
        """Do nothing, where `cmd.Cmd` would repeat the last command."""


PATIENCE_S = {signal.SIGTERM: 1.0, signal.SIGKILL: 2.0}
"""How long processes may take to disappear after each signal."""


@contextmanager
def ending_leftovers(hosts: Sequence[EmulatedHost]) -> Iterator[None]:
    """End, after the block, the processes that were started on these hosts and still run.

    A process may have given up all else that shows whose it is: its parents, session and
    environment.
    """
    namespaces = {namespace for host in hosts if (namespace := _namespace(host.pid)) is not None}
    before = set(_processes_in(namespaces))
    try:
        yield
    finally:
        for number, patience in PATIENCE_S.items():
            signal_all(lambda: set(_processes_in(namespaces)) - before, number, patience)


def _processes_in(namespaces: Collection[str]) -> Iterator[int]:
    for process in Path("/proc").glob("[0-9]*"):
        if _namespace(int(process.name)) in namespaces:
            yield int(process.name)


def _namespace(pid: int) -> str | None:
    """Return a process' network namespace (namespaces(7)), None if it has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None
