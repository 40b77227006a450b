"""What of a scenario may be otherwise: rate, delay, loss and queue of each leg, a file's size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import LegSettings
from minitopo_dc.trace import read_trace, trace_info
from minitopo_dc.workloads import Download

Fields = dict[str, Any]
RATES_MBPS, DELAYS_MS, LOSSES_PERCENT = (0.5, 200.0), (1.0, 300.0), (0.01, 5.0)
QUEUES_PACKETS, SIZES_MB = (5.0, 2000.0), (0.25, 40.0)
"""Where what flips a verdict is looked for: about the ranges of the study (docs/study.md)."""


@dataclass(frozen=True)
class Factor:
    """A number of a scenario that may be another one."""

    words: str
    """`delay of leg 2`."""
    unit: str
    value: float
    """What it is."""
    low: float
    high: float
    """The ends between which it is looked for, both above 0."""
    whole: bool
    apply: Callable[[Fields, float], None]
    """Writes a value into the fields of a scenario."""

    def scenario(self, base: Scenario, value: float) -> Scenario:
        """Return the scenario with another value.

        Raises:
            SettingsError: the scenario does not take it.
        """
        fields = base.model_dump()
        self.apply(fields, value)
        return Scenario.check(fields, f"--flips: {self.words}")


def factors_of(base: Scenario) -> Iterator[Factor]:
    """Yield the factors that a scenario has a number for, leg by leg."""
    for number, leg in enumerate(base.legs, start=1):
        radio = leg.downlink
        if not (radio.changes or leg.uplink.changes or radio.wifi):
            yield from _of_leg(number, radio, leg.uplink)
    workload = base.workload
    if isinstance(workload, Download) and workload.duration_s is None:
        yield Factor("size of the download", "MB", workload.size_mb, *SIZES_MB, False, _size)


def _of_leg(number: int, radio: LegSettings, uplink: LegSettings) -> Iterator[Factor]:
    def factor(words: str, unit: str, name: str, ends: tuple[float, float]) -> Factor:
        """Return that of a field of both directions, or of the downlink where they differ."""
        value = getattr(radio, name)
        apply = _field(number, name, both=value == getattr(uplink, name))
        return Factor(f"{words} of leg {number}", unit, value, *ends, unit == "packets", apply)

    rate = _field(number, "rate_mbps" if radio.trace is None else "trace_mean_mbps")
    yield Factor(f"rate of leg {number}", "Mbit/s", mean_mbps(radio), *RATES_MBPS, False, rate)
    if radio.delay_curve is None:
        yield factor("one-way delay", "ms", "delay_ms", DELAYS_MS)
    if radio.burst_loss is None:
        yield factor("loss", "%", "loss_percent", LOSSES_PERCENT)
    if radio.queue_packets is not None:
        yield factor("queue", "packets", "queue_packets", QUEUES_PACKETS)


def mean_mbps(radio: LegSettings) -> float:
    """Return a constant rate, or the mean that a trace has or is given.

    Raises:
        SettingsError, TraceError: the trace is missing or wrong.
    """
    if radio.rate_mbps is not None:
        return radio.rate_mbps
    if radio.trace_mean_mbps is not None:
        return radio.trace_mean_mbps
    assert radio.trace is not None
    column, time_column = radio.trace_column, radio.trace_time_column
    return trace_info(read_trace(radio.trace, column=column, time_column=time_column)).mean_mbps


def _field(number: int, name: str, *, both: bool = False) -> Callable[[Fields, float], None]:
    """Return what writes a field of a leg's downlink; of `both` directions."""

    def apply(fields: Fields, value: float) -> None:
        leg = fields["legs"][number - 1]
        for direction in ("downlink", "uplink") if both else ("downlink",):
            leg[direction][name] = value

    return apply


def _size(fields: Fields, value: float) -> None:
    workload: Mapping[str, Any] = fields["workload"]
    fields["workload"] = {**workload, "size_mb": value}
