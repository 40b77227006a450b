"""The PDCP entities of an element in the native core, made from its settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minitopo_dc.errors import MinitopoDcError
from minitopo_dc.native import library
from minitopo_dc.native.leg import NativeLeg
from minitopo_dc.native.models import NotNativeError
from minitopo_dc.native.policy import check_policy
from minitopo_dc.native.receive import NativeReceiver, NativeReceptions, check_legs
from minitopo_dc.native.transmit import NativeTransmitter
from minitopo_dc.pdcp import (
    LegReception,
    ReportMaker,
    SnFormat,
    Timer,
)
from minitopo_dc.router.settings import ElementLeg, ElementSettings, TransmitBearer
from minitopo_dc.settings import Pdcp

PYTHON_ONLY = ("data_recovery", "duplication", "flow_control", "leg_failure_ms")
"""Fields of a bearer that the native core lacks."""


class NativeReportMaker(ReportMaker):
    """Makes reports of what C counts."""

    def __init__(self, entity: Any, sn_format: SnFormat, *, legs: int, **fields: Any) -> None:
        """Take what `ReportMaker` takes, and a receiving entity in C."""
        super().__init__(entity, sn_format, legs=legs, **fields)
        self.counts = NativeReceptions(entity, sn_bits=sn_format.bits, legs=legs)

    def _receptions(self) -> tuple[LegReception, ...]:
        return self.counts.receptions()


def native_transmitter(
    settings: ElementSettings, bearer: TransmitBearer, legs: Sequence[NativeLeg]
) -> NativeTransmitter:
    """Return the transmitting entity of a bearer over these legs."""
    pdcp = bearer.pdcp
    return NativeTransmitter(
        pdcp.policy(len(legs)),
        legs,
        sn_bits=pdcp.sn_bits,
        reports=pdcp.report_ms is not None,
        late=pdcp.numbering == "late",
        buffer_packets=pdcp.buffer_packets or settings.queue_packets(bearer),
        discard_timer=Timer.discard(pdcp.discard_timer_ms).ns,
    )


def native_receiver(pdcp: Pdcp, legs: int) -> tuple[NativeReceiver, Any]:
    """Return the receiving entity of a bearer, and what makes its reports or None."""
    entity = pdcp.receiver_of(NativeReceiver, legs)
    return entity, pdcp.report_maker(entity, legs, make=NativeReportMaker)


def native_core_obstacle(settings: ElementSettings) -> str | None:
    """Return what the native core lacks for an element, or that it is not here; None: nothing."""
    return library.missing() or next(_missing_features(settings), None)


def _missing_features(settings: ElementSettings) -> Iterator[str]:
    for leg in settings.legs:
        yield from (f"leg {leg.leg} {lacks}" for lacks in _models(leg))
    for bearer in settings.bearers:
        yield from (f"pdcp has {name}" for name in PYTHON_ONLY if getattr(bearer.pdcp, name))
        try:
            check_legs(len(bearer.legs))
            if isinstance(bearer, TransmitBearer):
                check_policy(bearer.pdcp.policy(len(bearer.legs)))
        except NotNativeError as error:
            yield str(error)


def _models(leg: ElementLeg) -> Iterator[str]:
    """Yield the models of a leg that C lacks; other errors of the leg are reported elsewhere."""
    yield from (f"has {name}" for name in ("rlc", "wifi") if getattr(leg.radio, name))
    try:
        leg.build({}, make=NativeLeg)
    except NotNativeError as error:
        yield f"has {error}"
    except MinitopoDcError:
        return
