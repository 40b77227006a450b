"""The hosts of a scenario with their elements: processes to start, order, watch and end.

Each host has a process of its own, but the hosts at the ends of legs over WiFi share one: both
directions share a medium, and only a process that has both knows whose turn it is.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns, sleep
from typing import Any

from minitopo_dc.installation import module_command
from minitopo_dc.real.host_capture import captured
from minitopo_dc.real.hosts import EmulatedHost, Network, network
from minitopo_dc.real.machine import probe_kernel
from minitopo_dc.real.run_registry import registered
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.processes.process import run
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.runs.perform import RunFailedError
from minitopo_dc.scenario import Scenario, resolve_scenario
from minitopo_dc.scenario.element import READY, ElementSettings
from minitopo_dc.units import NS_PER_MS, NS_PER_S

READY_TIMEOUT_S = 20.0
"""Generous: importing and installing the rules takes about 1 s on one busy core."""
STOP_TIMEOUT_S = 10.0
END_SEEN_S = 0.5
"""How long after the end of its output a process may still be there."""
LOG_TAIL = 2000
TRACEBACK = "Traceback (most recent call last)"
"""Of it, the last line tells what happened."""


class RouterProcess:
    """A process with the elements of one host, or of several that share mediums."""

    def __init__(self, *pairs: tuple[ElementSettings, EmulatedHost]) -> None:
        """Start the process in the namespace of the first host."""
        (first, host), *others = pairs
        self._hosts = " and ".join(settings.host for settings, _ in pairs)
        self._log = first.directory / f"{first.host}-element.log"
        arguments = [str(_saved(first))]
        for settings, other in others:
            arguments += [str(other.pid), str(_saved(settings))]
        with self._log.open("wb") as log:
            self._process = host.popen(
                [*module_command("minitopo_dc.real.element"), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.pid = self._process.pid
        self._is_stopping = False
        self.elements = [ElementProcess(settings, self) for settings, _ in pairs]

    def wait_ready(self) -> None:
        """Return once packets reach it; RunFailedError when it ends or takes too long."""
        output = self._process.stdout
        assert output is not None
        readable, _, _ = select.select([output], (), (), READY_TIMEOUT_S)
        if readable and output.readline().strip() == READY.encode():
            return
        try:
            code = self._process.wait(END_SEEN_S)  # its output ends a moment before it does
            state = f"it ended with {code}: {tail(self._log, code)}"
        except subprocess.TimeoutExpired:
            state = f"not ready within {READY_TIMEOUT_S:g} s: {tail(self._log, 0)}"
        raise RunFailedError(f"element on {self._hosts} did not start: {state}")

    def order(self, line: str) -> None:
        """Send an order to the process as a line; RunFailedError when it has ended."""
        orders = self._process.stdin
        assert orders is not None
        self.check()
        with contextlib.suppress(BrokenPipeError):  # it has died: `check` says so
            orders.write(f"{line}\n".encode())
            orders.flush()
        self.check()

    def check(self) -> None:
        """Raise RunFailedError when it has ended by itself."""
        code = None if self._is_stopping else self._process.poll()
        if code is not None:
            raise self._ended(code, " during the run")

    def begin_stop(self) -> None:
        """Tell the process to end; RunFailedError when it has ended by itself."""
        if not self._is_stopping:
            self.check()
            self._process.terminate()
            self._is_stopping = True

    def stop(self) -> None:
        """End the process in order; RunFailedError when it had died, or did not end."""
        self.begin_stop()
        try:
            code = self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise RunFailedError(f"element on {self._hosts} did not stop") from None
        if code:
            raise self._ended(code)

    def kill(self) -> None:
        """End the process at once if it still runs, and release its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def _ended(self, code: int, when: str = "") -> RunFailedError:
        words = tail(self._log, code)
        return RunFailedError(f"element on {self._hosts} ended with {code}{when}: {words}")


class ElementProcess:
    """The element of one host, which may share its process with those of others."""

    def __init__(self, settings: ElementSettings, process: RouterProcess) -> None:
        self.settings = settings
        self.pid = process.pid
        self.check, self.kill, self.begin_stop = process.check, process.kill, process.begin_stop
        self._process = process

    def order(self, line: str) -> None:
        """Send `start`, `down LEG` or `up LEG`; RunFailedError when the element has ended."""
        self._process.order(f"{self.settings.host}: {line}")

    def stop(self) -> dict[str, Any]:
        """End it in order, with all of its process, and return its summary.

        Raises:
            RunFailedError: it had died, did not end, or packets were lost outside the legs.
        """
        self._process.stop()
        path = self.settings.directory / f"{self.settings.host}-summary.json"
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for queue, drops in summary["kernel_drops"].items():
            if any(drops.values()):
                raise RunFailedError(
                    f"element on {summary['host']}: the kernel dropped packets at queue {queue} "
                    f"({drops}); probably the machine is too slow for this rate"
                )
        if refused := summary["copies_refused"]:
            raise RunFailedError(f"element on {summary['host']}: {refused} copies were not sent")
        return summary


@contextlib.contextmanager
def running(*pairs: tuple[ElementSettings, EmulatedHost]) -> Iterator[list[ElementProcess]]:
    """Start the elements, wait until all are ready, and end them at the latest on leaving."""
    with contextlib.ExitStack() as stack:
        processes = []
        for group in _sharing(pairs):
            processes.append(RouterProcess(*group))
            stack.callback(processes[-1].kill)
        for process in processes:
            process.wait_ready()
        yield [element for process in processes for element in process.elements]


def tail(log: Path, code: int) -> str:
    """Return what an element's log ends with, in words for an error.

    An element that fails says why. If it did not, no signal has ended it, and its log was on a full
    disk for all that is known.

    Args:
        log: the element's standard error.
        code: its exit status.
    """
    said = log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip()
    if TRACEBACK in said:
        return f"{said.splitlines()[-1]} (more in {log.name})"
    nothing = "no words" if code <= 0 else f"no words; is the disk of {log.parent} full?"
    return said or nothing


START_LEAD_NS = 20 * NS_PER_MS
"""In which an order reaches a process that does little else."""


def start(elements: Iterable[ElementProcess]) -> None:
    """Let all elements have the same moment for their time 0, and return then."""
    moment = monotonic_ns() + START_LEAD_NS
    for element in elements:
        element.order(f"start {moment}")
    sleep(max(0, moment - monotonic_ns()) / NS_PER_S)


def stop_all(elements: Sequence[ElementProcess]) -> list[dict[str, Any]]:
    """End elements in order, all at the same time; return their summaries in that order.

    Raises:
        RunFailedError: one had died, did not end, or the kernel dropped packets.
    """
    for element in elements:
        element.begin_stop()
    return [element.stop() for element in elements]


def _sharing(
    pairs: Iterable[tuple[ElementSettings, EmulatedHost]],
) -> Iterable[list[tuple[ElementSettings, EmulatedHost]]]:
    """Return hosts in groups: those at the ends of a leg over WiFi together, others alone."""
    groups: dict[frozenset[str], list[tuple[ElementSettings, EmulatedHost]]] = {}
    for settings, host in pairs:
        seeds = {leg.shared.seed for leg in settings.legs if leg.shared is not None}
        groups.setdefault(frozenset(seeds or {settings.host}), []).append((settings, host))
    return groups.values()


def _saved(settings: ElementSettings) -> Path:
    path = settings.directory / f"{settings.host}-element.yaml"
    settings.save(path)
    return path


@dataclass(frozen=True)
class Testbed:
    """The hosts and elements of a scenario; the first element is gnb's."""

    __test__ = False  # not a test class

    hosts: Network
    elements: list[ElementProcess]

    def start(self) -> None:
        """Start the time of traces, outages and changes: now is their time 0."""
        start(self.elements)

    def check(self) -> None:
        """Raise RunFailedError when a host or an element was ended from outside."""
        self.hosts.check()
        for element in self.elements:
            element.check()


@contextmanager
def testbed(scenario: Scenario, directory: Path) -> Iterator[Testbed]:
    """Give fresh hosts with running elements for a block, taken down at the end whatever happens.

        with testbed(Scenario.load(Path("scenario.yaml")), directory) as bed:
            bed.start()
            bed.hosts.client.popen(["ping", "-c", "3", "10.0.0.2"]).wait()

    Args:
        scenario: its transport and workload have no effect.
        directory: gets the elements' files; it exists.

    Raises:
        RunFailedError: an element did not start, the kernel refused a setting, or has no IPv6.
    """
    if (reason := ipv6_obstacle(scenario)) is not None:
        raise RunFailedError(reason)
    scenario = resolve_scenario(scenario)
    settings = router_settings(scenario, directory)
    sizes = (len(scenario.legs), len(scenario.real.backhaul))
    with registered(), network(*sizes, scenario.ip_version) as hosts:
        ends = [hosts.server, hosts.client, *([hosts["agg"]] if scenario.is_proxied else [])]
        for host in ends:
            set_sysctl(host, scenario.real.sysctl)
        pairs = ((element, hosts[element.host]) for element in settings)
        observed = (hosts[name] for name in scenario.real.captured_hosts)
        with captured(observed, directory), running(*pairs) as elements:
            yield Testbed(hosts, elements)


def ipv6_obstacle(scenario: Scenario) -> str | None:
    """Return why this machine lacks the IPv6 that a scenario wants, None when it has it."""
    reason = probe_kernel()["IPv6"] if scenario.ip_version == 6 else ""
    return f"IPv6 does not work here: {reason} (minitopo-dc check has a remedy)" if reason else None


def set_sysctl(host: EmulatedHost, sysctl: Mapping[str, str]) -> None:
    """Set kernel settings of a host's network namespace.

    Raises:
        RunFailedError: the kernel refused one.
    """
    for name, value in sysctl.items():
        try:
            run(host, ["sysctl", "-qw", f"{name}={value}"])
        except TransferFailed as failure:
            raise RunFailedError(f"sysctl {name} on {host.name}: {failure}") from failure
