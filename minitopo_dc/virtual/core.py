"""The cores of a run on the virtual clock, in Python and in C, and their choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from minitopo_dc.router.native import native_obstacle
from minitopo_dc.runs.element_settings import router_settings
from minitopo_dc.scenario import Scenario
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.scenario.scenario import BATCH, VirtualSettings
from minitopo_dc.virtual.element import VirtualElement
from minitopo_dc.virtual.host import EndHost
from minitopo_dc.virtual.native import NativeHost, VirtualNativeElement, VirtualNativeLoop
from minitopo_dc.virtual.network import Flow, VirtualLoop


class Core:
    """What makes the parts of one run, in Python (the readable reference of the other) or in C.

    Hosts with Python endpoints exchange packets with the core in C.
    """

    def __init__(self, virtual: VirtualSettings, hosts: Iterable[ElementSettings]) -> None:
        """Make the event loop of a run: in C unless the scenario or what its hosts have forbids it.

        `core: native` where it cannot be had is refused before a run (`core_obstacle`).
        """
        of_scenario = virtual.core == "python"
        why = "the scenario says so" if of_scenario else _native_obstacle(virtual, hosts)
        self._is_native = why is None
        self.name = "native" if why is None else f"python: {why}"
        self.loop: Any = VirtualNativeLoop() if self._is_native else VirtualLoop()
        self._observed = virtual.packet_trace or bool(virtual.capture)
        kind = VirtualNativeElement if self._is_native else VirtualElement
        self.element = partial(kind, loop=self.loop, follows=virtual.packet_delays)
        """Makes the legs and bearers of one router host, as `VirtualElement` does."""

    def host(self, flows: Sequence[Flow], *, cpu_ns: int, batch: int = BATCH) -> EndHost:
        """Return an end host that sends on `flows`."""
        if not self._is_native or cpu_ns or batch != BATCH or self._observed:
            return EndHost(self.loop, flows, cpu_ns=cpu_ns, batch=batch)
        return NativeHost(self.loop, flows)


def join(*ends: tuple[EndHost, Iterable[Flow]]) -> None:
    """Have C carry the datagrams between hosts, each with the flows that lead to it, if it can.

    It can where no host takes CPU time or is observed, and all endpoints are picoquic's.
    """
    hosts = [(host, gets) for host, gets in ends if isinstance(host, NativeHost)]
    if len(hosts) == len(ends) and all(getattr(it.endpoint, "in_c", False) for it, _ in hosts):
        for host, gets in hosts:
            host.join(gets)


def core_obstacle(scenario: Scenario) -> str | None:
    """Return why a scenario cannot have the core that it names or needs, or None."""
    virtual = scenario.virtual
    wifi = next((no for no, leg in enumerate(scenario.legs, start=1) if leg.wifi), None)
    if virtual.packet_delays and wifi is not None:
        return f"virtual.packet_delays: leg {wifi} has wifi, which tells of no packet's way"
    if virtual.core != "native":
        return None
    why = _native_obstacle(virtual, router_settings(scenario, Path()))
    return None if why is None else f"core native: {why}; allowed: auto, python"


def _native_obstacle(virtual: VirtualSettings, hosts: Iterable[ElementSettings]) -> str | None:
    """Return what the native core lacks for a run, or why it is not here; else None."""
    if virtual.packet_delays:
        return "virtual has packet_delays"
    return native_obstacle(hosts, asks_policies=True)
