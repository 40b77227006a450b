"""The process on a router host: real packets in, bearers and legs over them, real packets out."""

from minitopo_dc.element.settings import (
    READY,
    Backend,
    ElementLeg,
    ElementSettings,
    ReceiveBearer,
    TransmitBearer,
)

__all__ = ["READY", "Backend", "ElementLeg", "ElementSettings", "ReceiveBearer", "TransmitBearer"]
