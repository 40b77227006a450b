"""A leg with both its directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Self, get_args

from pydantic import Field, ValidationError, model_validator

from minitopo_dc.settings import Direction, LegSettings, Settings, WifiSettings
from minitopo_dc.settings.base import LeftOut
from minitopo_dc.settings.ranges import Moment, MomentAbove

Outage = tuple[Moment, MomentAbove]
"""From and to, in s after the start of the transfer."""


def _papers_uplink() -> LegSettings:
    """The uplink of the DC papers (thesis, table 4.3 and listing 4.1)."""
    return LegSettings(rate_mbps=20, delay_ms=10, queue_packets=10_000)


class RadioLeg(Settings):
    """One leg: a direction from the network to the terminal, and one back."""

    wifi: LeftOut[WifiSettings | None] = None
    """The medium that both directions share; they have no capacity of their own then."""
    downlink: LegSettings
    uplink: LegSettings = Field(default_factory=_papers_uplink)
    outages: LeftOut[tuple[Outage, ...]] = ()
    """When both directions are down, in ascending order; beside the outages of each of them."""

    @model_validator(mode="before")
    @classmethod
    def _both_have_the_medium(cls, values: Any) -> Any:
        """Each direction knows the medium, whose place is beside them."""
        if not isinstance(values, Mapping):
            return values
        wifi = values.get("wifi")
        given = {name: _fields(values[name]) for name in get_args(Direction) if name in values}
        for name, fields in given.items():
            if isinstance(fields, Mapping) and "wifi" in fields:
                raise ValueError(f"{name}.wifi: both directions share it; write it beside {name}")
        if wifi is None:
            return values
        try:
            medium = WifiSettings.model_validate(wifi)
        except ValidationError:
            medium = WifiSettings()  # the field itself tells what is wrong with it
        both = {name: given.get(name, {}) for name in get_args(Direction)}
        return {
            **values,
            **{
                name: {**fields, "wifi": medium} if isinstance(fields, Mapping) else fields
                for name, fields in both.items()
            },
        }

    @model_validator(mode="after")
    def _outages_are_apart(self) -> Self:
        _check_order("outages", self.outages)
        for name, own in (("downlink", self.downlink), ("uplink", self.uplink)):
            if self.outages and own.outages:
                _check_order(f"outages and {name}.outages", _in_order(self.outages, own.outages))
        return self

    def direction(self, name: Direction) -> LegSettings:
        """One direction, with the outages that it shares with the other."""
        radio = self.downlink if name == "downlink" else self.uplink
        if not self.outages:
            return radio
        return radio.model_copy(update={"outages": _in_order(self.outages, radio.outages)})

    def down_periods(self) -> tuple[Outage, ...]:
        """When one of the directions is down, or both: no path can use the leg then."""
        return _in_order(self.outages, self.downlink.outages, self.uplink.outages)

    def moments(self) -> Iterator[float]:
        """When a change or an outage begins, or an outage ends (s), in no order; not of traces."""
        yield from (each.at_s for each in (*self.downlink.changes, *self.uplink.changes))
        yield from (moment for outage in self.down_periods() for moment in outage)


def _fields(direction: Any) -> Any:
    """What was given of a direction, but for the medium, which it has from here."""
    if isinstance(direction, LegSettings):
        return direction.model_dump(exclude_unset=True)
    return direction


def _in_order(*outages: tuple[Outage, ...]) -> tuple[Outage, ...]:
    return tuple(sorted(outage for each in outages for outage in each))


def _check_order(where: str, outages: tuple[Outage, ...]) -> None:
    """Refuse outages that do not follow each other, with a ValueError."""
    for begin, end in outages:
        if begin >= end:
            raise ValueError(f"{where}: [{begin:g}, {end:g}] ends before it begins")
    for earlier, later in pairwise(outages):
        if later[0] <= earlier[1]:
            raise ValueError(
                f"{where}: [{later[0]:g}, {later[1]:g}] must begin after "
                f"[{earlier[0]:g}, {earlier[1]:g}] has ended"
            )
