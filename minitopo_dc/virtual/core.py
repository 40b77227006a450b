"""The core of a run on the virtual clock: its interface, the one in Python, and their choice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from minitopo_dc.link import WifiPath
from minitopo_dc.native import library
from minitopo_dc.native.models import DISCIPLINES, NotNativeError
from minitopo_dc.native.receive import check_legs
from minitopo_dc.router.native import PYTHON_ONLY
from minitopo_dc.scenario import DUAL_CONNECTIVITY, Pdcp, Scenario
from minitopo_dc.scenario.element import ElementSettings
from minitopo_dc.virtual.element import Element
from minitopo_dc.virtual.host import Host
from minitopo_dc.virtual.loop import AnyLoop, Loop
from minitopo_dc.virtual.native import NativeCore
from minitopo_dc.virtual.packet import Flow
from minitopo_dc.virtual.packet_log import FollowingElement


class Core(Protocol):
    """The interface of a core, which makes the parts of one run."""

    @property
    def loop(self) -> AnyLoop:
        """Return the event loop, which keeps the virtual time."""

    def element(
        self,
        settings: ElementSettings,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> Element:
        """Return the legs and bearers of one router host."""

    def host(self, flows: Sequence[Flow], *, cpu_ns: int) -> Host:
        """Return an end host that sends on `flows`."""

    def join(self, ends: Iterable[tuple[Host, Iterable[Flow]]]) -> None:
        """Shorten the way between hosts, each with the flows that lead to it, where possible."""


class PythonCore:
    """The core in Python, which is the readable reference of the native one."""

    def __init__(self, *, follows: bool = False) -> None:
        """Make the event loop of a run; `follows`: elements note where packets are."""
        self.loop = Loop()
        self._element = FollowingElement if follows else Element

    def element(
        self,
        settings: ElementSettings,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> Element:
        """Return the legs and bearers of one router host."""
        return self._element(
            settings, self.loop, leg_of=leg_of, processing_ns=processing_ns, paths=paths
        )

    def host(self, flows: Sequence[Flow], *, cpu_ns: int) -> Host:
        """Return an end host that sends on `flows`."""
        return Host(self.loop, flows, cpu_ns=cpu_ns)

    def join(self, ends: Iterable[tuple[Host, Iterable[Flow]]]) -> None:
        """Do nothing: this core has no shorter way between hosts."""


def chosen_core(scenario: Scenario) -> Core:
    """Return the core for a run of a scenario on the virtual clock.

    `core: native` where it cannot be had is refused before a run (`core_obstacle`).
    """
    if _python_reason(scenario) is None:
        virtual = scenario.virtual
        return NativeCore(observed=virtual.packet_trace or bool(virtual.capture))
    return PythonCore(follows=scenario.virtual.packet_delays)


def core_name(scenario: Scenario) -> str:
    """Return in words which core computes a run, and why it is not the native one."""
    why = _python_reason(scenario)
    return "native" if why is None else f"python: {why}"


def core_obstacle(scenario: Scenario) -> str | None:
    """Return why a scenario cannot have the core that it names or needs, or None."""
    if scenario.virtual.packet_delays:
        wifi = next((no for no, leg in enumerate(scenario.legs, start=1) if leg.wifi), None)
        if wifi is not None:
            return f"virtual.packet_delays: leg {wifi} has wifi, which tells of no packet's way"
    why = _obstacle(scenario) if scenario.virtual.core == "native" else None
    return None if why is None else f"core native: {why}; allowed: auto, python"


def native_core_obstacle(scenario: Scenario) -> str | None:
    """Return what the native core lacks for a scenario, or why it is not here; else None."""
    return library.missing() or next(_missing_features(scenario), None)


def _python_reason(scenario: Scenario) -> str | None:
    if scenario.virtual.core == "python":
        return "the scenario says so"
    return _obstacle(scenario)


def _obstacle(scenario: Scenario) -> str | None:
    if scenario.virtual.packet_delays:
        return "virtual has packet_delays"
    return native_core_obstacle(scenario)


def _missing_features(scenario: Scenario) -> Iterator[str]:
    if scenario.cells:
        yield "legs are in cells"
    for number, leg in enumerate(scenario.legs, start=1):
        if leg.wifi:
            yield f"leg {number} has wifi"
        for radio in (leg.downlink, leg.uplink):
            if radio.mtu_icmp:
                yield f"leg {number} has mtu_icmp"
            if (discipline := radio.discipline()) and type(discipline) not in DISCIPLINES:
                yield f"leg {number} has queue_discipline {radio.queue_discipline}"
    for flow in scenario.resolved_flows:
        if flow.mode in DUAL_CONNECTIVITY:
            yield from _of_bearer("pdcp", flow.pdcp, len(flow.legs))
            if flow.splits_uplink:
                yield from _of_bearer("uplink_pdcp", flow.uplink_pdcp, len(flow.uplink_legs))


def _of_bearer(where: str, pdcp: Pdcp, legs: int) -> Iterator[str]:
    yield from (f"{where} has {name}" for name in PYTHON_ONLY if getattr(pdcp, name))
    try:
        check_legs(legs)
    except NotNativeError as error:
        yield f"{where}: {error}"
