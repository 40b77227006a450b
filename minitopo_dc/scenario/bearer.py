"""PDCP parameters of the two directions of a flow's bearer."""

from __future__ import annotations

from typing import Literal

from minitopo_dc.settings import Pdcp
from minitopo_dc.settings.base import LeftOut

FlowMode = Literal["sc", "dc", "dc-duplicate", "multipath"]
"""One leg; split over the legs below IP; sent on all legs below IP; split by the transport."""
DUAL_CONNECTIVITY: tuple[FlowMode, ...] = ("dc", "dc-duplicate")
"""The modes whose bearer has several legs."""


class UplinkPdcpSettings(Pdcp):
    """PDCP parameters of an uplink bearer of its own."""

    split: LeftOut[str | None] = None  # type: ignore[assignment]
    """Split policy, also `duplicate`; none: `duplicate` in mode `dc-duplicate`, else `batch`."""


def downlink_pdcp(mode: FlowMode, pdcp: Pdcp) -> Pdcp:
    """Return the PDCP parameters with the split policy of the mode."""
    if mode != "dc-duplicate":
        return pdcp
    return pdcp.model_copy(update={"split": "duplicate", "parameters": {}})


def uplink_pdcp(mode: FlowMode, downlink: Pdcp, own: UplinkPdcpSettings | None) -> Pdcp:
    """Return the uplink's own PDCP parameters; without any, the downlink's.

    They are over the downlink's legs, if they name none.

    Raises:
        SettingsError: it does not fit the mode's split.
    """
    if own is None:
        return downlink
    split = {"split": "duplicate"} if mode == "dc-duplicate" else {}
    values = {"legs": downlink.legs, **split, **own.model_dump()}
    return Pdcp.check(values, "uplink_pdcp")


def bearer_legs(mode: FlowMode, leg: int, pdcp: Pdcp, legs: int) -> tuple[int, ...]:
    """Return the legs of one direction of a bearer, in a scenario of `legs` legs."""
    if mode == "sc":
        return (leg,)
    return pdcp.legs or tuple(range(1, legs + 1))
