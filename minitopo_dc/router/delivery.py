"""Counters of a receiving bearer: those of its PDCP entity, and the delivered bytes."""

from __future__ import annotations

import dataclasses

from minitopo_dc.pdcp.statistics import ReceiveStatistics


@dataclasses.dataclass(frozen=True, slots=True)
class DeliveryStatistics(ReceiveStatistics):
    """Counters of a receiving entity and of the driver that it delivers to.

    Attributes:
        delivered_bytes: of the SDUs (IP packets) that were delivered and polled.
    """

    delivered_bytes: int


def with_bytes(statistics: ReceiveStatistics, delivered_bytes: int) -> DeliveryStatistics:
    """Return an entity's counters with those of its driver."""
    names = (field.name for field in dataclasses.fields(ReceiveStatistics))
    values = {name: getattr(statistics, name) for name in names}
    return DeliveryStatistics(**values, delivered_bytes=delivered_bytes)
