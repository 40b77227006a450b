"""A leg of a scenario with both its directions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack, get_args

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from minitopo_dc.fields.base import (
    LeftOut,
    Settings,
    SettingsWarning,
    changed,
    error_text,
    given,
    not_given,
)
from minitopo_dc.fields.ranges import UPLINK_MBPS, Direction
from minitopo_dc.scenario.carriers import carrier
from minitopo_dc.scenario.change import Outage, check_order
from minitopo_dc.scenario.layer2 import WifiSettings
from minitopo_dc.scenario.leg import DirectionFields, DirectionOnly, LegDirection, NoTraceError
from minitopo_dc.units import NS_PER_S


class Leg(Settings):
    """One leg: a direction from the network to the terminal, and one back.

    `Leg(rate_mbps=20, delay_ms=30)` has fields of the downlink. An uplink has the downlink's
    propagation (`PROPAGATION`) and `UPLINK_MBPS`, at any time, but for what `uplink={...}` says;
    one that names a column and no capacity has the downlink's trace.

    In a file, and wherever a leg is a mapping, a field of a direction that stands beside `downlink`
    and `uplink` is of both of them, and each may override it. `carrier` is an LTE or NR carrier, by
    its name or its fields (`scenario.carriers`), which gives the fields that are not given.
    """

    # Built at once: else its first check would take the signature (below) away.
    model_config = ConfigDict(defer_build=False)

    BESIDE: ClassVar[tuple[str, ...]] = tuple(
        name for name in LegDirection.model_fields if name not in ("wifi", "outages")
    )
    """Fields of a direction that may stand beside both."""

    wifi: LeftOut[WifiSettings | None] = None
    """The medium that both directions share; they have no capacity of their own then."""
    downlink: LegDirection
    uplink: LegDirection = Field(default_factory=lambda: LegDirection(rate_mbps=UPLINK_MBPS))
    """By default the papers', whose propagation another downlink's replaces (`_uplink`)."""
    outages: LeftOut[tuple[Outage, ...]] = ()
    """When both directions are down, in ascending order; beside the outages of each of them."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            downlink: LegDirection | DirectionOnly | Mapping[str, Any] | None = None,
            uplink: LegDirection | DirectionOnly | Mapping[str, Any] | None = None,
            carrier: str | Mapping[str, Any] = ...,
            wifi: WifiSettings | Mapping[str, Any] | None = None,
            outages: Sequence[Sequence[float]] = (),
            **fields: Unpack[DirectionFields],
        ) -> None:
            """Check the fields; those of no direction are the downlink's."""
    else:

        def __init__(self, **fields: Any) -> None:
            """Check the fields; SettingsError names each wrong one."""
            below, own = _split(fields)
            super().__init__(**(fields if "downlink" in fields else own | {"downlink": below}))

        __init__.__pydantic_base_init__ = True  # see Settings

    def _changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the leg as it was given, with what is changed.

        A field of a direction is the downlink's; of both in a leg that was given so.
        """
        both, parts = self._as_given()
        fields, changes = _split(changes)
        fields = {
            name: changed(getattr(self.downlink, name), fields[name], name) for name in fields
        }
        kept = _merged(parts["downlink"], fields)
        if both:
            both = _merged(both, fields)
            kept = {name: value for name, value in kept.items() if name not in fields}
        parts["downlink"] = kept
        for name, value in changes.items():
            if name in _WAYS and isinstance(value, Mapping):
                tell_of_one_direction(name, both.keys() & value)
                old: LegDirection = getattr(self, name)
                new = {key: changed(getattr(old, key, None), value[key], key) for key in value}
                parts[name] = _merged(parts[name], new)
            else:
                parts[name] = changed(parts.get(name), value, name)
        return both | parts

    def _as_given(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what was given of both directions, and the leg's own fields."""
        down, up = _fields(self.downlink), _fields(self.uplink)
        both = {
            name: getattr(self.downlink, name)
            for name in self.BESIDE
            if name in self.model_fields_set
            and getattr(self.downlink, name) == getattr(self.uplink, name)
        }
        parts = {"downlink": down, "uplink": up}
        own = {way: {k: v for k, v in parts[way].items() if k not in both} for way in parts}
        return both, given(self) | own

    @model_validator(mode="wrap")
    @classmethod
    def _complete_directions(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Give each direction what is written beside it, and the medium."""
        if not isinstance(values, Mapping):
            return handler(values)
        try:
            values = _of_carrier(values)
        except ValueError as error:
            raise ValueError(f"carrier: {error}") from None
        own = {name: value for name, value in values.items() if name not in cls.BESIDE}
        both = {name: values[name] for name in cls.BESIDE if name in values}
        _check_both(both, with_rate="wifi" not in own)
        parts = {name: _fields(values.get(name, {} if both else None)) for name in _WAYS}
        for name, fields in parts.items():
            if isinstance(fields, Mapping) and "wifi" in fields:
                raise ValueError(f"{name}.wifi: both directions share it; write it beside {name}")
        medium = _medium(values.get("wifi"))
        if medium:
            parts = {name: {} if fields is None else fields for name, fields in parts.items()}
        down = _merged(both, parts["downlink"])
        said = _merged(_not_followed(both, down), parts["uplink"])
        up = _turned(_uplink(said, down, has_medium=bool(medium)))
        made = {
            name: {**fields, **medium} if isinstance(fields, Mapping) else fields
            for name, fields in (("downlink", down), ("uplink", up))
            if fields is not None
        }
        leg = handler(own | made)
        not_given(leg.uplink, leg.uplink.model_fields_set - set(said or ()))
        leg.model_fields_set.update(both)
        return leg

    @model_validator(mode="after")
    def _check_outages(self) -> Self:
        check_order("outages", self.outages)
        for name, own in (("downlink", self.downlink), ("uplink", self.uplink)):
            if self.outages and own.outages:
                check_order(f"outages and {name}.outages", _in_order(self.outages, own.outages))
        return self

    def direction(self, name: Direction) -> LegDirection:
        """Return one direction, with the outages that it shares with the other."""
        radio = self.downlink if name == "downlink" else self.uplink
        if not self.outages:
            return radio
        return radio.model_copy(update={"outages": _in_order(self.outages, radio.outages)})

    def down_periods(self) -> tuple[Outage, ...]:
        """Return when one or both directions are down (s), so that no path can use the leg."""
        ways = (tuple(way.down_periods()) for way in (self.downlink, self.uplink))
        return _in_order(self.outages, *ways)

    def moments(self) -> Iterator[float]:
        """Yield when changes and outages begin and outages end (s), unordered; not of traces."""
        yield from (change.at_s for change in (*self.downlink.changes, *self.uplink.changes))
        yield from (moment for outage in self.down_periods() for moment in outage)


def nearest(legs: Sequence[Leg]) -> int:
    """Return the number of the leg with the least round trip at the start, of those that are up.

    It is that of a lone packet, with the mean waits for a request, a grant, TDD and HARQ.
    Of equal ones it is the leg with most downlink in the first second, then the first leg; where
    none is up, all count.

    Raises:
        SettingsError, TraceError: a trace is wrong.
    """
    return 1 + min(range(len(legs)), key=[_distance(leg) for leg in legs].__getitem__)


def _distance(leg: Leg) -> tuple[bool, int, int]:
    """Return whether a leg is down at the start, its round trip (ns), and less for more downlink.

    It is up with some capacity in the first second of both directions, and no outage yet.
    """
    down, up = _bits(leg.downlink), _bits(leg.uplink)
    has_outage = any(begin == 0 for begin, _ in leg.down_periods())
    return has_outage or not (down and up), _round_trip_ns(leg), -down


def _bits(radio: LegDirection) -> int:
    """Return what the first second carries; 0 without its trace, which the run will ask for."""
    try:
        return radio.capacity().bits_between(0, NS_PER_S)
    except NoTraceError:
        return 0


def _round_trip_ns(leg: Leg) -> int:
    try:
        return sum(way.delay_model().mean_ns + way.wait_ns() for way in (leg.downlink, leg.uplink))
    except NoTraceError:
        return 0


def _signature() -> Signature:
    fields = {name: LegDirection.model_fields[name] for name in Leg.BESIDE}
    fields |= {name: field for name, field in Leg.model_fields.items() if name not in fields}
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=None if name in _WAYS else field.get_default(),
                annotation=field.annotation,
            )
            for name, field in fields.items()
        ]
    )


_WAYS = get_args(Direction)
Leg.__signature__ = _signature()
_DELAYS = (
    *("delay_ms", "delay_trace", "delay_column", "delay_time_column", "delay_is", "delay_between"),
)
PROPAGATION = (*_DELAYS, "jitter_ms", "jitter", "reorder")
"""What an uplink has from its downlink: the same air. A delay that follows a capacity is the
downlink's alone."""
TRACE_FIELDS = ("trace", "trace_column", "trace_time_column", "trace_mean_mbps", "offset_s", "end")
"""Fields of a direction that say which capacity its trace is."""
_ALTERNATIVES = (
    (("rate_mbps",), TRACE_FIELDS),
    (("delay_ms",), ("delay_curve",)),
    (("delay_ms", "delay_curve"), _DELAYS[1:]),
    (("loss_percent",), ("burst_loss",)),
    (("queue_packets", "queue_bytes"), ("queue_ms",)),
)
"""Ways to say the same: a direction that says it in one takes nothing that both say in another."""


def _check_both(both: Mapping[str, Any], *, with_rate: bool) -> None:
    """Report an error of both directions once; errors of one direction are reported there."""
    capacity = {"rate_mbps": 1} if with_rate and not {"rate_mbps", "trace"} & both.keys() else {}
    try:
        LegDirection.model_validate({**both, **capacity})
    except ValidationError as error:
        faults = [fault for fault in error.errors(include_url=False) if fault["loc"]]
        if faults:
            where = ".".join(map(str, faults[0]["loc"]))
            raise ValueError(f"{where}: {error_text(faults[0])}") from None


def _fields(direction: Any) -> Any:
    """Return what was given of a direction, but for the medium, which it has from here."""
    if isinstance(direction, LegDirection):
        return {name: value for name, value in given(direction).items() if name != "wifi"}
    return direction


def _split(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    below = {name: value for name, value in fields.items() if name in Leg.BESIDE}
    return below, {name: value for name, value in fields.items() if name not in below}


def _not_followed(both: Mapping[str, Any], downlink: Any) -> dict[str, Any]:
    """Return what both directions say, without what an uplink has from its downlink anyway."""
    other = downlink if isinstance(downlink, Mapping) else {}
    return {
        name: value
        for name, value in both.items()
        if name not in PROPAGATION or other.get(name, both) is not value
    }


def put_beside(leg: dict[str, Any], name: str, value: Any) -> None:
    """Put a field of both directions into the mapping of a leg, in place of the downlink's own.

    An uplink that says it itself keeps its own.
    """
    fields = {name: value}
    below, own = _split(leg)
    if isinstance(down := own.get("downlink"), Mapping):
        own["downlink"] = {key: old for key, old in _merged(down, fields).items() if key != name}
    leg.clear()
    leg.update(_merged(below, fields) | own)


def tell_of_one_direction(direction: str, names: Iterable[str]) -> None:
    """Warn of fields that were given for both directions and are changed in one."""
    for name in names:
        warnings.warn(
            f"{direction}.{name}: changed in one direction of a leg that was given for both; "
            f"{name} without {direction} changes both",
            SettingsWarning,
            stacklevel=4,
        )


def _merged(both: Mapping[str, Any], own: Any) -> Any:
    """Return the fields of both directions, with this direction's own in their place."""
    if not isinstance(own, Mapping):
        return own
    said = {name for name, value in own.items() if value is not None}
    kept = dict(both)
    for one, other in (pair for ways in _ALTERNATIVES for pair in (ways, ways[::-1])):
        if said.intersection(one) and not said.intersection(other):
            kept = {name: value for name, value in kept.items() if name not in other}
    return {**kept, **own}


def _uplink(own: Any, downlink: Any, *, has_medium: bool) -> Any:
    """Return an uplink with defaults for what it does not say; None where nothing is said."""
    if not isinstance(downlink, Mapping) or not (own is None or isinstance(own, Mapping)):
        return own
    given = {name: value for name, value in (own or {}).items() if value is not None}
    if not has_medium and not {"rate_mbps", "trace"} & given.keys():
        of_trace = "trace_column" in given and downlink.get("trace") is not None
        from_downlink = {name: downlink[name] for name in TRACE_FIELDS if name in downlink}
        given = (from_downlink if of_trace else {"rate_mbps": UPLINK_MBPS}) | given
    return {**_of_air(given, downlink), **(own or {}), **given}


def _of_carrier(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a leg's fields with those of its carrier, if any, for what it does not say itself."""
    if "carrier" not in values:
        return values
    made = carrier(values["carrier"]).fields()
    both, own = _split({name: value for name, value in values.items() if name != "carrier"})
    for way in made:
        for said in (both, own.get(way) or {}):
            rlc = said.get("rlc", {})
            merged = {"rlc": {**made[way]["rlc"], **rlc}} if isinstance(rlc, Mapping) else {}
            made[way] = _merged(made[way], {**said, **merged})
    return own | made


def _turned(uplink: Any) -> Any:
    """Return an uplink that has the U of a TDD pattern, unless it says what it has, and no DRX."""
    rlc = uplink.get("rlc") if isinstance(uplink, Mapping) else None
    fields = given(rlc) if isinstance(rlc, Settings) else rlc
    if not isinstance(fields, Mapping) or not fields.keys() & {"tdd", "drx"}:
        return uplink
    turned = {} if fields.get("tdd") is None else {"tdd_slots": "U"}
    own = {name: value for name, value in fields.items() if name != "drx"}
    return {**uplink, "rlc": {**turned, **own}}


def _of_air(given: Mapping[str, Any], downlink: Mapping[str, Any]) -> dict[str, Any]:
    """Return the downlink's propagation, empty where it is wrong, which the downlink reports."""
    own = {*_DELAYS, "delay_curve"} & given.keys()
    names = PROPAGATION[len(_DELAYS) :] if own else PROPAGATION
    air = {name: downlink[name] for name in names if name in downlink}
    try:
        LegDirection.model_validate({"rate_mbps": 1, **air})
    except ValidationError as error:
        return {} if any(fault["loc"] for fault in error.errors(include_url=False)) else air
    return air


def _medium(given: Any) -> dict[str, WifiSettings]:
    """Return the medium as a field of a direction, empty if there is none."""
    if given is None:
        return {}
    try:
        return {"wifi": WifiSettings.model_validate(given)}
    except ValidationError:
        return {"wifi": WifiSettings()}  # the field itself tells what is wrong with it


def _in_order(*outages: tuple[Outage, ...]) -> tuple[Outage, ...]:
    return tuple(sorted(outage for several in outages for outage in several))


def nr(band: str = "n78", bandwidth_mhz: int = 100, **others: Any) -> Leg:
    """Return the leg that an NR carrier is; SettingsError: there is no such carrier.

    >>> nr("n78", 100, tdd="DDDSU", cqi=8)

    Args:
        band: of TS 38.101, e.g. `n78`.
        bandwidth_mhz: a width that the band's subcarrier spacing has.
        others: fields of `NrCarrier`.
    """
    fields = {"kind": "nr", "band": band, "bandwidth_mhz": bandwidth_mhz, **others}
    return Leg.check({"carrier": fields}, "nr")


def lte(bandwidth_mhz: int = 20, **others: Any) -> Leg:
    """Return the leg that an LTE carrier with FDD is; SettingsError: there is no such carrier.

    Args:
        bandwidth_mhz: 5, 10, 15 or 20.
        others: fields of `LteCarrier`.
    """
    return Leg.check({"carrier": {"kind": "lte", "bandwidth_mhz": bandwidth_mhz, **others}}, "lte")
