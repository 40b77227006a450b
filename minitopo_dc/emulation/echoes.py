"""Of echoes' round trips: what the links' own rates take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minitopo_dc.scenario import Scenario
from minitopo_dc.settings import LegSettings
from minitopo_dc.workloads import Measurement, Ping

HEADER_BYTES = {4: 20 + 8, 6: 40 + 8}
"""Of IP (RFC 791, RFC 8200) and of an ICMP echo (RFC 792, RFC 4443), by IP version."""
DATA_BYTES = 16
"""`runners.icmp_client.DATA_BYTES`; a test keeps them equal."""


def with_serialisation(scenario: Scenario, measured: Measurement) -> Measurement:
    """Add `serialisation_ms` to each round trip of workload `ping`.

    Of an echo and its answer, on all links of the pair: a token bucket that starts full (tbf's)
    does not take it. None where a rate varies, and with legs of the kernel.
    """
    if not isinstance(scenario.workload, Ping):
        return measured
    trips = [
        {**trip, "serialisation_ms": _serialisation_ms(scenario, trip)}
        for trip in measured.details["round_trips"]
    ]
    return replace(measured, details={**measured.details, "round_trips": trips})


def _serialisation_ms(scenario: Scenario, trip: Mapping[str, Any]) -> float | None:
    links = [scenario.legs[trip["leg"] - 1]]
    if scenario.real.backhaul:
        links.append(scenario.real.backhaul[trip["backhaul"] - 1])
    rates = [_constant_rate(way) for each in links for way in (each.downlink, each.uplink)]
    known = [rate for rate in rates if rate is not None]
    if scenario.real.backend == "kernel" or len(known) < len(rates):
        return None
    bits = 8 * (HEADER_BYTES[scenario.ip_version] + DATA_BYTES)
    return round(sum(bits / rate / 1e3 for rate in known), 4)


def _constant_rate(link: LegSettings) -> float | None:
    """In Mbit/s."""
    varies = any(change.rate_mbps is not None for change in link.changes)
    return None if varies else link.rate_mbps
