"""The testbed of a scenario: its hosts with everything on them that carries packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from minitopo_dc.real.machine import probe_kernel
from minitopo_dc.real.network.elements import ElementFailedError, ElementProcess, running
from minitopo_dc.real.network.host_capture import captured
from minitopo_dc.real.network.hosts import EmulatedHost, Network, network
from minitopo_dc.real.run_registry import registered
from minitopo_dc.runners.base import TransferFailed
from minitopo_dc.runners.processes.process import run
from minitopo_dc.runs.element_settings import backhaul_settings, gnb_settings, ue_settings
from minitopo_dc.scenario import Scenario, resolve_scenario


@dataclass(frozen=True)
class Testbed:
    """The hosts and elements of a scenario; the first element is gnb's."""

    __test__ = False  # not a test class

    hosts: Network
    elements: list[ElementProcess]

    def start(self) -> None:
        """Start the time of traces, outages and changes: now is their time 0."""
        for element in self.elements:
            element.order("start")

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
        ElementFailedError: an element did not start, the kernel refused a setting, or has no IPv6.
    """
    if (reason := ipv6_obstacle(scenario)) is not None:
        raise ElementFailedError(reason)
    scenario = resolve_scenario(scenario).scenario
    settings = [
        gnb_settings(scenario, directory),
        ue_settings(scenario, directory),
        *backhaul_settings(scenario, directory),
    ]
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
        ElementFailedError: the kernel refused one.
    """
    for name, value in sysctl.items():
        try:
            run(host, ["sysctl", "-qw", f"{name}={value}"])
        except TransferFailed as failure:
            raise ElementFailedError(f"sysctl {name} on {host.name}: {failure}") from failure
