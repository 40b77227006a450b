"""A router host's legs and bearers in the native core: made from its settings, seen from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from minitopo_dc.fields import Settings
from minitopo_dc.native import library
from minitopo_dc.native.leg import DISCIPLINES, NativeLeg
from minitopo_dc.native.pdcp import MAX_LEGS, NativeReceiver, NativeTransmitter
from minitopo_dc.native.policy import TWINS
from minitopo_dc.pdcp import ReceiveStatistics
from minitopo_dc.scenario import LegDirection, Pdcp
from minitopo_dc.scenario.element import Bearer, ElementLeg, ElementSettings, TransmitBearer

PYTHON_ONLY: Mapping[type[Settings], Sequence[str]] = {
    ElementSettings: ("cells", "wires", "next_hops"),
    LegDirection: ("wifi", "mtu_icmp"),
    Pdcp: ("data_recovery", "duplication", "leg_failure_ms"),
}
"""Fields that the native core lacks, by the settings that have them."""


class NativeLegDriver:
    """The twin of `LegDriver` in C."""

    def __init__(self, leg: ElementLeg, router: Any) -> None:
        """Make the leg of these settings, and its driver on a router of C's."""
        self.number = leg.leg
        make: Any = NativeLeg
        made: Any = leg.build({}, make=make)
        self.leg = made
        self._lib = library.library().lib
        self.pointer = self._lib.router_leg(router, self.leg.pointer, leg.leg)
        """The driver in C, which has the leg."""
        library.disown(self.leg.pointer)

    def rearm(self) -> None:
        """Find the leg's next moment anew, after it was changed from outside."""
        self._lib.leg_driver_rearm(self.pointer)


class NativeTransmitDriver:
    """The twin of `TransmitDriver` in C."""

    def __init__(
        self,
        bearer: TransmitBearer,
        entity: NativeTransmitter,
        legs: Sequence[NativeLegDriver],
        router: Any,
    ) -> None:
        """Make the driver of a bearer's entity, which goes over these legs."""
        self.bearer = bearer.bearer
        self.entity = entity
        self._lib = library.library().lib
        pointers = [leg.pointer for leg in legs]
        self.pointer = self._lib.router_transmit(
            router, self.entity.pointer, pointers, len(pointers)
        )
        library.disown(self.entity.pointer)

    def legs_changed(self, now: int) -> None:
        """React to legs that went down or up or got another rate, or to the receiver's report."""
        self._lib.transmit_driver_changed(self.pointer, now)


class NativeReceiveDriver:
    """The twin of `ReceiveDriver` in C."""

    def __init__(self, bearer: Bearer, keys: Sequence[int], router: Any) -> None:
        """Make the entity of a bearer, what makes its reports, and the driver.

        `keys` tell its legs apart: their numbers, or the indices of their interfaces.
        """
        self.bearer = bearer.bearer
        self.entity = bearer.pdcp.receiver(len(keys), make=NativeReceiver)
        self.reports = bearer.pdcp.report_maker(self.entity, len(keys))
        self.statistics: Callable[[], ReceiveStatistics] = self.entity.statistics
        lib = library.library().lib
        self.pointer = lib.router_receive(router, self.entity.pointer, list(keys), len(keys))
        library.disown(self.entity.pointer)


def native_obstacle(hosts: Iterable[ElementSettings], *, asks_policies: bool = False) -> str | None:
    """Return what the native core lacks for hosts, or that it is not here; None: nothing.

    Args:
        hosts: the settings of their elements.
        asks_policies: whether C may ask a split policy in Python, which takes its time.
    """
    obstacles = (words for settings in hosts for words in _obstacles(settings, asks_policies))
    return library.obstacle() or next(obstacles, None)


def _obstacles(settings: ElementSettings, asks_policies: bool) -> Iterator[str]:
    yield from _given("it", settings)
    if settings.backend == "kernel":
        yield "it has backend: kernel"
    for leg in settings.legs:
        yield from _given(f"leg {leg.leg}", leg.radio)
        discipline = leg.radio.discipline()
        if discipline is not None and type(discipline) not in DISCIPLINES:
            yield f"leg {leg.leg} has queue_discipline {leg.radio.queue_discipline}"
    for bearer in settings.bearers:
        yield from _given("pdcp", bearer.pdcp)
        if len(bearer.legs) > MAX_LEGS:
            yield f"a bearer over {len(bearer.legs)} legs, more than {MAX_LEGS}"
        asks = asks_policies or not isinstance(bearer, TransmitBearer)
        if not asks and type(bearer.pdcp.policy(len(bearer.legs))) not in TWINS:
            yield f"pdcp has split {bearer.pdcp.split}"


def _given(what: str, settings: Settings) -> Iterator[str]:
    names = PYTHON_ONLY[type(settings)]
    return (f"{what} has {name}" for name in names if getattr(settings, name))
