"""The core of a run on the virtual clock: its interface, and the implementation in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from minitopo_dc.link import WifiPath
from minitopo_dc.router import ElementSettings
from minitopo_dc.virtual.element import Element
from minitopo_dc.virtual.host import Host
from minitopo_dc.virtual.loop import AnyLoop, Loop
from minitopo_dc.virtual.packet import Flow


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

    def __init__(self) -> None:
        """Make the event loop of a run."""
        self.loop = Loop()

    def element(
        self,
        settings: ElementSettings,
        *,
        leg_of: Mapping[str, int],
        processing_ns: int,
        paths: Mapping[int, WifiPath],
    ) -> Element:
        """Return the legs and bearers of one router host."""
        return Element(settings, self.loop, leg_of=leg_of, processing_ns=processing_ns, paths=paths)

    def host(self, flows: Sequence[Flow], *, cpu_ns: int) -> Host:
        """Return an end host that sends on `flows`."""
        return Host(self.loop, flows, cpu_ns=cpu_ns)

    def join(self, ends: Iterable[tuple[Host, Iterable[Flow]]]) -> None:
        """Do nothing: this core has no shorter way between hosts."""
