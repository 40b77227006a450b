"""Transports over noq: QUIC on one path, and MP-QUIC (docs/noq.md)."""

from __future__ import annotations

from typing import ClassVar, Literal

from minitopo_dc.quic.noq.library import NOQ
from minitopo_dc.quic.stack import Stack
from minitopo_dc.runners.base import runner
from minitopo_dc.runners.quic import QuicOptions
from minitopo_dc.runners.sans_io.runner import (
    EcnOptions,
    MultipathStackRunner,
    StackRunner,
    names_of_controls,
)


class NoqOptions(EcnOptions):
    """Options of both transports; noq is built without its log."""

    qlog: Literal[False] = False
    experiment: Literal["hystart", "no-pacing"] | None = None


@runner("quic-noq")
class NoqRunner(StackRunner):
    """QUIC on one path, with noq on both sides."""

    library: ClassVar[Stack] = NOQ
    stack: ClassVar[str] = NOQ.name
    options_type: ClassVar[type[QuicOptions]] = NoqOptions
    congestion_controls: ClassVar[tuple[str, ...]] = names_of_controls(NOQ)
    compared: ClassVar[bool] = False


@runner("mpquic-noq")
class MultipathNoqRunner(MultipathStackRunner):
    """MP-QUIC (draft-ietf-quic-multipath) on one path per client address, with noq."""

    library: ClassVar[Stack] = NOQ
    stack: ClassVar[str] = NOQ.name
    options_type: ClassVar[type[QuicOptions]] = NoqOptions
    congestion_controls: ClassVar[tuple[str, ...]] = names_of_controls(NOQ)
    compared: ClassVar[bool] = False
