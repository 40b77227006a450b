"""Settings of one direction of a leg, and how they become a leg of `minitopo_dc.link`."""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict, TypeVar

from pydantic import AfterValidator, Field, ModelWrapValidatorHandler, model_validator

from minitopo_dc.fields.base import FilePath, LeftOut, Settings, SettingsError, not_given, quoted
from minitopo_dc.fields.ranges import (
    DELAY_MS,
    JITTER_MS,
    QUEUE_PACKETS,
    Bytes,
    Count,
    Milliseconds,
    MillisecondsAbove,
    Moment,
    Percent,
    Probability,
    Rate,
    within,
)
from minitopo_dc.link import (
    AnyLeg,
    Bernoulli,
    Capacity,
    ConstantDelay,
    DelayCurve,
    DelayModel,
    GilbertElliott,
    LegParameters,
    LossModel,
    NormalDelay,
    RlcParameters,
    UniformDelay,
    WifiPath,
    delay_steps,
    make_capacity,
    make_leg,
)
from minitopo_dc.link.discipline import DROP_TAIL, QueueDiscipline, make_discipline
from minitopo_dc.pdcp.transmitting.flow_control import PDU_BYTES
from minitopo_dc.scenario.change import LegChange, Outage, changing_capacity, check_order
from minitopo_dc.scenario.layer2 import RlcSettings, WifiSettings
from minitopo_dc.trace import DEFAULT_COLUMN, EndRule, Trace, TraceError, doubts, read_trace
from minitopo_dc.trace.delays import DelayIs, read_delays
from minitopo_dc.trace.model import SHORTEST_NS, DelayBetween, DelayTrace, scaled_to_mean
from minitopo_dc.units import NS_PER_MS, NS_PER_S, QueueLimit

MakeLeg = Callable[[LegParameters, Capacity, random.Random, RlcParameters | None], AnyLeg[Any]]
"""A function that makes a leg of either core."""
_NOT_FOR_WIFI = (
    *("rate_mbps", "trace", "rlc", "delay_curve", "delay_trace", "queue_ms", "mtu_bytes"),
    *("grant_ms", "queue_discipline"),
)
"""Fields that have no meaning beside `wifi`, but their defaults."""
Mtu = Annotated[int, *within(68, 65_535)]
"""From the least of IPv4 (RFC 791, section 3.2) to the largest packet."""
PACKET_BYTES = 1500
"""What a queue's limit in packets stands for where bytes count: packets of Ethernet (RFC 894)."""

JITTER_DEVIATIONS = 3.0
"""A normal jitter is within so many standard deviations in 99.7 % of all packets."""


class Parameters(dict[str, Any]):
    """Parameters of a queue discipline, which can be hashed as the settings that they belong to."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


class NoTraceError(SettingsError):
    """A trace that cannot be read where the settings say it is; the message names its path."""


class BurstLoss(Settings):
    """Gilbert-Elliott loss in the usual notation (Hasslinger and Hohlfeld, MMB 2008).

    Per packet: p is the probability to go from good to bad, r from bad to good; h is the
    probability to pass in bad, k to pass in good.
    """

    p: Probability
    r: Probability
    h: Probability = 0.0  # Gilbert 1960 with everything lost in the bad state
    k: Probability = 1.0  # Gilbert 1960: nothing lost in the good state


class DirectionFields(TypedDict, total=False):
    """Fields that may stand beside both directions of a leg, for types and completion."""

    rate_mbps: float | str | None
    trace: str | Path | None
    trace_column: str
    trace_time_column: str | None
    trace_mean_mbps: float | str | None
    end: EndRule
    offset_s: float | str
    delay_ms: float | str
    delay_curve: DelayCurve | None
    delay_trace: str | Path | None
    delay_column: str | None
    delay_time_column: str | None
    delay_is: DelayIs | None
    delay_between: DelayBetween
    jitter_ms: float | str
    jitter: Literal["normal", "uniform"]
    reorder: bool
    grant_ms: float | str
    loss_percent: float | str
    burst_loss: BurstLoss | Mapping[str, float] | None
    rlc: RlcSettings | Mapping[str, Any] | None
    queue_packets: int | None
    queue_bytes: int | str | None
    queue_ms: float | str | None
    queue_discipline: str
    queue_parameters: Mapping[str, Any]
    mtu_bytes: int | None
    mtu_icmp: bool
    changes: Sequence[LegChange | Mapping[str, Any]]


class DirectionOnly(DirectionFields, total=False):
    """Fields of one direction as a mapping, for the same."""

    outages: Sequence[Sequence[float | str]]


class LegDirection(Settings):
    """One direction of one leg. The defaults are the default point of the DC papers (table 4.3)."""

    rate_mbps: Rate | None = None
    """Constant capacity in Mbit/s of IP packets; give this or `trace`, but with `wifi` neither."""
    trace: FilePath | None = None
    """File with the capacity over time, of any format of docs/traces.md."""
    trace_column: str = DEFAULT_COLUMN
    """Column with the capacity: of a Raca file, or of any table as `NAME:UNIT`."""
    trace_time_column: LeftOut[str | None] = None
    """Column of a table with the time, as `NAME:UNIT`; none: the first one."""
    trace_mean_mbps: LeftOut[Rate | None] = None
    """The mean to which the trace's rates are scaled, over its length; none: they are not
    scaled."""
    end: EndRule = "loop"
    """What follows the trace's end: `loop`, `hold` the last rate, or `stop`."""
    offset_s: LeftOut[Moment] = 0.0
    """The moment of the trace, in s, at which the transfer starts."""
    delay_ms: Milliseconds = DELAY_MS
    delay_curve: LeftOut[DelayCurve | None] = None
    """A delay that follows the capacity (`minitopo_dc.link.propagation`), in place of
    `delay_ms`."""
    delay_trace: LeftOut[FilePath | None] = None
    """A file with the delay over time (`minitopo_dc.trace.delays`), in place of `delay_ms`; `end`
    and `offset_s` hold for it, too."""
    delay_column: LeftOut[str | None] = None
    """Column of `delay_trace` with the delay, as `NAME:UNIT`; none: the only one that can be
    meant."""
    delay_time_column: LeftOut[str | None] = None
    """Column of `delay_trace` with the time, as `NAME:UNIT`; none: the first one."""
    delay_is: LeftOut[DelayIs | None] = None
    """What a table of `delay_trace` has; none: round trips if the column's name says so (`rtt_ms`).
    A leg has the half of them, as of ping's output."""
    delay_between: LeftOut[DelayBetween] = "hold"
    """What is between two values of `delay_trace`."""
    jitter_ms: Milliseconds = JITTER_MS
    jitter: Literal["normal", "uniform"] = "normal"
    """The distribution: `jitter_ms` is its standard deviation (normal) or half width (uniform)."""
    reorder: bool = False
    """Whether jitter may reorder packets, as netem's does; by default order is kept."""
    grant_ms: LeftOut[Milliseconds] = 0.0
    """What a packet waits that finds nothing under way, as an uplink's does for a scheduling
    request, its grant and a buffer status report (TS 38.321, clauses 5.4.4 and 5.4.5)."""
    loss_percent: Percent = 0.0
    burst_loss: BurstLoss | None = None
    rlc: LeftOut[RlcSettings | None] = None
    """RLC and HARQ; none: nothing is sent again. Random loss comes after RLC, which does not repair
    it."""
    wifi: WifiSettings | None = Field(default=None, exclude=True)
    """The medium of a leg over WiFi: both directions share it, so a scenario gives it (and a file
    holds it) beside them."""
    queue_packets: Count | None = QUEUE_PACKETS
    queue_bytes: Bytes | None = None
    """Beside this or `queue_ms`, `queue_packets` has no default."""
    queue_ms: LeftOut[MillisecondsAbove | None] = None
    """The time in which a full queue is sent at `rate_mbps` or `trace_mean_mbps`, at least one
    packet: another way to say `queue_bytes`, which stay what they are when the rate changes."""
    queue_discipline: LeftOut[str] = DROP_TAIL
    """Which packets of the queue are marked or dropped: one of docs/legs.md, or the user's own."""
    queue_parameters: LeftOut[Annotated[dict[str, Any], AfterValidator(Parameters)]] = Parameters()
    """Parameters of `queue_discipline`."""
    mtu_bytes: LeftOut[Mtu | None] = None
    """The largest IP packet, with its PDCP header, that passes; larger ones are lost."""
    mtu_icmp: LeftOut[bool] = False
    """Whether their senders are told (RFC 1191, RFC 8201), or the leg is a black hole (RFC 2923,
    section 2.1)."""
    outages: tuple[Outage, ...] = ()
    """When the leg is down, in s after the start of the transfer: [[from, to], ...]."""
    changes: tuple[LegChange, ...] = ()
    """Changes of the leg from some moments on, in ascending order."""

    @model_validator(mode="wrap")
    @classmethod
    def _one_queue(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(values, dict) or not any(map(values.get, ("queue_ms", "queue_bytes"))):
            return handler(values)
        filled = {"queue_packets": None}.keys() - values.keys()
        return not_given(handler({"queue_packets": None} | values), filled)

    @model_validator(mode="after")
    def _is_one_leg(self) -> Self:
        if self.wifi is not None:
            defaults = {name: type(self).model_fields[name].default for name in _NOT_FOR_WIFI}
            own = [name for name, usual in defaults.items() if getattr(self, name) != usual]
            if own:
                raise ValueError(
                    f"{', '.join(own)}: the leg has wifi, whose rate and errors hold for both "
                    "directions; allowed: one of the two"
                )
        elif (self.rate_mbps is None) == (self.trace is None):
            raise ValueError("give exactly one of rate_mbps and trace")
        if self.offset_s and not self.has_trace:
            raise ValueError("offset_s: only a trace has one, and there is none")
        if self.trace_mean_mbps is not None and self.trace is None:
            raise ValueError("trace_mean_mbps: needs a trace, and there is none")
        if self.delay_curve is not None and self.delay_trace is not None:
            raise ValueError("give delay_curve or delay_trace, not both")
        if self.loss_percent and self.burst_loss:
            raise ValueError("give loss_percent or burst_loss, not both")
        if self.jitter == "uniform":  # as it is in all stages
            if self.delay_varies:
                words = f"with {self._varied} allowed: normal"
                raise ValueError(f"jitter: uniform needs delay_ms; {words}")
            stages: list[LegDirection] = [self, *(stage for _, stage in self.stages())]
            if any(stage.jitter_ms > stage.delay_ms for stage in stages):
                raise ValueError("jitter_ms: a uniform jitter may be at most delay_ms")
        return self

    @model_validator(mode="after")
    def _check_queue(self) -> Self:
        if self.queue_ms is not None and (
            self._mean_mbps() is None or self.queue_bytes is not None
        ):
            raise ValueError(
                "queue_ms: needs rate_mbps or trace_mean_mbps, and no queue_bytes beside it"
            )
        if self.mtu_icmp and self.mtu_bytes is None:
            raise ValueError("mtu_icmp: needs mtu_bytes, and there is none")
        discipline = self.discipline()
        if self.rlc is not None and discipline is not None and discipline.reorders:
            raise ValueError(
                f"queue_discipline: {self.queue_discipline} reorders packets, which RLC does not; "
                "leave out rlc, or take another"
            )
        return self

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        check_order("outages", self.outages)
        for earlier, later in pairwise(self.changes):
            if round(later.at_s * NS_PER_S) <= round(earlier.at_s * NS_PER_S):
                raise ValueError(f"changes: at_s {later.at_s:g} must be after {earlier.at_s:g}")
        capacity = "wifi" if self.wifi else "trace"
        for names, needed, other in (
            ({"rate_mbps"}, self.rate_mbps is not None, f"rate_mbps, not {capacity}"),
            ({"delay_ms", "jitter_ms"}, not self.delay_varies, f"delay_ms, not {self._varied}"),
            ({"loss_percent"}, self.burst_loss is None, "no burst_loss"),
            ({"block_error_percent"}, self.rlc is not None, "rlc"),
        ):
            if not needed and any(names & change.named().keys() for change in self.changes):
                what = " or ".join(sorted(names))
                raise ValueError(f"changes: a change of {what} needs {other}")
        return self

    def stages(self) -> Iterator[tuple[LegChange, LegDirection]]:
        """Yield each change, with the settings of the leg from then on."""
        stage: LegDirection = self
        for change in self.changes:
            named = change.named()
            error = named.pop("block_error_percent", None)
            if error is not None and stage.rlc is not None:
                named["rlc"] = stage.rlc.model_copy(update={"block_error_percent": error})
            stage = stage.model_copy(update=named)
            yield change, stage

    def down_periods(self) -> Iterator[tuple[float, float]]:
        """Yield when nothing passes (s, unordered): outages, and changes to a rate of 0."""
        yield from self.outages
        begin = None
        for change in self.changes:
            if change.rate_mbps == 0 and begin is None:
                begin = change.at_s
            elif change.rate_mbps and begin is not None:
                yield begin, change.at_s
                begin = None
        if begin is not None:
            yield begin, math.inf

    def trace_age(self) -> int | None:
        """Return when the trace's file was changed (ns, of `stat`), or None without a trace.

        What was made of a trace is cached by this time. SettingsError when the file cannot be read.
        """
        if self.trace is None:
            return None
        with _named(self.trace):
            return self.trace.stat().st_mtime_ns

    def capacity(self) -> Capacity:
        """Return the capacity, reading the trace if any.

        Raises:
            SettingsError, TraceError: the trace is missing or wrong.
        """
        if any(change.rate_mbps is not None for change in self.changes):
            assert self.rate_mbps is not None
            return changing_capacity(self.rate_mbps, self.changes)
        if self.wifi is not None:
            return self.wifi.capacity()
        if self.rate_mbps is not None:
            return make_capacity(round(self.rate_mbps * 1e6), self.end)
        trace = self._rates_read()
        if self.trace_mean_mbps is not None:
            try:
                trace = scaled_to_mean(trace, round(self.trace_mean_mbps * 1e6))
            except ValueError as error:
                raise SettingsError(f"trace_mean_mbps: {error}") from None
        try:
            return make_capacity(trace, self.end, round(self.offset_s * NS_PER_S))
        except ValueError as error:
            raise SettingsError(f"offset_s, end: {error}") from None

    def available_bits(self, edges_ns: Sequence[int]) -> list[int]:
        """Return how many bits could have passed between each two moments (ns, ascending).

        The capacity has zeros and what WiFi's errors and other stations take. Nothing passes in
        outages, and transmissions of RLC's blocks that fail are in vain.

        Raises:
            SettingsError, TraceError: the trace is missing or wrong.
        """
        capacity, cuts, shares = _open_once(self, self.trace_age())
        bits = []
        for start, end in pairwise(edges_ns):
            first, last = bisect_right(cuts, start), bisect_left(cuts, end)
            parts = pairwise((start, *cuts[first:last], end))
            shared = zip(parts, shares[first : last + 1], strict=True)
            bits.append(sum(round(share * capacity.bits_between(*part)) for part, share in shared))
        return bits

    def shares(self) -> tuple[Sequence[int], Sequence[Fraction]]:
        """Return moments (ns), and which share of the capacity is there before, between, behind."""
        stages = [(0, self), *((round(it.at_s * NS_PER_S), stage) for it, stage in self.stages())]
        starts = [start for start, _ in stages]
        edges = [round(moment * NS_PER_S) for outage in self.outages for moment in outage]
        cuts = sorted({*starts, *edges})
        shares = []
        for moment in (-1, *cuts):
            _, stage = stages[max(0, bisect_right(starts, moment) - 1)]
            is_down = bisect_right(edges, moment) % 2
            error = stage.rlc.block_error_percent if stage.rlc else 0.0
            shares.append(Fraction(0) if is_down else 1 - Fraction(error) / 100)
        return cuts, shares

    def trace_doubts(self) -> Iterator[str]:
        """Yield why a trace may not be what it is read as (`trace.doubts`).

        Raises:
            SettingsError, TraceError: the trace is missing or wrong.
        """
        traces: list[Trace | DelayTrace] = []
        if self.trace is not None:
            traces.append(self._rates_read())
        if self.delay_trace is not None:
            traces.append(self._delays_read())
        yield from filter(None, map(doubts, traces))

    @property
    def delay_varies(self) -> bool:
        """Return whether the mean delay follows the capacity or a file, in place of `delay_ms`."""
        return self.delay_curve is not None or self.delay_trace is not None

    @property
    def has_trace(self) -> bool:
        """Return whether its capacity or its delay is that of a file, which has a time."""
        return self.trace is not None or self.delay_trace is not None

    @property
    def _varied(self) -> str:
        return "delay_curve" if self.delay_trace is None else "delay_trace"

    def delay_model(self) -> DelayModel:
        """Return the propagation delay at the start, with its jitter if any."""
        if self.delay_varies:
            return next(self.delays())[1]
        return self._delay_of(round(self.delay_ms * NS_PER_MS))

    def wait_ns(self) -> int:
        """Return the mean time (ns) that a lone packet waits for a grant, TDD and HARQ."""
        rlc = None if self.rlc is None else self.rlc.parameters()
        radio = 0 if rlc is None else rlc.sr_ns // 2 + rlc.mean_wait_ns()
        return round(self.grant_ms * NS_PER_MS) + radio

    def delays(self) -> Iterator[tuple[int, DelayModel]]:
        """Yield the delays of `delay_curve` or `delay_trace`, each with its start (ns, from 0).

        Raises:
            SettingsError, TraceError: a trace is missing or wrong.
        """
        for time, mean in self._means():
            yield time, self._delay_of(mean)

    def delay_range_ms(self, until_s: float) -> tuple[float, float]:
        """Return the least and the greatest propagation delay (ms), with jitter, up to a moment.

        The moment (s) bounds how much of a delay that varies is read: one that starts again has no
        end. SettingsError or TraceError: a trace is missing or wrong.
        """
        spread = JITTER_DEVIATIONS if self.jitter == "normal" else 1.0
        delays = []
        for stage in (self, *(stage for _, stage in self.stages())):
            if self.delay_varies:
                steps = takewhile(lambda step: step[0] < until_s * NS_PER_S, self.delays())
                models = [delay for _, delay in steps]
            else:
                models = [stage.delay_model()]
            delays += [(delay.mean_ns / NS_PER_MS, spread * stage.jitter_ms) for delay in models]
        return min(max(0.0, mean - jitter) for mean, jitter in delays), max(map(sum, delays))

    def _means(self) -> Iterator[tuple[int, int]]:
        if self.delay_trace is None:
            assert self.delay_curve is not None
            return delay_steps(self.delay_curve, self.capacity())
        trace = self._delays_read()
        return trace.steps(self.delay_between, self.end, round(self.offset_s * NS_PER_S))

    def _rates_read(self) -> Trace:
        assert self.trace is not None
        columns = {"column": self.trace_column, "time_column": self.trace_time_column}
        return _read(_rates, self.trace, **columns)

    def _delays_read(self) -> DelayTrace:
        assert self.delay_trace is not None
        columns = {"column": self.delay_column, "time_column": self.delay_time_column}
        return _read(read_delays, self.delay_trace, **columns, kind=self.delay_is)

    def _delay_of(self, mean: int) -> DelayModel:
        spread = round(self.jitter_ms * NS_PER_MS)
        if not spread:
            return ConstantDelay(mean)
        if self.jitter == "normal":
            return NormalDelay(mean, spread)
        return UniformDelay(mean - spread, mean + spread)

    def loss_model(self) -> LossModel | None:
        """Return the model of random loss after the leg, or None."""
        if self.burst_loss:
            return GilbertElliott(**self.burst_loss.model_dump())
        return Bernoulli(self.loss_percent / 100) if self.loss_percent else None

    def discipline(self) -> QueueDiscipline | None:
        """Return the queue's discipline, or None for drop-tail; InputError if it is wrong."""
        return make_discipline(self.queue_discipline, self.queue_parameters)

    def queue_limit(self) -> QueueLimit:
        """Return the queue's limit, that in ms as bytes."""
        mean = self._mean_mbps()
        if self.queue_ms is None or mean is None:
            return QueueLimit(self.queue_packets, self.queue_bytes)
        size = max(PDU_BYTES, round(mean * self.queue_ms * 1000 / 8))
        return QueueLimit(self.queue_packets, size)

    def queue_holds_bytes(self) -> float:
        """Return what the queue holds, a packet being `PACKET_BYTES`; infinity without a limit."""
        limits = self.queue_limit().bytes, PACKET_BYTES * (self.queue_packets or 0)
        return min((limit for limit in limits if limit), default=math.inf)

    def _mean_mbps(self) -> float | None:
        """Return the rate (Mbit/s) by which a queue in ms is converted to bytes."""
        return self.trace_mean_mbps if self.rate_mbps is None else self.rate_mbps

    def mean_loss_percent(self) -> float:
        """Return the long-term loss in percent.

        That of Gilbert-Elliott is of Hasslinger and Hohlfeld 2008, section 2.
        """
        if self.burst_loss is None:
            return self.loss_percent
        bad = self.burst_loss.p / (self.burst_loss.p + self.burst_loss.r)
        return 100 * (bad * (1 - self.burst_loss.h) + (1 - bad) * (1 - self.burst_loss.k))

    def build(
        self,
        seed: str,
        path: WifiPath | None = None,
        *,
        uplink: bool = False,
        make: MakeLeg = make_leg,
    ) -> AnyLeg[Any]:
        """Return the leg; `seed` fixes its losses and jitter on either clock.

        Args:
            seed: the seed of this direction.
            path: for a leg with `wifi`: the medium's path, which the other direction uses, too.
            uplink: for a leg with `wifi`: whether this is the uplink.
            make: makes a leg that has no `wifi`.

        Raises:
            SettingsError: a leg with `wifi` is given no path.
            SettingsError, TraceError: the trace is missing or wrong.
        """
        parameters = LegParameters(
            delay=self.delay_model(),
            loss=self.loss_model(),
            reorder=self.reorder,
            queue=self.queue_limit(),
            grant_ns=round(self.grant_ms * NS_PER_MS),
            discipline=self.discipline(),
            mtu_bytes=self.mtu_bytes,
        )
        if self.wifi is not None:
            if path is None:
                raise SettingsError("wifi: needs a scenario's leg, with both its directions")
            return path.leg(parameters, random.Random(seed), uplink=uplink)
        rlc = None if self.rlc is None else self.rlc.parameters()
        return make(parameters, self.capacity(), random.Random(seed), rlc)


Kind = TypeVar("Kind", Trace, DelayTrace)


def _read(read: Callable[..., Kind], path: Path, **columns: str | None) -> Kind:
    """Return what a file holds, from the cache while it has not changed.

    A campaign has the same traces in hundreds of scenarios.
    """
    with _named(path):
        made: Kind = _read_once(read, path, path.stat().st_mtime_ns, **columns)
        return made


@lru_cache(maxsize=128)
def _read_once(read: Callable[..., Kind], path: Path, _changed: int, **columns: str | None) -> Kind:
    return read(path, **columns)


def _rates(path: Path, column: str, time_column: str | None) -> Trace:
    made = read_trace(path, column=column, time_column=time_column)
    if made.duration_ns < SHORTEST_NS:
        raise TraceError(path, 0, f"the trace lasts {made.duration_ns} ns", "1 ms or more")
    return made


@contextmanager
def _named(trace: Path) -> Iterator[None]:
    """Turn an OSError of the block into an error that names the trace's file."""
    try:
        yield
    except OSError as error:
        raise NoTraceError(f"trace {quoted(trace)}: {error.strerror}") from None


@lru_cache(maxsize=256)
def _open_once(
    radio: LegDirection, _changed: int | None
) -> tuple[Capacity, Sequence[int], Sequence[Fraction | int]]:
    """Return a capacity and its shares over time, as many runs of a campaign have the same legs."""
    cuts, shares = radio.shares()
    # Where it is a whole number, as it mostly is, a product takes a tenth of a fraction's time.
    return radio.capacity(), cuts, [int(it) if it.denominator == 1 else it for it in shares]
