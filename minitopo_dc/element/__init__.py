"""The process on a router host: real packets in, bearers and legs over them, real packets out."""

from minitopo_dc.element.settings import (
    READY,
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    TransmitBearer,
)

__all__ = ["READY", "ElementLeg", "ElementSettings", "ReceiveBearer", "TransmitBearer"]
